"""What a finding carries to be proven: the calls that the ranks wait in, and the calls that were compared."""

from __future__ import annotations

from pathlib import Path

import pytest

from frtui.engine import Finding, diagnose
from frtui.engine.align import Edit
from frtui.load import load
from frtui.model import Job
from tests.dumps import dump, entry, write
from tests.engine.jobs import OPEN, steps, world
from tests.view.proof_jobs import JOBS, cascade

WAITING = ["skipped-call", "extra-call", "order-swap", "size-mismatch", "not-joined", "group-deadlock", "no-dump"]


def judged(folder: Path, name: str) -> tuple[Job, Finding]:
    job = load(write(folder, JOBS[name]()))
    return job, diagnose(job)[0]


@pytest.mark.parametrize("name", WAITING)
def test_who_waits_does_so_in_an_open_call_of_its_own(tmp_path: Path, name: str) -> None:
    job, found = judged(tmp_path, name)
    assert {wait.rank for wait in found.waits} - set(found.ranks) == set(found.waiting)
    assert not any(job.ranks[wait.rank].entries.done[wait.row] for wait in found.waits)
    paths = {(wait.rank, on) for wait in found.waits for on in wait.on}
    assert set(found.via) <= paths


@pytest.mark.parametrize("name", WAITING)
def test_the_waits_lead_to_the_cause(tmp_path: Path, name: str) -> None:
    _, found = judged(tmp_path, name)
    reached = set(found.ranks)
    for _ in found.waits:
        reached |= {w.rank for w in found.waits if not w.on or set(w.on) & reached}
    assert reached == {*found.ranks, *found.waiting}


def test_all_joined_wait_for_nobody(tmp_path: Path) -> None:
    _, found = judged(tmp_path, "all-joined-stuck")
    assert [(wait.rank, wait.on) for wait in found.waits] == [(r, ()) for r in range(4)]


def test_several_idle_ranks_are_waited_for_at_once(tmp_path: Path) -> None:
    ranks = {r: dump([*steps(3), *([entry(4, state=OPEN)] if r < 2 else [])], pg_config=world(4)) for r in range(4)}
    [found] = diagnose(load(write(tmp_path, ranks)))
    assert [(wait.rank, wait.on) for wait in found.waits] == [(0, (2, 3)), (1, (2, 3))]
    assert found.beside is not None
    assert (found.beside.rank, found.beside.agree, found.beside.asked) == (2, (0, 1), 2)


@pytest.mark.parametrize(
    ("name", "edit", "agree", "asked"),
    [
        ("skipped-call", Edit("skip", 2, 2), (0, 2, 3), 3),
        ("extra-call", Edit("extra", 9, 9), (0, 1, 3), 3),
        ("order-swap", Edit("swap", 7, 7), (0, 2, 3), 3),
        ("size-mismatch", Edit("replace", 2, 2), (0, 4), 2),
    ],
)
def test_the_parting_and_who_says_so(tmp_path: Path, name: str, edit: Edit, agree: tuple[int, ...], asked: int) -> None:
    _, found = judged(tmp_path, name)
    beside = found.beside
    assert beside is not None
    assert beside.edits[beside.at] == edit
    assert (beside.agree, beside.asked) == (agree, asked)
    assert beside.rank in found.ranks
    assert beside.witness not in found.ranks


def test_who_never_came_ends_where_the_others_go_on(tmp_path: Path) -> None:
    job = load(write(tmp_path, cascade(8, idle=5)))
    beside = diagnose(job)[0].beside
    assert beside is not None
    assert beside.at == len(beside.edits) == len(beside.rows) == len(beside.witness_rows) - 1
    assert not job.ranks[beside.witness].entries.done[beside.witness_rows[-1]]
    assert beside.by == ""


@pytest.mark.parametrize("name", ["no-dump", "all-joined-stuck", "group-deadlock", "no-hang"])
def test_where_nobody_did_otherwise_there_is_nothing_to_compare(tmp_path: Path, name: str) -> None:
    assert judged(tmp_path, name)[1].beside is None
