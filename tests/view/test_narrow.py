"""What must survive in 80 columns: ranks, the numbers of calls and groups, line numbers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from frtui.engine.finding import Finding
from frtui.load import load
from frtui.model import Frame
from frtui.view import reading
from frtui.view.panes import Panes
from frtui.view.rows import plain
from frtui.view.select import Selection
from tests.dumps import DEFAULT, batch, dump, entry, write
from tests.view import jobs

LONG = ("57", "PIPELINE_MODEL_PARALLEL_GROUP")


@pytest.fixture
def panes(tmp_path: Path) -> Panes:
    return jobs.panes(tmp_path)


@pytest.fixture
def megatron(tmp_path: Path) -> Panes:
    """Two ranks, long group names, numbers of five digits, a batch of one."""
    config = {DEFAULT: (0, 1), LONG: (0, 1)}
    for rank, peer in ((0, "recv 0<-1"), (1, "send 1->0")):
        waits = batch([peer], p2p_seq=14147, group=LONG, sizes=((2, 8),), state="scheduled", site=jobs.SITE)
        write(tmp_path, {rank: dump([entry(88683), entry(88684, state="scheduled"), *waits], pg_config=config)})
    return Panes(load(tmp_path), ())


def said(panes: Panes, name: str, width: int, now: Selection | None = None) -> list[str]:
    rows = panes.pane(name, now or panes.first()).rows
    rows.fit(width)
    return [plain(rows.line(i, width)).rstrip() for i in range(len(rows))]


def test_a_finding_keeps_its_line_number_and_shortens_the_group(panes: Panes) -> None:
    job, group = panes.job, panes.findings[0].group
    assert group is not None
    groups = list(job.groups)
    groups[group] = groups[group]._replace(desc="TENSOR_AND_DATA_AND_EXPERT_MODEL_PARALLEL_GROUP")
    job.groups = tuple(groups)
    found = Finding(
        "membership-mismatch", "likely", "", (2,), group, "_all_gather_base", 61, False, Frame("f", "fsdp.py", 150)
    )
    (line,) = [line for line in said(Panes(job, (found,)), "findings", 80) if "membership" in line]
    assert len(line) <= 80
    assert line.endswith(":7 _all_gather_base #61  fsdp.py:150")


@pytest.mark.parametrize("width", [27, 29, 33])
def test_ranks_show_whole_numbers_and_the_number_of_the_group(megatron: Panes, width: int) -> None:
    for line in said(megatron, "ranks", width):
        assert len(line) <= width
        assert "in call #88684 " in line
    last = replace(megatron.first(), group=next(n for n, g in enumerate(megatron.job.groups) if g.name == "57"))
    assert any("PIPELINE:57 p2p" in line and "open" in line for line in said(megatron, "groups", width, last))


def test_groups_say_who_has_not_joined_as_far_as_there_is_room(panes: Panes) -> None:
    lines = {line[2:].split()[0]: line for line in said(panes, "groups", 29)}
    assert all(len(line) <= 29 for line in lines.values())
    assert "2 of 5" in lines["default_pg"]
    assert "not 2-3" in next(line for line in said(panes, "groups", 59) if "default_pg" in line)


def test_a_batch_of_one_is_called_by_what_it_does(megatron: Panes) -> None:
    calls = said(megatron, "calls", 49, Selection(rank=0, group=1))
    assert any("recv 1→0" in line and "[2,8] f32" in line for line in calls)
    row = megatron.job.ranks[0].calls[-1]
    page = said(megatron, "call", 49, Selection(rank=0, group=1, row=row))
    assert page[0] == "recv 1→0  PIPELINE:57 p2p #14147  rank 0"


def test_the_call_before_the_blamed_one_says_so(panes: Panes) -> None:
    first = panes.findings[0]
    row = panes.job.ranks[2].calls[-2]
    moved = Panes(panes.job, (replace(first, focus=(2, row)),))
    page = said(moved, "call", 60)
    assert "#5  rank 2" in page[0]
    assert first.kind not in page[0]
    assert page[1] == "before  the blamed tp:7 all_reduce #6"


@pytest.mark.parametrize("width", [40, 73, 113, 200])
def test_the_headline_leaves_out_what_has_no_room(panes: Panes, width: int) -> None:
    told = reading.headline(panes.job, width)
    assert len(told) <= max(width, 24 + 2 + len("4 ranks of 5, no dump from 4"))
    assert "4 ranks" in told
    assert ("entries" in told) == (width >= 113)
