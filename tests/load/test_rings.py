"""Ring files of the in-job recorder: which are read, and in whose place."""

from __future__ import annotations

import io
import os
import pickle
import socket
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import pytest

from frtui.load import LoadError, load
from frtui.load.names import Name, parse
from frtui.load.rings import MAGIC
from frtui.model import Failure, Frame
from recorder import ringfile
from recorder.ring import Ring
from tests.dumps import T0, dump, entry
from tests.load.jobs import RECORDED, dumps
from tests.recorded import SECOND, recorded, ring, texts


def test_a_ring_is_told_by_its_first_bytes() -> None:
    assert ringfile.MAGIC == MAGIC
    assert parse("ring.r12.frr") == Name(12, "", True)
    assert parse("ring.r99999999999.frr") is None


def test_the_rings_of_a_running_job_are_a_job(tmp_path: Path) -> None:
    for rank in range(4):
        ring(tmp_path, rank, calls=3, done=2)
    job = load(tmp_path)
    assert (list(job.ranks), job.problems, job.missing) == ([0, 1, 2, 3], (), ())
    first = job.ranks[0]
    assert (first.by, first.host, first.dumped_ns) == ("ring", "host-r", T0 + 60 * SECOND)
    assert list(first.entries.done) == [1, 1, 0]
    assert job.call(0, 2).stack[0].place == "train.py:60"
    assert list(load(tmp_path / "recorder").ranks) == [0, 1, 2, 3]


def test_one_ring_alone(tmp_path: Path) -> None:
    assert list(load(ring(tmp_path, 3)).ranks) == [3]


def test_a_dump_wins_over_the_ring_in_silence(tmp_path: Path) -> None:
    dumps(tmp_path, 0, 1, 2)
    for rank in range(4):
        ring(tmp_path, rank, calls=5)
    job = load(tmp_path)
    assert [rank.by for rank in job.ranks.values()] == ["rank", "rank", "rank", "ring"]
    assert job.ranks[3].file == "recorder/ring.r3.frr"
    assert job.problems == ()


@pytest.mark.parametrize("broken", [b"", b"PK\3\4", b"\x80\x02garbage", b"\0" * 100], ids=repr)
def test_a_ring_stands_in_for_a_dump_that_gives_nothing(tmp_path: Path, broken: bytes) -> None:
    dumps(tmp_path, 0, 1, 2)
    (tmp_path / "rank_3").write_bytes(broken)
    ring(tmp_path, 3, calls=5)
    job = load(tmp_path)
    assert len(job.ranks[3].entries) == 5
    (problem,) = job.problems
    assert (problem.file, problem.rank) == ("rank_3", 3)
    assert problem.detail.endswith("; recorder/ring.r3.frr was read in its place")


def test_where_both_are_broken_both_are_told(tmp_path: Path) -> None:
    dumps(tmp_path, 0, 1, 2)
    (tmp_path / "rank_3").write_bytes(b"")
    path = ring(tmp_path, 3)
    path.write_bytes(path.read_bytes()[:5000])
    job = load(tmp_path)
    assert job.missing == (3,)
    assert [(p.file, p.problem) for p in job.problems] == [("rank_3", "empty"), ("recorder/ring.r3.frr", "refused")]
    assert "cut off after 5000 bytes" in job.problems[1].detail


def test_what_lies_beside_a_ring_is_neither_opened_nor_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ring(tmp_path, 0, members=[0])
    beside = tmp_path / "recorder"
    for name in ("fault.r0.log", "dump.request", "later1.r0.pkl~", "earlier12.r0.pkl~", ".ring.0123456789abcdef.tmp"):
        (beside / name).write_bytes(b"x")
    monkeypatch.chdir(beside)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("r0.sock")
        assert load(tmp_path).problems == ()


def test_folders_of_nodes(tmp_path: Path) -> None:
    dumps(tmp_path / "node1", 0)
    ring(tmp_path / "node1", 0)
    ring(tmp_path / "node1", 1)
    dumps(tmp_path / "node2", 2)
    ring(tmp_path / "node2", 3)
    job = load(tmp_path)
    hosts = {r: rank.host for r, rank in job.ranks.items()}
    assert hosts == {
        0: "host-a",
        1: "host-r",
        2: "host-a",
        3: "host-r",
    }  # what the ranks say, not what folders are called
    assert (job.attempts, job.problems) == ((), ())


def test_attempts_have_their_own_rings(tmp_path: Path) -> None:
    for attempt in ("attempt_0", "attempt_1"):
        dumps(tmp_path / attempt, 0, 1, 2)
        ring(tmp_path / attempt, 3, calls=2 if attempt == "attempt_0" else 7)
    job = load(tmp_path)
    assert (job.attempts, job.attempt) == (("attempt_0", "attempt_1"), "attempt_1")
    assert len(job.ranks[3].entries) == 7
    assert len(load(tmp_path, attempt="attempt_0").ranks[3].entries) == 2


def test_an_archive_of_empty_rings_that_claim_much_is_refused(tmp_path: Path) -> None:
    """Rings may pack better than anything else, but not without end."""
    with tarfile.open(tmp_path / "x.tgz", "w:gz") as tar:
        info = tarfile.TarInfo("recorder/ring.r0.frr")
        info.size = 64 << 20
        tar.addfile(info, io.BytesIO(bytes(info.size)))
    with pytest.raises(LoadError) as caught:
        load(tmp_path / "x.tgz")
    assert [p.detail for p in caught.value.problems] == ["claims more data than it can hold"]


@pytest.mark.parametrize("suffix", ["tar", "tgz"])
def test_rings_in_archives(tmp_path: Path, suffix: str) -> None:
    folder = dumps(tmp_path / "job", 0, 1)
    (folder / "rank_1").write_bytes(b"")
    for rank in range(3):
        ring(folder, rank, calls=rank + 1)
    (folder / "recorder" / "fault.r0.log").write_bytes(b"x")
    with tarfile.open(tmp_path / f"job.{suffix}", "w:gz" if suffix == "tgz" else "w") as tar:
        tar.add(folder, "job")
    job = load(tmp_path / f"job.{suffix}")
    assert {r: (rank.by, len(rank.entries)) for r, rank in job.ranks.items()} == {
        0: ("rank", 1),
        1: ("ring", 2),
        2: ("ring", 3),
    }
    assert [p.file for p in job.problems] == [f"job.{suffix}/job/rank_1"]


def test_a_prefix_leaves_rings_out_and_says_so(tmp_path: Path) -> None:
    dumps(tmp_path, 0)
    ring(tmp_path, 1)
    job = load(tmp_path, prefix="rank_")
    assert [(p.file, p.problem) for p in job.problems] == [("recorder/ring.r1.frr", "skipped")]


# Ranks that crashed


def test_a_ring_tells_how_its_rank_crashed(tmp_path: Path) -> None:
    ring(tmp_path, 3, calls=2)
    fault = "Fatal Python error: Aborted\n\nCurrent thread 0x00007f1 (most recent call first):\n"
    (tmp_path / "recorder" / "fault.r3.log").write_text(fault + '  File "/job/train.py", line 31 in step\n')
    rank = load(tmp_path).ranks[3]
    assert rank.reason == "the process crashed: Aborted"
    assert rank.alive is False
    assert rank.threads[0].stack == (Frame("step", "/job/train.py", 31),)
    assert rank.crash == Failure("Aborted", "", rank.threads[0].stack)


def test_a_thread_without_python_crashed_and_a_rank_that_ended_in_order_did_not(tmp_path: Path) -> None:
    ring(tmp_path, 2, ended=1)
    ring(tmp_path, 3, calls=2)
    fault = "Fatal Python error: Bus error\n\nThread 0x00007f1 (most recent call first):\n"
    for rank in (2, 3):
        (tmp_path / "recorder" / f"fault.r{rank}.log").write_text(fault + '  File "/job/train.py", line 31 in step\n')
    ranks = load(tmp_path).ranks
    assert (ranks[2].crash, ranks[3].crash) == (None, Failure("Bus error", "", ()))


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_a_fault_file_that_is_none_is_not_opened(tmp_path: Path, make: Callable[[Path], None]) -> None:
    ring(tmp_path, 3, calls=2)
    make(tmp_path / "recorder" / "fault.r3.log")
    assert load(tmp_path).ranks[3].threads == ()


# Hostile ones


def hostile(folder: Path, stack: object, signature: object, calls: int = 3_000) -> Path:
    """A ring whose records all name one stack and one signature."""
    path = folder / "recorder" / "ring.r1.frr"
    path.parent.mkdir(parents=True, exist_ok=True)
    with mock.patch("time.time_ns", return_value=T0):
        made = Ring(str(path), calls, 1, 4)
        texts(made, (0, 1))
        made.text(ringfile.STACK, 2, stack)
        made.text(ringfile.SIGNATURE, 2, signature)
        for seq in range(calls):
            made.put(2, 2, 0, ringfile.ISSUED, seq, 0, seq, 1000, 0)
    return path


NAME = {"name": "gloo:x", "inputs": [], "outputs": [], "input_dtypes": [], "output_dtypes": []}
BAD = {
    "a long stack, again and again": ([["f", "x.py", 1]] * 20_000, NAME),
    "many extra keys, again and again": ([], {**NAME, "more": {str(n): 0 for n in range(50_000)}}),
    "frames that are none": ([["f"]], NAME),
    "a stack that is a number": (7, NAME),
    "no signature": ([], [1, 2]),
    "a name that is a list": ([], {**NAME, "name": ["x"] * 9}),
    "more that is a number": ([], {**NAME, "more": 7}),
    "a number that is none": ([["f", "x.py", float("inf")]], {**NAME, "inputs": [[float("nan")]]}),
    "markup and escapes": ([["\x1b[31m", "[/red]\n", 1]], {**NAME, "name": "\x1b]0;x\x07:[bold]"}),
}


@pytest.mark.parametrize("what", BAD)
def test_a_hostile_ring_costs_itself_at_most(tmp_path: Path, what: str) -> None:
    dumps(tmp_path, 0)
    hostile(tmp_path, *BAD[what])
    job = load(tmp_path)
    assert 0 in job.ranks
    assert (1 in job.ranks) != any(p.problem in ("refused", "not-a-dump") for p in job.problems)
    assert all(text.isprintable() for p in job.problems for text in (p.file, p.detail))
    assert all(f.name.isprintable() and f.filename.isprintable() for stack in job.stacks for f in stack)
    assert not any("a fault in frtui" in p.detail for p in job.problems)


def test_repetition_is_refused_before_it_is_unfolded(tmp_path: Path) -> None:
    for what in list(BAD)[:2]:
        with pytest.raises(LoadError, match="again and again"):
            load(hostile(tmp_path / what, *BAD[what]))


@pytest.mark.parametrize("at", [0, 8, 12, 16, 24, 4096, 4100])
@pytest.mark.parametrize("filling", [b"\xff", b"\0", b"]"])
def test_damaged_headers_and_slots(tmp_path: Path, at: int, filling: bytes) -> None:
    dumps(tmp_path, 0)
    path = ring(tmp_path, 1, calls=9)
    data = path.read_bytes()
    path.write_bytes(data[:at] + filling * 8 + data[at + 8 :])
    job = load(tmp_path)
    assert 0 in job.ranks
    assert all(p.rank == 1 for p in job.problems)


def test_a_ring_under_the_name_of_a_dump_and_the_reverse(tmp_path: Path) -> None:
    ring(tmp_path, 1).rename(tmp_path / "rank_1")
    (tmp_path / "recorder" / "ring.r0.frr").write_bytes(pickle.dumps(recorded(dump([entry(1)], pg_config=RECORDED))))
    job = load(tmp_path)
    assert {r: rank.by for r, rank in job.ranks.items()} == {0: "rank", 1: "ring"}


def test_a_name_of_another_rank_is_told(tmp_path: Path) -> None:
    ring(tmp_path, 1).rename(tmp_path / "recorder" / "ring.r2.frr")
    (problem,) = load(tmp_path).problems
    assert (problem.rank, problem.problem) == (2, "malformed")
    assert "recorded by rank 1" in problem.detail


def test_the_recorder_is_imported_for_rings_alone(tmp_path: Path) -> None:
    probe = "import sys; from frtui.load import load; load(sys.argv[1]); print(*sys.modules)"
    loaded = []
    for source in (dumps(tmp_path / "a", 0), ring(tmp_path / "b", 0).parent):
        done = subprocess.run([sys.executable, "-c", probe, str(source)], capture_output=True, text=True, check=True)
        loaded.append(set(done.stdout.split()))
    assert "recorder" not in loaded[0]
    assert "recorder.export" in loaded[1]
    assert "torch" not in loaded[1]
