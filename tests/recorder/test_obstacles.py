"""Where it can't write, nobody listens or calls fail, the job goes on, and what can be dumped is."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.recorder.running import needs_torch
from tests.recorder.zygotes import Ended, Zygote, dump_of, ring_of, said, wait_for

pytestmark = needs_torch

ALONE = [
    *[("can_not_write", what) for what in ("folder", "ring", "dump", "fault")],
    *[("has_no_stderr", how) for how in ("closed", "python", "none", "full")],
    *[("loses_its_store", how) for how in ("dead", "frozen")],
    ("fails_twice",),
    ("writes_elsewhere",),
    ("fails_all_the_time",),
]
"""Jobs that need nothing of their tests, in the order of these."""


@pytest.mark.parametrize(
    ("what", "word"),
    [
        ("folder", "nothing will be recorded: NotADirectoryError"),
        ("ring", "nothing will be recorded: OSError"),
        ("dump", "SIGUSR2: no dump was written: OSError"),
        ("fault", "no stacks of a crash"),
    ],
)
def test_where_it_can_not_write_it_says_so_in_a_line(what: str, word: str, ended: Ended) -> None:
    folder = ended("can_not_write", what)
    lines = said(folder)
    assert len(lines) == 1, lines
    assert word in lines[0]
    assert not list(folder.rglob("*.tmp"))
    assert not (folder / "rank_0").exists()
    if what in ("dump", "fault"):
        assert ring_of(folder).records[-1].collective_seq == (7 if what == "dump" else 4)


@pytest.mark.parametrize("how", ["closed", "python", "none", "full"])
def test_nobody_reads_its_stderr(how: str, ended: Ended) -> None:
    ended("has_no_stderr", how, status=-15 if how == "full" else 0)


@pytest.mark.parametrize("how", ["dead", "frozen"])
def test_the_store_vanishes(how: str, ended: Ended) -> None:
    folder = ended("loses_its_store", how)
    host = int((folder / "job.out").read_text())
    if how == "frozen":  # until here: the job has ended without it
        assert Path(f"/proc/{host}/stat").read_text().rpartition(")")[2].split()[0] == "T"
        os.kill(host, signal.SIGKILL)


def test_two_jobs_in_one_folder(zygote: Zygote, tmp_path: Path) -> None:
    pids = [zygote.start(tmp_path, "shares_the_folder", "a", name="a")]
    wait_for(tmp_path / "recorder" / "ring.r0.frr")
    pids.append(zygote.start(tmp_path, "shares_the_folder", "b", name="b"))
    assert [zygote.wait(pid) for pid in pids] == [0, 0], (tmp_path / "a.err").read_text()
    assert not [line for line in said(tmp_path, "a") if "too" in line]
    assert f"process {pids[0]} records into" in said(tmp_path, "b")[0]
    contents = ring_of(tmp_path)
    assert contents.header.pid == pids[1]
    assert len(contents.records) == 21
    assert dump_of(tmp_path)["recorder"]["pid"] in pids
    assert len(dump_of(tmp_path)["entries"]) == 21


@pytest.mark.parametrize("job", ["fails_twice", "writes_elsewhere"])
def test_dumps(job: str, ended: Ended) -> None:
    ended(job)


def test_a_job_that_handles_its_errors_is_not_slowed_down_by_dumps(ended: Ended) -> None:
    folder = ended("fails_all_the_time", status=1)
    assert dump_of(folder)["recorder"]["reason"] == "uncaught ValueError: in the end"
