"""Ranks by groups: what each cell says, which ranks share a line, and that thousands of them are no burden."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from frtui.engine.finding import Finding
from frtui.load import load
from frtui.model import Group, Job
from frtui.view.columns import MOST, columns
from frtui.view.index import Index
from frtui.view.matrix import Matrix
from frtui.view.panes import Panes
from frtui.view.rows import Line, plain
from frtui.view.select import MATRIX, Selection
from tests.dumps import DEFAULT, dump, entry, write
from tests.view import jobs


@pytest.fixture
def panes(tmp_path: Path) -> Panes:
    return jobs.panes(tmp_path)


def lines(panes: Panes, width: int, now: Selection | None = None) -> list[str]:
    rows = panes.pane("call", replace(now or panes.first(), topic=MATRIX)).rows
    rows.fit(width)
    return [plain(line).rstrip() for line in [*rows.head(width), *(rows.line(i, width) for i in range(len(rows)))]]


WIDTHS = [80, 120, 200]
TABLE = """\
               tp        default_pg
✗ rank 2       ✗ #6  :7  ─ #1
✗ rank 4                 ? no dump
  rank 3       ▶ #6  :7  ─ #1
  2 ranks 0-1  ✓ #5  :6  ● #2"""
LEGEND = "✓ done  ▶ started  ● waits  ○ queued  ─ not joined  ▼ behind  ? no dump  ✗ blamed  c shows each rank"


@pytest.mark.parametrize("width", WIDTHS)
def test_ranks_that_look_alike_share_a_line_and_the_blamed_come_first(panes: Panes, width: int) -> None:
    said = lines(panes, width)
    assert "\n".join(said[-5:]) == TABLE
    assert "  ".join(said[:-5]) == LEGEND
    assert max(map(len, said)) <= width


def test_unfolded_each_rank_has_a_line(panes: Panes) -> None:
    said = lines(panes, 80, replace(panes.first(), unfolded=True))
    assert said[-5:] == [
        "  rank 0     ✓ #5  :6  ● #2",
        "  rank 1     ✓ #5  :6  ● #2",
        "✗ rank 2     ✗ #6  :7  ─ #1",
        "  rank 3     ▶ #6  :7  ─ #1",
        "✗ rank 4               ? no dump",
    ]


def test_a_line_leads_to_the_open_or_last_call_of_its_first_rank(panes: Panes) -> None:
    now = replace(panes.first(), topic=MATRIX)
    opened, pane = panes.open("call", 0, now)
    assert (pane, opened.rank, opened.row) == ("call", 0, panes.job.ranks[0].calls[-1])
    assert panes.open("call", 4, now)[0] == now, "rank 4 left no dump"


def test_the_cursor_is_on_the_line_that_holds_the_rank(panes: Panes) -> None:
    rows = panes.pane("call", replace(panes.first(), rank=1, topic=MATRIX)).rows
    rows.fit(80)
    assert "ranks 0-1" in plain(rows.line(rows.position(1), 80))


def test_who_has_an_older_call_open_than_others_have_finished_is_behind(tmp_path: Path) -> None:
    ahead = [entry(1), entry(2), entry(3, state="scheduled")]
    late = [entry(1), entry(2, state="scheduled"), entry(3, state="scheduled")]
    config = {DEFAULT: (0, 1, 2)}
    ranks = {0: dump(ahead, pg_config=config), 1: dump(late, pg_config=config), 2: dump(ahead[:2], pg_config=config)}
    said = lines(Panes(load(write(tmp_path, ranks)), ()), 120, Selection())
    assert said[-3:] == ["  rank 0  ● #3", "  rank 1  ▼ #2", "  rank 2  ✓ #2"]


def test_calls_behind_one_that_is_stuck_in_another_group_are_queued_but_not_on_gloo(tmp_path: Path) -> None:
    config = {DEFAULT: (0, 1), jobs.TP0: (0, 1)}
    for backend, mark in (("nccl", "○"), ("gloo", "●")):
        rows = [entry(1, state="scheduled", backend=backend, retired=False)]
        rows.append(entry(1, group=jobs.TP0, state="scheduled", backend=backend, retired=False))
        folder = write(tmp_path / backend, {rank: dump(rows, pg_config=config) for rank in (0, 1)})
        said = lines(Panes(load(folder), ()), 120, Selection())
        assert said[-2].split() == ["default_pg", "tp:6"]
        assert said[-1].split()[-4:] == ["●", "#1", mark, "#1"]


def test_groups_of_one_kind_share_a_column_unless_they_share_a_rank() -> None:
    def named(*groups: Group) -> list[str]:
        return [column.name for column in columns(Index(Job("x", {}, groups)), [])[0]]

    assert named(Group("1", "tp", (0, 1)), Group("2", "tp", (2, 3))) == ["tp"]
    assert named(Group("1", "tp", (0, 1)), Group("2", "tp", (1, 2))) == ["tp:1", "tp:2"]
    assert named(Group("1", "", (0, 1)), Group("2", "undefined", (2, 3))) == ["of 2 ranks"]


def test_thousands_of_groups_that_overlap_get_few_columns_and_the_rest_are_told_of() -> None:
    groups = tuple(Group(str(n), "mesh", tuple(range(64))) for n in range(3000))
    found, left_out = columns(Index(Job("x", {}, groups)), [2999])
    assert found[0].name == "mesh:2999", "what the finding names comes first"
    assert (len(found), left_out) == (MOST, 3000 - MOST)


@pytest.mark.parametrize("unfolded", [False, True])
def test_of_thousands_of_ranks_only_the_lines_that_are_seen_are_made(unfolded: bool) -> None:
    panes = Panes(jobs.wide(), (Finding("not-joined", "likely", "x", (77,), 0, "all_reduce", 3),))
    page = panes.topic(Selection(0, 77, 0, 0, MATRIX, unfolded))
    assert isinstance(page, Matrix)
    made: list[int] = []
    original = page.say

    def counted(key: int, width: int) -> Line:
        made.append(key)
        return original(key, width)

    page.say = counted  # type: ignore[method-assign]
    page.fit(118)
    seen = [page.position(77), *range(min(40, len(page)))]
    text = [plain(page.line(i, 118)).split() for i in seen]
    assert len(page) == (4096 if unfolded else 2)
    assert len(made) == len(seen)
    assert text[0][:5] == ["✗", "rank", "77", "✗", "#2"]


@pytest.mark.parametrize("name", ["[/red]", "\\x1b[31m", "層" * 30, "x" * 700, "a:b#c", ""])
def test_hostile_names_of_groups_are_shown_in_their_columns(name: str) -> None:
    job = jobs.wide(16, 3)
    job.groups = tuple(group._replace(name=name + group.name, desc=name) for group in job.groups)
    for unfolded in (False, True):
        for width in (1, 30, 200):
            assert len(lines(Panes(job, ()), width, Selection(unfolded=unfolded))) > 2
