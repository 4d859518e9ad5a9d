"""Go to: what can be typed, and what is said where it leads nowhere."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from frtui.view.jump import Target, jump
from frtui.view.panes import Panes
from frtui.view.select import Selection
from tests.view import jobs


@pytest.fixture
def panes(tmp_path: Path) -> Panes:
    return jobs.panes(tmp_path)


def to(panes: Panes, text: str, pane: str = "findings", now: Selection | None = None) -> tuple[object, ...]:
    """(pane, rank, label of the group, number of the call) that a jump leads to."""
    found = jump(panes.index, now or panes.first(), pane, text)
    assert isinstance(found, Target), found
    there = found.selection
    assert there.rank is not None
    call = panes.job.call(there.rank, there.row) if there.row is not None else None
    label = None if there.group is None else panes.job.groups[there.group].label
    return found.pane, there.rank, label, call and (call.p2p_seq if call.p2p else call.seq)


def refused(panes: Panes, text: str, pane: str = "findings", now: Selection | None = None) -> str:
    found = jump(panes.index, now or panes.first(), pane, text)
    assert isinstance(found, str)
    return found


@pytest.mark.parametrize(
    ("text", "pane", "there"),
    [
        ("3", "ranks", ("ranks", 3, "tp:7", 6)),
        (" rank 3 ", "calls", ("ranks", 3, "tp:7", 6)),
        ("Rank4", "calls", ("ranks", 4, None, None)),
        ("3", "calls", ("calls", 2, "tp:7", 3)),
        ("#4", "ranks", ("calls", 2, "tp:7", 4)),
        ("tp:6", "ranks", ("groups", 0, "tp:6", 5)),
        ("TP:7", "ranks", ("groups", 2, "tp:7", 6)),
        ("tp", "ranks", ("groups", 2, "tp:7", 6)),
        ("7", "groups", ("groups", 2, "tp:7", 6)),
        ("tp:7#2", "ranks", ("calls", 2, "tp:7", 2)),
        ("tp:6 #2", "ranks", ("calls", 0, "tp:6", 2)),
        ("default_pg#2", "ranks", ("calls", 0, "default_pg", 2)),
    ],
)
def test_what_leads_where(panes: Panes, text: str, pane: str, there: tuple[object, ...]) -> None:
    assert to(panes, text, pane) == there


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("12", "there is no rank 12; there are 0-4"),
        ("#99", "rank 2 has no call #99 in tp:7; its dump has #1 to #6"),
        ("tp:7#99", "no rank has a call #99 in tp:7"),
        ("dp:1#3", "there is no group dp:1"),
        ("hello", "there is no hello here: a jump leads to rank 12, tp:7, #85 or tp:7#85"),
        ("", "a jump leads to rank 12, tp:7, #85 or tp:7#85"),
        ("\x1b[31m", "there is no \\x1b[31m here: a jump leads to rank 12, tp:7, #85 or tp:7#85"),
    ],
)
def test_what_leads_nowhere_says_why(panes: Panes, text: str, told: str) -> None:
    assert refused(panes, text) == told


def test_a_rank_without_a_dump_has_no_calls(panes: Panes) -> None:
    assert refused(panes, "#99", now=Selection(rank=4)) == "rank 4 left no dump"
    assert refused(panes, "#99", now=Selection()) == "no rank is selected"


def test_a_number_that_the_selected_group_lacks_is_looked_for_on_all_ranks(panes: Panes) -> None:
    assert to(panes, "#1", now=Selection(rank=4)) == ("calls", 0, None, 1)
    config = next(n for n, group in enumerate(panes.job.groups) if group.label == "default_pg")
    now = Selection(rank=2, group=config)
    assert to(panes, "#6", now=now) == ("calls", 2, "tp:7", 6), "the rank's own groups come before other ranks'"


def test_a_name_that_several_groups_have_is_the_own_one_or_asked_for(panes: Panes) -> None:
    assert refused(panes, "tp", now=Selection(rank=4)) == "2 groups have that name: tp:6, tp:7"


def test_sends_have_numbers_of_their_own(tmp_path: Path) -> None:
    from frtui.load import load

    panes = Panes(load(jobs.pipeline(tmp_path)), ())
    now = Selection(rank=4)
    assert to(panes, "p#2", now=now) == ("calls", 4, None, 2)
    assert to(panes, "p2p #3", now=now) == ("calls", 4, None, 3)
    assert refused(panes, "p#77", now=now) == "rank 4 has no call p#77; its dump has p#1 to p#9"


@pytest.mark.parametrize("name", ["[/red]", "a#3", "12", "層" * 30, "x" * 700])
def test_a_hostile_name_is_a_name(panes: Panes, name: str) -> None:
    panes.job.groups = tuple(g._replace(name=name, desc="") if g.name == "7" else g for g in panes.job.groups)
    assert to(panes, name, "groups", replace(panes.first(), group=None))[:2] == ("groups", 2)
    assert to(panes, f"{name}#2", "groups", replace(panes.first(), group=None))[3] == 2
