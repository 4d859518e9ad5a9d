"""Calls and Ranks in other orders: what is most on top, the same keys, the same cursor."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from frtui.load import load
from frtui.view import query, sorting
from frtui.view.ordered import Order, Picked, Sorted
from frtui.view.panes import Panes
from frtui.view.rows import Keyed, plain
from frtui.view.select import Selection
from tests.dumps import DEFAULT, T0, dump, entry, write
from tests.view import jobs

DURATIONS = (3.0, None, 250.0, 1.5)


@pytest.fixture
def panes(tmp_path: Path) -> Panes:
    """Rank 1 made call #3 two seconds after rank 0 and is not in #4 yet; rank 2 left no dump."""
    config = {DEFAULT: (0, 1, 2)}
    for rank in (0, 1):
        rows = [
            entry(seq, duration=ms, created=T0 + (seq + 2 * rank * (seq == 3)) * 1_000_000_000)
            for seq, ms in enumerate(DURATIONS[: 4 - rank], 1)
        ]
        write(tmp_path, {rank: dump(rows, pg_config=config)})
    return Panes(load(tmp_path), ())


def keys(panes: Panes, name: str, order: str, rank: int = 0) -> list[int]:
    rows = panes.pane(name, Selection(rank=rank), order).rows
    assert [rows.position(rows.key(i)) for i in range(len(rows))] == list(range(len(rows)))
    return [rows.key(i) for i in range(len(rows))]


def test_calls_by_duration_have_the_slowest_first_and_the_unknown_last(panes: Panes) -> None:
    assert keys(panes, "calls", "") == [0, 1, 2, 3]
    assert keys(panes, "calls", sorting.DURATION) == [2, 0, 3, 1]
    pane = panes.pane("calls", Selection(rank=0, row=3), sorting.DURATION)
    assert pane.title == "4 Calls by duration  rank 0 · all groups"
    assert pane.rows.text(0).lstrip().startswith("250.0 ms")
    assert pane.rows.text(3).lstrip().startswith("? ")
    assert pane.key is not None
    assert pane.rows.position(pane.key) == 2, "the cursor stays on its call"


def test_calls_by_lag_have_the_latest_first(panes: Panes) -> None:
    assert keys(panes, "calls", sorting.LAG, rank=1) == [2, 0, 1]
    rows = panes.pane("calls", Selection(rank=1), sorting.LAG).rows
    assert [rows.text(i).split()[0] for i in (0, 1)] == ["+2", "first"]


def test_without_measured_durations_the_title_says_what_is_meant(tmp_path: Path) -> None:
    panes = jobs.panes(tmp_path)
    rank = panes.job.ranks[2]
    rank.entries.duration[:] = type(rank.entries.duration)("d", [-1.0] * len(rank.entries))
    pane = panes.pane("calls", Selection(rank=2), sorting.DURATION)
    assert pane.title.startswith("4 Calls by duration (made to noticed end)  rank 2")
    assert pane.rows.text(0).split()[:2] == ["0.5", "ms"]


def test_ranks_by_what_they_lack_and_when_they_stopped(panes: Panes) -> None:
    assert keys(panes, "ranks", sorting.BEHIND) == [1, 0, 2]
    assert panes.pane("ranks", Selection(), sorting.BEHIND).rows.text(0).split()[0] == "-1"
    assert keys(panes, "ranks", sorting.LAG) == [1, 0, 2]
    assert keys(panes, "ranks", sorting.LAST) == [0, 1, 2], "rank 0 made its last call first, 2 left no dump"
    assert panes.pane("ranks", Selection(), sorting.LAST).title == "2 Ranks by last call"


def test_each_pane_goes_through_its_orders_and_comes_back() -> None:
    seen = [""]
    while len(seen) == 1 or seen[-1]:
        seen.append(sorting.following("calls", seen[-1]))
    assert seen == ["", "duration", "lag", ""]
    assert sorting.following("groups", "") == ""


def test_sorted_lines_are_found_and_filtered(panes: Panes) -> None:
    now = Selection(rank=0)
    rows = panes.pane("calls", now, sorting.DURATION).rows
    assert list(query.search(rows, query.pattern("#1 "), 0, 1)) == [1]
    test = query.line_test(rows, "seq:>1", panes.values("calls", now))
    (kept,) = [found for found in query.pick(rows, test) if found is not None]
    picked = Picked(rows, kept)
    assert [picked.key(i) for i in range(len(picked))] == [2, 3, 1]
    assert picked.position(3) == 1


def test_a_key_that_is_not_there_leads_to_one_near_it() -> None:
    rows = Sorted([10, 20, 30], lambda key, width: [(str(key), "plain")], Order([2, 0, 1]))
    assert [rows.key(i) for i in range(3)] == [30, 10, 20]
    assert [rows.position(key) for key in (10, 15, 99)] == [1, 2, 0]
    assert plain(rows.line(0, 9)) == "30"
    assert Sorted([], lambda key, width: [], Order([])).position(3) == 0


def test_calls_are_sorted_by_columns_not_by_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    panes = Panes(jobs.huge(20_000), ())
    durations = panes.job.ranks[0].entries.duration
    for row in range(len(durations)):
        durations[row] = row * 7919 % 20_000
    monkeypatch.setattr(type(panes.job), "call", None)  # no call may be made into an object to be sorted
    rows = panes.pane("calls", Selection(rank=0), sorting.DURATION).rows
    assert isinstance(rows, Keyed)
    values = [durations[rows.key(i)] for i in range(len(rows))]
    assert values == sorted(values, reverse=True)
    assert rows.position(rows.key(12_345)) == 12_345


def test_the_order_follows_the_rank_and_the_group(tmp_path: Path) -> None:
    panes = jobs.panes(tmp_path)
    first = panes.first()
    for now in (first, replace(first, rank=0, group=None), replace(first, group=None)):
        rows = panes.pane("calls", now, sorting.LAG).rows
        assert sorted(rows.key(i) for i in range(len(rows))) == list(panes.index.rows(now.rank or 0, now.group))
