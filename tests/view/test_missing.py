"""A finding about a call that the blamed rank did not make: what the panes open on, and where the keys lead."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from frtui.engine.finding import Finding
from frtui.load import load
from frtui.view import query
from frtui.view.jump import Target, jump
from frtui.view.lacking import MISSING_ROW
from frtui.view.panes import Panes
from frtui.view.rows import plain
from frtui.view.select import ACROSS, TIMES, Selection
from tests.dumps import DEFAULT, dump, entry, write
from tests.view import proof_jobs

LONG = ("72", "EXPERT_MODEL_PARALLEL_GROUP")


@pytest.fixture
def skipped(tmp_path: Path) -> Panes:
    return proof_jobs.panes(tmp_path, proof_jobs.skipped_call())


@pytest.fixture
def unsent(tmp_path: Path) -> Panes:
    """Rank 1 made the second send to rank 0 not; it is in a barrier instead."""
    config = {DEFAULT: (0, 1, 2)}
    there = [entry(0, "recv 0<-1", p2p_seq=n, site=("pipe.py", 9)) for n in (1, 2)]
    there[1].update(state="started", retired=False)
    made = [entry(0, "send 1->0", p2p_seq=1, site=("pipe.py", 5)), entry(1, "barrier", state="started")]
    job = load(write(tmp_path, {0: dump(there, pg_config=config), 1: dump(made, pg_config=config)}))
    row = job.ranks[1].calls[0]
    return Panes(job, (Finding("p2p-unmatched", "proven", "s", (1,), 0, "send", 2, True, focus=(1, row)),))


def said(panes: Panes, name: str, now: Selection, width: int = 78) -> list[str]:
    rows = panes.pane(name, now).rows
    rows.fit(width)
    return [plain(rows.line(i, width)).rstrip() for i in range(len(rows))]


def test_the_call_pane_says_first_who_made_it_and_what_the_rank_is_in_instead(skipped: Panes) -> None:
    lines = said(skipped, "call", skipped.first())
    assert lines[:3] == [
        "tp:1 all_reduce #2 — rank 1 did not make it",
        "made by rank 0, waiting, at train.py:12",
        "instead rank 1 is in all_reduce #2 of default_pg, at train.py:16",
    ]
    parts = ("instead", "why", "next", "before")
    assert said(skipped, "call", skipped.first(), 40)[:2] == ["tp:1 all_reduce #2", "rank 1 did not make it"]
    order = [next(n for n, line in enumerate(lines) if line.startswith(part)) for part in parts]
    assert order == sorted(order)
    assert lines[order[-1]] == "before  all_reduce  default_pg #1  rank 1"


def test_calls_show_it_after_those_that_were_made(skipped: Panes) -> None:
    now = skipped.first()
    pane = skipped.pane("calls", now)
    assert said(skipped, "calls", now)[1] == " ✗ #2    all_reduce not made        train.py:12"
    assert (len(pane.rows), pane.rows.position(pane.key or 0)) == (2, 1), "the cursor stands on it"
    made = skipped.rest("calls", pane.rows.key(0), now)
    assert said(skipped, "call", made)[0].startswith("all_reduce  tp:1 #1  rank 1")
    assert skipped.rest("calls", MISSING_ROW, made) == now
    assert skipped.turning(now)(MISSING_ROW), "} stops there"
    assert len(said(skipped, "calls", replace(now, group=None))) == 3, "among all groups it has no place"


def test_filters_and_orders_of_the_calls_do_without_it(skipped: Panes) -> None:
    now = skipped.first()
    rows, values = skipped.pane("calls", now).rows, skipped.values("calls", now)
    kept = [found for found in query.pick(rows, query.line_test(rows, "state:done", values)) if found is not None]
    assert kept == [[0]]
    kept = [found for found in query.pick(rows, query.line_test(rows, "made", values)) if found is not None]
    assert kept == [[1]]
    assert len(skipped.pane("calls", now, "duration").rows) == 1


def test_a_send_that_was_not_made_is_shown_by_who_waits_for_it(unsent: Panes) -> None:
    now = unsent.first()
    assert now.group == 0
    assert said(unsent, "call", now)[:3] == [
        "default_pg send p2p #2 — rank 1 did not make it",
        "waits   rank 0, in recv 1→0 p2p #2, at pipe.py:9",
        "instead rank 1 is in barrier #1 of default_pg, at train.py:60",
    ]
    across = said(unsent, "call", replace(now, topic=ACROSS))
    assert across[1] == "✗ rank 1: made no matching call"
    assert across[3].startswith("  ▶ rank 0")


def test_times_tell_who_came_late_to_it(skipped: Panes) -> None:
    lines = said(skipped, "call", replace(skipped.first(), topic=TIMES))
    assert lines[0].startswith("Late for all_reduce #2, which rank 0 made first")
    assert "  rank 1: not joined" in lines


@pytest.mark.parametrize("width", [50, 62, 78, 120])
@pytest.mark.parametrize("everywhere", [False, True])
def test_the_source_line_is_worth_more_than_state_and_shape(unsent: Panes, width: int, everywhere: bool) -> None:
    lines = said(unsent, "calls", Selection(rank=0, group=None if everywhere else 0), width)
    assert all("pipe.py:9" in line for line in lines)
    assert "p#2   recv 1→0 " in lines[1]


@pytest.mark.parametrize("typed", ["EXPERT:72", "expert_model:72", "EXP:72", ":72", "72", "EXPERT", "…GROUP:72"])
def test_a_jump_takes_what_the_panes_print_of_a_group(tmp_path: Path, typed: str) -> None:
    config = {DEFAULT: (0, 1), LONG: (0, 1), ("73", "TENSOR_MODEL_PARALLEL_GROUP"): (0, 1)}
    job = load(write(tmp_path, {0: dump([entry(1, group=LONG)], pg_config=config)}))
    panes = Panes(job, ())
    found = jump(panes.index, panes.first(), "ranks", typed)
    assert isinstance(found, Target)
    assert job.groups[found.selection.group or 0].label == "EXPERT_MODEL_PARALLEL_GROUP:72"


def test_a_folded_line_is_copied_as_what_it_folds(tmp_path: Path) -> None:
    config = {DEFAULT: (0, 1)}
    panes = Panes(load(write(tmp_path, {0: dump([entry(1)], pg_config=config)})), ())
    rows = panes.pane("call", Selection(rank=0, row=0, group=0)).rows
    rows.fit(80)
    at = next(i for i in range(len(rows)) if "1 torch frame" in rows.text(i))
    hidden = panes.job.call(0, 0).stack[0]
    assert rows.copied(at) == f"{hidden.name}  {hidden.place}"
    assert rows.copied(0) == rows.text(0).strip()


def test_who_is_blamed_stands_on_top_and_who_is_done_below(skipped: Panes) -> None:
    assert [line.split()[0] for line in said(skipped, "ranks", skipped.first())] == ["✗", "0", "2", "3"]
    groups = [line[2:].split()[0] for line in said(skipped, "groups", skipped.first())]
    assert groups == ["tp:1", "default_pg", "tp:2"]
