"""What the in-job recorder adds to a dump, well-formed and not."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

from frtui.load import load
from frtui.load.limits import MAX_TEXT
from frtui.load.recorded import MAX_ITEMS
from frtui.model import Frame, Job, Rank
from tests.dumps import DEFAULT, T0, Raw, dump, entry, frame, write
from tests.recorded import SECOND, SLEEPS, failure, recorded, thread

PLAIN = dump([entry(1), entry(2, state="started")], pg_config={DEFAULT: [0, 1]})
NASTY = "\x1b[31m[/red]\u202e\r\nsecond"


def read(folder: Path, raw: Raw, **how: Any) -> tuple[Rank, Job]:
    job = load(write(folder, {0: raw}, **how))
    return job.ranks[0], job


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_everything_is_read(tmp_path: Path, protocol: int) -> None:
    threads = [thread(*SLEEPS), thread(frame("data.py", 5), name="loader")]
    raw = recorded(PLAIN, 0, threads, by="observer", alive=False, ended=2, later_reasons=["SIGTERM"])
    raw["exception"] = failure("ValueError", "boom\n  twice")
    rank, job = read(tmp_path, raw, encode=protocol)
    assert job.problems == ()
    assert (rank.by, rank.reason, rank.later_reasons) == ("observer", "asked by rank 0", ("SIGTERM",))
    assert (rank.host, rank.pid, rank.alive, rank.ended) == ("host-a", 4710, False, "exited")
    assert rank.dumped_ns == rank.heartbeat_ns == T0 + 20 * SECOND
    assert [t.name for t in rank.threads] == ["MainThread", "loader"]
    assert rank.threads[0].stack[1] == Frame("sleep_forever", "/job/train.py", 13)
    assert rank.error is not None
    assert (rank.error.type, rank.error.message) == ("ValueError", "boom twice")
    assert rank.error.stack == (Frame("step", "/job/train.py", 20),)


def test_torchs_own_dump_says_nothing_of_it(tmp_path: Path) -> None:
    rank, _ = read(tmp_path, PLAIN)
    assert (rank.by, rank.reason, rank.alive, rank.threads, rank.error, rank.call_errors) == (
        "",
        "",
        None,
        (),
        None,
        {},
    )
    assert rank.dumped_ns == (tmp_path / "nccl_trace_rank_0").stat().st_mtime_ns


def test_the_host_is_what_the_rank_says(tmp_path: Path) -> None:
    rank, _ = read(tmp_path, recorded(PLAIN), name="nccl_trace_rank_node7_{}")
    assert rank.host == "host-a"


def test_the_exception_of_a_call(tmp_path: Path) -> None:
    raw = recorded(
        {**PLAIN, "entries": [PLAIN["entries"][0], {**PLAIN["entries"][1], "error": "timed out\nafter 8 s"}]}
    )
    rank, job = read(tmp_path, raw)
    assert rank.call_errors == {1: "timed out after 8 s"}
    assert [call.error for call in job.calls(0)] == ["", "timed out after 8 s"]


def test_a_rank_that_made_no_call_is_no_problem(tmp_path: Path) -> None:
    rank, job = read(tmp_path, recorded(dump([], pg_config={DEFAULT: [0, 1]})))
    assert (len(rank.entries), job.problems) == (0, ())


def test_receives_from_anyone_are_back_in_their_place(tmp_path: Path) -> None:
    rows = dump([entry(1), entry(0, "recv 1<-?", p2p_seq=1, state="started"), entry(2)], pg_config={DEFAULT: [0, 1, 2]})
    first, anyone, last = rows["entries"]
    rank, job = read(tmp_path, recorded({**rows, "entries": [first, last], "unresolved": [anyone]}))
    assert list(rank.entries.record) == [0, 1, 2]
    assert [call.op for call in job.calls(0)] == ["all_reduce", "recv", "all_reduce"]


def test_equal_stacks_of_threads_are_kept_once(tmp_path: Path) -> None:
    job = load(write(tmp_path, {rank: recorded(PLAIN, rank, [thread(*SLEEPS)]) for rank in (0, 1)}))
    assert job.ranks[0].threads[0].stack is job.ranks[1].threads[0].stack


DEEP: Any = "x"
for _ in range(60):
    DEEP = [DEEP, DEEP]
WRONG = [7, 1.5, True, "x", [], [None], [[]], {}, {"a": 1}, {None: None}, DEEP, 1 << 80, -5, float("nan"), NASTY]
KEYS = ["by", "reason", "later_reasons", "rank", "world_size", "host", "pid", "alive", "ended", "heartbeat_ns"]
KEYS += ["dumped_ns", "opened_ns"]


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("value", WRONG, ids=lambda value: type(value).__name__)
def test_wrong_values_under_recorder(tmp_path: Path, key: str, value: Any) -> None:
    raw = recorded(PLAIN)
    rank, job = read(tmp_path, {**raw, "recorder": {**raw["recorder"], key: value}})
    assert len(rank.entries) == 2
    assert {p.problem for p in job.problems} <= {"malformed"}
    assert printable(rank)


PLACES = ["recorder", "python_stacks", "exception", "crash", "unresolved"]


@pytest.mark.parametrize("key", PLACES)
@pytest.mark.parametrize("value", WRONG, ids=lambda value: type(value).__name__)
def test_wrong_values_in_place_of_a_whole_part(tmp_path: Path, key: str, value: Any) -> None:
    rank, job = read(tmp_path, {**recorded(PLAIN, 0, [thread(*SLEEPS)]), key: value})
    assert len(rank.entries) == 2
    assert {p.problem for p in job.problems} <= {"malformed"}
    assert printable(rank)


@pytest.mark.parametrize("key", ["name", "frames", "type", "message"])
@pytest.mark.parametrize("value", WRONG, ids=lambda value: type(value).__name__)
def test_wrong_values_in_a_thread_and_an_exception(tmp_path: Path, key: str, value: Any) -> None:
    raw = recorded(PLAIN, 0, [{**thread(*SLEEPS), key: value}, thread()])
    rank, _ = read(tmp_path, {**raw, "exception": {**failure(), key: value, "cause": {**failure(), key: value}}})
    assert len(rank.threads) == 2
    assert rank.error is not None
    assert printable(rank)


@pytest.mark.parametrize("value", WRONG, ids=lambda value: type(value).__name__)
def test_wrong_values_as_the_error_of_a_call(tmp_path: Path, value: Any) -> None:
    raw = recorded({**PLAIN, "entries": [{**row, "error": value} for row in PLAIN["entries"]]})
    rank, _ = read(tmp_path, raw)
    assert all(isinstance(said, str) and said.isprintable() for said in rank.call_errors.values())
    assert bool(rank.call_errors) == isinstance(value, str)


def printable(rank: Rank) -> bool:
    said = [rank.by, rank.reason, rank.host, *rank.later_reasons, *(t.name for t in rank.threads)]
    frames = [f for t in rank.threads for f in t.stack]
    if rank.error is not None:
        said += [rank.error.type, rank.error.message]
        frames += rank.error.stack
    said += [text for f in frames for text in (f.name, f.filename)]
    return all(text.isprintable() and len(text) < 10 * MAX_TEXT for text in said)


def test_strings_are_made_safe_and_short(tmp_path: Path) -> None:
    long = NASTY * 100_000
    raw = recorded(PLAIN, 0, [thread(frame(long, 3, long), name=long)], reason=long, host=long, later_reasons=[long])
    rank, job = read(tmp_path, {**raw, "exception": failure(long, long, frame(long, 3, long))})
    assert job.problems == ()
    assert printable(rank)
    assert "\\x1b[31m" in rank.reason


def test_many_threads_and_reasons_are_cut(tmp_path: Path) -> None:
    raw = recorded(PLAIN, 0, [thread(*SLEEPS)] * (MAX_ITEMS + 5), later_reasons=["x"] * (MAX_ITEMS + 5))
    rank, job = read(tmp_path, raw)
    assert len(rank.threads) == len(rank.later_reasons) == MAX_ITEMS
    assert job.problems[0].detail.startswith("2 values")


def test_stacks_named_again_and_again_are_refused(tmp_path: Path) -> None:
    frames = [frame("x.py", 1)] * 50_000
    write(tmp_path, {0: PLAIN})
    raw = recorded(PLAIN, 1, [{"name": "t", "frames": frames}] * 500)
    (tmp_path / "nccl_trace_rank_1").write_bytes(pickle.dumps(raw, 2))
    (problem,) = load(tmp_path).problems
    assert (problem.problem, "again and again" in problem.detail) == ("refused", True)


def test_a_cut_dump_keeps_its_entries_without_the_rest(tmp_path: Path) -> None:
    data = pickle.dumps(recorded(PLAIN, 0, [thread(*SLEEPS)]), 2)
    (tmp_path / "rank_0").write_bytes(data[: data.index(b"python_stacks") + 40])
    job = load(tmp_path)
    assert len(job.ranks[0].entries) == 2
    assert job.ranks[0].threads == ()
    assert [p.problem for p in job.problems] == ["truncated"]
