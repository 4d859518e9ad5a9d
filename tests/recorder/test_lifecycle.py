"""Whatever a job does beside its calls, the recorder survives it and changes nothing in how the job runs and ends."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from recorder import ringfile
from tests.recorder.running import needs_torch
from tests.recorder.zygotes import Ended, Zygote, dump_of, ring_of, wait_for

pytestmark = needs_torch

HOW = {
    "destroyed": (0, ringfile.DESTROYED),
    "left": (0, ringfile.EXITED),
    "exit": (7, ringfile.EXITED),
    "os-exit": (5, ringfile.RUNNING),
    "exception": (1, ringfile.EXITED),
    "exception-after-destroy": (1, ringfile.DESTROYED),
    "finally-exception": (1, ringfile.EXITED),
    "bad-exception": (1, ringfile.EXITED),
    "interrupt": (-2, ringfile.EXITED),
    "thread-exception": (0, ringfile.EXITED),
    "term": (-15, ringfile.RUNNING),
    "term-after-destroy": (-15, ringfile.DESTROYED),
    "abort": (-6, ringfile.RUNNING),
}

ALONE = [
    *[("ends", how, name) for how in HOW for name in ("recorded", "alone")],
    *[("loads_data", method) for method in ("fork", "spawn")],
    ("has_children",),
    *[("has_other_children", method) for method in ("spawn", "forkserver")],
    ("forks_ranks",),
    ("child_has_own_group",),
    ("spawns_ranks",),
    ("spawned_rank_raises",),
    *[("process_raises", method) for method in ("fork", "spawn")],
    ("leaves_while_it_asks_the_store",),
    ("cycles",),
    ("disables",),
    *[("disables_in_a_thread", then) for then in ("TERM", "USR2", "put-back", "again")],
    ("enables_in_a_thread",),
    *[("has_faulthandler", when) for when in ("before", "after")],
    *[("handles_signals", when) for when in ("before", "after")],
    ("has_rare_signals",),
    ("has_a_writer_that_hangs",),
    ("raises_while_a_writer_hangs",),
    ("enables_late_where_it_can_not",),
]
"""Jobs that need nothing of their tests, in the order of these."""


@pytest.mark.parametrize("how", HOW)
def test_a_job_ends_as_it_would_without(how: str, ended: Ended) -> None:
    outputs, errors = [], []
    for name in ("recorded", "alone"):
        folder = ended("ends", how, name, status=HOW[how][0])
        outputs.append((folder / "job.out").read_text())
        lines = (folder / "job.err").read_text().splitlines()
        errors.append([line for line in lines if line and not line.startswith((" ", "[", "Current", "Extension"))])
    assert outputs[0] == outputs[1]
    if how not in ("abort", "bad-exception"):  # faulthandler's lines; frames of ours
        assert errors[0] == errors[1]
    folder = ended("ends", how, "recorded", status=HOW[how][0])
    assert ring_of(folder).header.ended == HOW[how][1]
    dumped = (folder / "rank_0").exists()
    if how == "interrupt":
        assert dump_of(folder)["recorder"]["reason"] == "uncaught KeyboardInterrupt"
    if "exception-after" in how:
        assert dump_of(folder)["exception"]["message"] == "boom"
        assert len(dump_of(folder)["entries"]) == 3
    if how == "finally-exception":
        found = dump_of(folder)["exception"]
        assert (found["type"], found["cause"]["type"]) == ("RuntimeError", "ZeroDivisionError")
        assert found["cause"]["frames"][0]["name"] == "hidden"
        assert "cause" not in found["cause"]
    assert dumped == ("exception" in how or how in ("interrupt", "term"))


def test_none_of_its_threads_is_left_when_the_interpreter_ends(ended: Ended) -> None:
    ended("leaves_while_it_asks_the_store")


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_data_loaders_have_workers(method: str, ended: Ended) -> None:
    folder = ended("loads_data", method)
    assert ring_of(folder).header.ended == ringfile.DESTROYED


def test_forked_children_end_alone(ended: Ended) -> None:
    ended("has_children")


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_other_children_end_alone(method: str, ended: Ended) -> None:
    ended("has_other_children", method)


def test_ranks_are_forked(ended: Ended) -> None:
    folder = ended("forks_ranks")
    assert ring_of(folder, 0).header.pid != ring_of(folder, 1).header.pid


def test_a_forked_child_is_recorded_in_a_group_of_its_own(ended: Ended) -> None:
    ended("child_has_own_group")


def test_ranks_are_spawned(ended: Ended) -> None:
    ended("spawns_ranks")


def test_a_spawned_rank_raises(ended: Ended) -> None:
    ended("spawned_rank_raises")


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_process_of_multiprocessing_raises(method: str, ended: Ended) -> None:
    ended("process_raises", method)


def test_nothing_stays_of_groups_that_are_destroyed(ended: Ended) -> None:
    ended("cycles")


def test_disabling_restores_all(ended: Ended) -> None:
    folder = ended("disables", status=-15)
    assert not (folder / "rank_0").exists()


@pytest.mark.parametrize(("then", "number"), [("TERM", 15), ("USR2", 12), ("put-back", 15), ("again", 15)])
def test_it_is_disabled_in_another_thread(then: str, number: int, ended: Ended) -> None:
    folder = ended("disables_in_a_thread", then, status=-number)
    assert (folder / "rank_0").exists() == (then == "again")
    assert "Error" not in (folder / "job.err").read_text()


def test_it_is_enabled_in_another_thread(ended: Ended) -> None:
    ended("enables_in_a_thread", status=-15)


@pytest.mark.parametrize("when", ["before", "after"])
def test_the_jobs_own_faulthandler_is_kept(when: str, ended: Ended) -> None:
    folder = ended("has_faulthandler", when, status=-6)
    assert "Fatal Python error: Aborted" in (folder / "fault.txt").read_text()


@pytest.mark.parametrize("when", ["before", "after"])
def test_the_jobs_own_handlers_are_kept(when: str, ended: Ended) -> None:
    folder = ended("handles_signals", when, status=3)
    assert (folder / "job.out").read_text().split("\n")[:3] == ["handled 12", "handled 15", "handled 15"]
    assert dump_of(folder)["recorder"]["reason"] in ("SIGUSR2", "SIGTERM")


def test_signals_without_a_name(ended: Ended) -> None:
    ended("has_rare_signals")


def test_asyncio_and_the_recorder_share_the_signals(zygote: Zygote, tmp_path: Path) -> None:
    pids = [zygote.start(tmp_path, "runs_asyncio", str(rank), name=f"job{rank}") for rank in (0, 1)]
    wait_for(tmp_path / "ready0", tmp_path / "ready1")
    time.sleep(0.3)
    (tmp_path / "rank_0").unlink()
    os.kill(pids[0], signal.SIGTERM)  # it is stuck in gloo
    assert zygote.wait(pids[0]) == -signal.SIGTERM
    assert dump_of(tmp_path)["recorder"]["reason"] == "SIGTERM"


def test_signals_while_a_dump_is_written(zygote: Zygote, tmp_path: Path) -> None:
    pid = zygote.start(tmp_path, "is_asked_often")
    wait_for(tmp_path / "ready")
    os.kill(pid, signal.SIGTERM)
    assert zygote.wait(pid) == -signal.SIGTERM


def test_a_writer_that_hangs_does_not_keep_the_process(ended: Ended) -> None:
    ended("has_a_writer_that_hangs", status=-15)
    folder = ended("raises_while_a_writer_hangs", status=1)
    assert "ValueError: boom" in (folder / "job.err").read_text()


def test_enabling_late_where_it_can_not_write_leaves_nothing(ended: Ended) -> None:
    ended("enables_late_where_it_can_not")
