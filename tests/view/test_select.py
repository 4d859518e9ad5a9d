"""Where each key leads, and the way back."""

from __future__ import annotations

from pathlib import Path

import pytest

from frtui.view import select
from frtui.view.panes import Panes
from frtui.view.select import ACROSS, Selection, Trail
from tests.view import jobs


@pytest.fixture
def panes(tmp_path: Path) -> Panes:
    return jobs.panes(tmp_path)


def group(panes: Panes, label: str) -> int:
    return next(n for n, g in enumerate(panes.job.groups) if g.label == label)


def test_a_finding_opens_on_its_evidence(panes: Panes) -> None:
    row = panes.job.ranks[2].calls[-1]
    assert panes.first() == Selection(0, 2, group(panes, "tp:7"), row)


def test_a_finding_about_a_rank_without_a_dump_opens_on_that_rank(panes: Panes) -> None:
    now = panes.on_finding(1)
    assert (now.rank, now.row) == (4, None)
    assert panes.job.groups[now.group or 0].desc == "default_pg"


def test_another_rank_shows_the_same_call(panes: Panes) -> None:
    now = select.on_rank(panes.index, panes.first(), 3)
    assert now.row is not None
    call, other = panes.job.call(3, now.row), panes.job.call(2, panes.first().row or 0)
    assert (call.group, call.seq) == (other.group, other.seq)


def test_a_rank_outside_the_group_shows_all_its_calls(panes: Panes) -> None:
    now = select.on_rank(panes.index, panes.first(), 0)
    assert now.group is None
    assert now.row == panes.job.ranks[0].calls[-1], "its first unfinished call"


def test_a_group_moves_to_one_of_its_members(panes: Panes) -> None:
    now = select.on_group(panes.index, panes.first(), group(panes, "tp:6"))
    assert now.rank == 0
    assert now.row is not None
    assert panes.job.call(0, now.row).group == now.group


def test_a_rest_on_the_same_line_changes_nothing(panes: Panes) -> None:
    now = panes.first()
    for name, key in (("findings", 0), ("ranks", 2), ("groups", now.group or 0), ("calls", now.row or 0)):
        assert panes.rest(name, key, now) == now


def test_back_is_a_stack_and_then_widens() -> None:
    one, two, three = Selection(rank=1, group=5), Selection(rank=2), Selection(rank=2, topic=ACROSS)
    trail = Trail(one).go(two).go(three)
    assert trail.go(three) == trail, "going nowhere leaves no step behind"
    assert trail.turn(two).past == trail.past
    assert trail.back().now == two
    assert trail.back().back() == Trail(one)
    assert trail.back().back().back().now == Selection(rank=1, group=None)


def test_going_back_skips_what_the_cursor_only_passed() -> None:
    one, two, three, four = (Selection(rank=rank) for rank in range(4))
    roamed = Trail(one).roam(two).roam(three)
    assert roamed.back().now == one
    assert roamed.go(three).roam(four).back().now == three, "opened: a place to come back to"
