"""Real jobs on gloo under torchrun that end in every way a job can end: what is left names the rank that did it."""

from __future__ import annotations

import pickle
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import pytest

from frtui.engine import diagnose
from frtui.load import load
from frtui.model import Job
from tests.recorder.jobs.scenario import BAD
from tests.recorder.running import JOBS, PREFIX, needs_torch, python, recorder, running, torchrun

pytestmark = needs_torch


class Case(NamedTuple):
    ranks: int
    kinds: set[str]
    timeout: float = 30
    """Of the group, in seconds: for a hang it doesn't matter, else all ranks end before."""
    dumped_by_themselves: tuple[int, ...] = (0, 1)
    ends: bool = True
    """False: it would hang until its timeout; the test ends it once the dumps are there."""


GONE = {"not-joined", "no-dump"}
CASES = {
    "hang": Case(2, {"not-joined"}, ends=False),
    "early": Case(2, {"not-joined"}, ends=False),
    "lock": Case(2, {"not-joined"}, ends=False, dumped_by_themselves=(0,)),
    "size": Case(2, {"size-mismatch"}, dumped_by_themselves=()),
    "exception": Case(2, {"not-joined"}),
    "apart": Case(2, {"rank-ended"}),
    "exit": Case(2, {"not-joined"}, dumped_by_themselves=(0,)),
    "kill": Case(2, {"not-joined"}, dumped_by_themselves=(0,)),
    "term": Case(2, {"not-joined"}),
    "crash": Case(2, {"not-joined"}, dumped_by_themselves=(0,)),
    "hang-4": Case(4, {"not-joined"}, ends=False, dumped_by_themselves=(0, 1, 2, 3)),
    "kill-4": Case(4, {"not-joined"}, dumped_by_themselves=(0, 2, 3)),
}
AT_ONCE = 4


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The folder of each case, as the job left it."""
    folders = {name: tmp_path_factory.mktemp(name) for name in CASES}
    names = list(CASES)
    for first in range(0, len(names), AT_ONCE):
        _run({name: folders[name] for name in names[first : first + AT_ONCE]})
    return folders


def _run(folders: dict[str, Path]) -> None:
    deadline = time.monotonic() + 120
    with ExitStack() as stack:
        jobs = {}
        for name, folder in folders.items():
            case = CASES[name]
            script = [str(JOBS / "scenario.py"), name.partition("-")[0], str(case.timeout)]
            command = torchrun(case.ranks, *recorder(folder, "--stuck-after", "1.5"), *script)
            jobs[name] = stack.enter_context(running(command, folder / "job.log"))
            if name == "lock":
                observer = [sys.executable, "-m", "recorder", "observe", str(folder), "--stuck-after", "1.5"]
                stack.enter_context(running(observer, folder / "observer.log"))
        for name, job in jobs.items():
            folder, case = folders[name], CASES[name]
            dumps = [folder / f"{PREFIX}{rank}" for rank in range(case.ranks)]
            while job.poll() is None and (case.ends or not all(map(Path.exists, dumps))):
                assert time.monotonic() < deadline, (folder / "job.log").read_text(errors="replace")
                time.sleep(0.1)


@pytest.mark.parametrize("name", CASES)
def test_the_rank_that_did_it_is_named(name: str, left: dict[str, Path]) -> None:
    case = CASES[name]
    job = load(left[name])
    assert sorted(job.ranks) == list(range(case.ranks))
    finding = diagnose(job)[0]
    assert finding.kind in case.kinds, finding
    assert finding.ranks == (BAD,) or case.kinds == {"size-mismatch"}, finding
    assert finding.op == ("all_reduce" if name != "apart" else "")
    assert finding.site is not None
    assert finding.site.filename.endswith("scenario.py")


@pytest.mark.parametrize("name", CASES)
def test_every_call_is_there_whoever_wrote_the_dump(name: str, left: dict[str, Path]) -> None:
    job = load(left[name])
    before = 0 if name == "early" else 2
    for rank in job.ranks:
        calls = list(job.calls(rank))
        makes_the_third = (rank != BAD or name == "size") and name != "apart"
        assert [call.seq for call in calls][:before] == list(range(1, before + 1))
        assert len(calls) == before + makes_the_third, (rank, calls)
        assert all(call.done for call in calls[:before])
        assert not any(call.done for call in calls[before:])
        assert all(call.signature.inputs == ((3, 4),) for call in calls[:before])


@pytest.mark.parametrize("name", CASES)
def test_ranks_that_could_dump_did(name: str, left: dict[str, Path]) -> None:
    for rank in CASES[name].dumped_by_themselves:
        dump = pickle.loads((left[name] / f"{PREFIX}{rank}").read_bytes())
        assert dump["recorder"]["by"] == "rank"
        assert dump["python_stacks"]


@pytest.mark.parametrize(
    ("name", "function"), [("hang", "never_reach"), ("early", "never_reach"), ("hang-4", "never_reach")]
)
def test_a_rank_that_never_came_shows_what_it_does_instead(name: str, function: str, left: dict[str, Path]) -> None:
    assert _main_thread(load(left[name]), BAD)[0] == function


def test_the_observer_gets_the_stack_of_a_rank_that_holds_the_interpreter_lock(left: dict[str, Path]) -> None:
    dump = pickle.loads((left["lock"] / f"{PREFIX}{BAD}").read_bytes())
    assert dump["recorder"]["by"] == "observer"
    assert _main_thread(load(left["lock"]), BAD)[0] == "hold_the_interpreter_lock"


@pytest.mark.parametrize("name", ["exception", "apart"])
def test_an_uncaught_exception_is_in_the_dump(name: str, left: dict[str, Path]) -> None:
    exception = pickle.loads((left[name] / f"{PREFIX}{BAD}").read_bytes())["exception"]
    assert (exception["type"], exception["message"]) == ("ValueError", "boom [/bold]\x1b[31m")
    assert exception["frames"][0]["name"] == "misbehave"


def test_a_crash_is_told_with_its_line_also_once_it_is_recovered(left: dict[str, Path]) -> None:
    line = 1 + (JOBS / "scenario.py").read_text().splitlines().index("        ctypes.string_at(0)")
    for command in ("report", "recover"):
        if command == "recover":
            assert "wrote" in python("-m", "recorder", "recover", str(left["crash"])).stdout
        job = load(left["crash"])
        assert job.ranks[BAD].by == {"report": "ring", "recover": "recover"}[command]
        finding = diagnose(job)[0]
        assert f") crashed (Segmentation fault) at scenario.py:{line}; its last" in finding.summary
        assert (finding.kind, finding.ranks, finding.confidence) == ("not-joined", (BAD,), "proven")


@pytest.mark.parametrize("name", ["kill", "size", "kill-4"])
def test_recover_makes_dumps_of_what_was_killed(name: str, left: dict[str, Path]) -> None:
    before = diagnose(load(left[name]))[0]
    done = python("-m", "recorder", "recover", str(left[name]))
    assert done.returncode == 0, done.stderr
    for rank in range(CASES[name].ranks):
        assert (left[name] / f"{PREFIX}{rank}").exists(), done.stdout
    after = diagnose(load(left[name]))[0]
    assert (after.kind, after.ranks, after.seq) == (before.kind, before.ranks, before.seq)


def test_the_stacks_of_a_rank_that_aborted_are_recovered(left: dict[str, Path]) -> None:
    """gloo ends one of the ranks of a size mismatch by SIGABRT, in which nothing of Python runs any more."""
    python("-m", "recorder", "recover", str(left["size"]))
    job = load(left["size"])
    assert any("main" in _main_thread(job, rank) for rank in job.ranks)


def _main_thread(job: Job, rank: int) -> list[str]:
    """Functions of the main thread, innermost first."""
    return [frame.name for frame in job.ranks[rank].threads[0].stack]
