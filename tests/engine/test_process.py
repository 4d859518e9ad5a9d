"""What the in-job recorder saw of a rank's process beside what its calls show."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from frtui.engine import diagnose
from frtui.engine.process import MARGIN_NS
from frtui.load import load
from tests.dumps import T0, Raw, dump, entry, frame, write
from tests.engine.conftest import Judge
from tests.engine.jobs import OPEN, steps, world
from tests.recorded import SECOND, SLEEPS, failure, recorded, ring, thread

DUMPED = T0 + 20 * SECOND
KILLED: dict[str, Any] = {"by": "observer", "alive": False, "heartbeat_ns": T0 + SECOND, "dumped_ns": T0 + SECOND}


def waiting(upto: int = 2) -> Raw:
    raw: Raw = dump([*steps(upto), entry(upto + 1, state=OPEN)], pg_config=world(4))
    return raw


def job(first: Raw, **changes: Any) -> dict[int, Raw]:
    """Ranks 0, 2 and 3 wait in call 3; rank 1 is `first`."""
    return {r: recorded(waiting(), r) for r in (0, 2, 3)} | {1: recorded(first, 1, **changes)}


def idle() -> Raw:
    raw: Raw = dump(steps(2), pg_config=world(4))
    return raw


def test_what_an_idle_rank_was_in(judge: Judge) -> None:
    [found] = judge(job(idle(), threads=[thread(*SLEEPS)]))
    assert (found.kind, found.ranks, found.confidence) == ("not-joined", (1,), "likely")
    assert "; rank 1 was in sleep_forever (train.py:13) ← main (train.py:30); its last" in found.summary
    assert "rank 1 was in: sleep_forever (train.py:13) ← main (train.py:30)" in found.evidence
    assert found.next_steps[0].startswith("look at /job/train.py:13, where rank 1 was")


def test_an_exception_is_the_reason(judge: Judge) -> None:
    ranks = job(idle(), threads=[thread(*SLEEPS)])
    [found] = judge({**ranks, 1: {**ranks[1], "exception": failure()}})
    assert (found.kind, found.ranks, found.confidence) == ("not-joined", (1,), "proven")
    assert ", because rank 1 ended with ValueError: boom at train.py:20; its last" in found.summary
    assert not any("was in" in fact for fact in found.evidence)
    assert all("py-spy" not in step for step in found.next_steps)


def test_what_another_exception_hides_is_told(judge: Judge) -> None:
    error = failure("DistBackendError", "timed out", frame("/job/train.py", 50, "main"))
    cause = failure("ZeroDivisionError", "division by zero")
    [found] = judge({**job(idle()), 1: {**recorded(idle(), 1), "exception": {**error, "cause": cause}}})
    told = "ended with DistBackendError: timed out at train.py:50, while handling ZeroDivisionError: division by zero"
    assert f"rank 1 {told} at train.py:20" in found.evidence


def test_a_lost_connection_is_no_reason(judge: Judge) -> None:
    """It comes of another rank's end."""
    error = failure(
        "RuntimeError", "[/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:553] Connection closed by peer"
    )
    [found] = judge({**job(idle()), 1: {**recorded(idle(), 1), "exception": error}})
    assert (found.kind, found.confidence) == ("not-joined", "likely")
    assert "because" not in found.summary
    assert any("Connection closed by peer at train.py:20" in fact for fact in found.evidence)


TORCH = frame("/x/site-packages/torch/autograd/graph.py", 979, "_engine_run_backward")
LOADING = frame("/x/site-packages/torch/utils/data/dataloader.py", 1500, "_try_get_data")
LIBRARY = frame("/usr/lib/python3.11/multiprocessing/connection.py", 395, "_recv")
TRAIN = frame("/job/train.py", 20, "step")


@pytest.mark.parametrize(
    ("kind", "message", "frames", "own"),
    [
        ("ConnectionResetError", "[Errno 104] Connection reset by peer", [LIBRARY, LOADING, TRAIN], True),
        ("TypeError", "fetch() got an unexpected keyword argument 'timeout'", [TRAIN], True),
        ("TimeoutError", "HTTPSConnectionPool(host='hf.co'): Read timed out.", [LIBRARY, TRAIN], True),
        ("RuntimeError", "DataLoader timed out after 10 seconds", [LOADING, TRAIN], True),
        ("EOFError", "broken pipe", [frame("/x/site-packages/torch/multiprocessing/reductions.py", 5), TRAIN], True),
        ("RuntimeError", "Connection closed by peer [10.0.0.7]:4711", [TORCH, TRAIN], False),
        ("RuntimeError", "Operation timed out!", [TRAIN], False),  # `work.wait()`, raised in C++
        ("RuntimeError", "Socket Timeout", [LIBRARY], False),
        ("RuntimeError", "[gloo/transport/tcp/unbound_buffer.cc:78] Timed out waiting 1000ms", [TRAIN], False),
        ("DistBackendError", "Broken pipe", [TRAIN], False),
        ("KeyboardInterrupt", "", [TRAIN], False),
    ],
)
def test_whose_timeout_it_is(judge: Judge, kind: str, message: str, frames: list[Raw], own: bool) -> None:
    """Of torch's calls it comes of another rank's end; the program has files and hosts of its own to wait for."""
    error = failure(kind, message, *frames)
    [found] = judge({**job(idle()), 1: {**recorded(idle(), 1), "exception": error}})
    assert (found.kind, found.ranks) == ("not-joined", (1,))
    assert (", because rank 1 ended with" in found.summary, found.confidence == "proven") == (own, own)


def test_of_a_message_with_a_traceback_in_it_the_last_line_tells(judge: Judge) -> None:
    lead = "Caught OSError in DataLoader worker process 0.\nOriginal Traceback (most recent call last):\n"
    frames = (
        '  File "/x/site-packages/torch/utils/data/_utils/worker.py", line 351, in _worker_loop\n    data = fetch()\n'
    )
    error = failure("OSError", f"{lead}{frames * 3}OSError: image file is truncated\n", LOADING, TRAIN)
    [found] = judge({**job(idle()), 1: {**recorded(idle(), 1), "exception": error}})
    assert "OSError: Caught OSError in DataLoader worker process 0. … OSError: image file is truncated" in found.summary


def test_who_ended_in_order_was_not_killed(judge: Judge) -> None:
    [found] = judge(job(idle(), ended=2, alive=False))
    assert "read the end of the log of rank 1" in found.next_steps[-1]
    assert not any("dmesg" in step for step in found.next_steps)


def test_one_that_fell_silent_may_have_been_stopped(judge: Judge) -> None:
    """The launcher killed it with all others in the end: that it was gone then proves nothing."""
    [found] = judge(job(idle(), **{**KILLED, "by": "ring"}))
    assert (found.kind, found.ranks, found.confidence) == ("not-joined", (1,), "likely")


def test_who_went_without_a_word_while_the_others_were_told_to_end(judge: Judge) -> None:
    """`os._exit` or a kill between two calls: the launcher ends the others at once."""
    ranks = {r: recorded(idle(), r, reason="SIGTERM") for r in (0, 2, 3)}
    gone: Raw = {"by": "ring", "alive": False, "heartbeat_ns": DUMPED - SECOND // 10, "reason": ""}
    [found] = judge({**ranks, 1: recorded(idle(), 1, **gone)})
    assert (found.kind, found.ranks, found.confidence) == ("rank-ended", (1,), "likely")
    assert found.summary.startswith("The process of rank 1 (pid 4711 on host-a) was gone when its ring was read")


def test_who_left_a_damaged_dump_did_not_go_without_a_word(tmp_path: Path) -> None:
    """The whole job was told to end, and the disk was full."""
    write(tmp_path, {r: recorded(idle(), r, reason="SIGTERM") for r in (0, 2, 3)}, "rank_{}")
    ring(tmp_path, 1, 2, done=2, seen=DUMPED)
    assert [f.kind for f in diagnose(load(tmp_path))] == ["rank-ended"]
    (tmp_path / "rank_1").write_bytes(b"")
    assert [f.kind for f in diagnose(load(tmp_path))] == ["no-hang"]


@pytest.mark.parametrize("how", ["SIGTERM", "KeyboardInterrupt"])
def test_a_job_that_somebody_stopped(judge: Judge, how: str) -> None:
    ranks = {r: recorded(idle(), r, [thread(*SLEEPS)], reason=how) for r in range(4)}
    if how == "KeyboardInterrupt":
        ranks = {r: {**raw, "exception": failure(how, "")} for r, raw in ranks.items()}
    [found] = judge(ranks)
    assert found.kind == "no-hang"
    assert found.summary.endswith("Somebody stopped the job.")
    assert found.next_steps[0].startswith("find out what stopped the job")
    assert found.next_steps[1].endswith("somebody stopped it there")
    assert ("rank 2 was told to end (SIGTERM)" in found.evidence) == (how == "SIGTERM")


def test_an_exception_in_a_call_that_all_made_is_blamed(judge: Judge) -> None:
    """It had not waited for the call: `async_op=True`."""
    ranks = {r: recorded(waiting(), r) for r in range(4)}
    [found] = judge({**ranks, 1: {**ranks[1], "exception": failure("AssertionError", "no loss")}})
    assert (found.kind, found.ranks) == ("all-joined-stuck", (1,))
    assert "nobody finishes: rank 1 ended with AssertionError: no loss at train.py:20" in found.summary


def test_a_killed_process_is_the_reason(judge: Judge) -> None:
    [found] = judge(job(idle(), **KILLED))
    assert (found.kind, found.ranks, found.confidence) == ("not-joined", (1,), "proven")
    gone = "the process of rank 1 (pid 4711 on host-a) was gone when the observer wrote its dump"
    assert f", because {gone}; its last" in found.summary
    assert gone in found.evidence


def test_a_process_that_went_after_the_dumps_is_no_reason(judge: Judge) -> None:
    [found] = judge(job(idle(), **{**KILLED, "heartbeat_ns": DUMPED - MARGIN_NS // 2}))
    assert (found.kind, found.confidence, "because" in found.summary) == ("not-joined", "likely", False)


def test_a_killed_process_leaves_its_last_call_open(judge: Judge) -> None:
    """Others finished it, so that without the recorder's word the rank's device would pass for dead."""
    mine = dump([*steps(1), entry(2, state=OPEN)], pg_config=world(4))
    assert judge(job(mine))[0].kind == "stale"
    [found] = judge(job(mine, **KILLED))
    assert (found.kind, found.ranks, found.seq) == ("not-joined", (1,), 3)


def test_a_process_that_was_killed_in_a_call_that_all_made(judge: Judge) -> None:
    [found] = judge(job(waiting(), **KILLED))
    assert (found.kind, found.ranks) == ("all-joined-stuck", ())
    assert found.summary.endswith(
        "nobody finishes: the process of rank 1 (pid 4711 on host-a) was gone when the observer wrote its dump."
    )
    assert "killed process" in found.next_steps[0]


def test_a_crash_is_the_reason_however_late(judge: Judge) -> None:
    late = {**KILLED, "heartbeat_ns": DUMPED}
    ranks = job(idle(), **late)
    [found] = judge({**ranks, 1: {**ranks[1], "crash": failure("Segmentation fault", "")}})
    assert (found.kind, found.ranks, found.confidence) == ("not-joined", (1,), "proven")
    assert "because rank 1 (pid 4711 on host-a) crashed (Segmentation fault) at train.py:20; its last" in found.summary
    crashed = "look at /job/train.py:20, where rank 1 was: find out why it crashed (Segmentation fault)"
    assert found.next_steps == (crashed,)
    between = {r: recorded(idle(), r) for r in range(4)}
    between[1] = {**recorded(idle(), 1, **KILLED), "crash": failure("Segmentation fault", "")}
    [alone] = judge(between)
    assert (alone.kind, alone.ranks, alone.next_steps) == ("rank-ended", (1,), (crashed,))
    assert alone.site is not None
    assert alone.site.place == "/job/train.py:20"
    [found] = judge({**ranks, 1: {**ranks[1], "crash": failure("Aborted", "")}})
    assert (found.confidence, "because" in found.summary) == ("likely", False)
    assert "rank 1 (pid 4711 on host-a) crashed (Aborted) at train.py:20" in found.evidence


def test_all_processes_gone_is_no_reason(judge: Judge) -> None:
    """The job was killed as a whole, later."""
    late = {**KILLED, "by": "recover", "heartbeat_ns": DUMPED, "dumped_ns": DUMPED}
    [found] = judge({r: recorded(waiting(), r, **late) for r in range(4)})
    assert "look at the network" in found.summary


@pytest.mark.parametrize(("ended", "said"), [(1, "destroyed its process groups in order"), (2, "exited")])
def test_who_ended_in_order_waits_for_nobody(judge: Judge, ended: int, said: str) -> None:
    mine = dump([*steps(1), entry(2, state=OPEN)], pg_config=world(4))
    healthy = {r: recorded(mine, r, ended=ended) for r in range(4)}
    assert [f.kind for f in judge(healthy)] == ["no-hang"]
    [found] = judge(job(idle(), ended=ended, alive=False))
    assert (found.kind, found.ranks) == ("not-joined", (1,))
    assert f"because rank 1 {said}; its last" in found.summary


def test_who_ended_because_its_call_failed_still_waited_in_it(judge: Judge) -> None:
    """All but rank 1 gave up and exited: that does not make them idle."""
    failed = waiting()
    failed["entries"][-1]["error"] = "timed out"
    ranks = {r: recorded(failed, r, ended=2, alive=None, by="ring") for r in (0, 2, 3)}
    [found] = judge({**ranks, 1: recorded(idle(), 1)})
    assert (found.kind, found.ranks, found.waiting) == ("not-joined", (1,), (0, 2, 3))


@pytest.mark.parametrize(
    ("stuck", "kind"),
    [(False, "no-hang"), (True, "not-joined")],
)
def test_the_recorder_knows_when_a_young_call_is_stuck(judge: Judge, stuck: bool, kind: str) -> None:
    just_now: Raw = {"dumped_ns": T0 + 2 * SECOND}
    ranks = {r: recorded(waiting(), r, stuck=stuck and r == 0, **just_now) for r in (0, 2, 3)}
    assert [f.kind for f in judge({**ranks, 1: recorded(idle(), 1, **just_now)})] == [kind]


def test_an_exception_means_that_the_job_is_not_merely_running(judge: Judge) -> None:
    just_now: Raw = {"dumped_ns": T0 + 2 * SECOND, "reason": "SIGTERM"}
    ranks = {r: recorded(waiting(), r, **just_now) for r in (0, 2, 3)} | {1: recorded(idle(), 1, **just_now)}
    assert [f.kind for f in judge(ranks)] == ["no-hang"]
    assert [f.kind for f in judge({**ranks, 1: {**ranks[1], "exception": failure()}})] == ["not-joined"]
    stopped = {r: {**raw, "exception": failure("KeyboardInterrupt", "")} for r, raw in ranks.items()}
    assert [f.kind for f in judge(stopped)] == ["no-hang"]


@pytest.mark.parametrize("calls", [0, 2])
def test_who_ended_while_no_call_was_stuck(judge: Judge, calls: int) -> None:
    """The launcher stops the others between two calls, or before their first."""
    raw = dump(steps(calls), pg_config=world(4))
    ranks = {r: recorded(raw, r, [thread(*SLEEPS)], reason="SIGTERM") for r in range(4)}
    assert judge(ranks)[0].kind == "no-hang"
    for stopped in ("KeyboardInterrupt", "SystemExit"):
        assert judge({r: {**raw, "exception": failure(stopped, "")} for r, raw in ranks.items()})[0].kind == "no-hang"
    [found] = judge({**ranks, 1: {**ranks[1], "exception": failure()}})
    assert (found.kind, found.ranks, found.confidence, found.group) == ("rank-ended", (1,), "proven", None)
    assert found.summary.startswith("Rank 1 ended with ValueError: boom at train.py:20; no call")
    assert found.site is not None
    assert found.site.place == "/job/train.py:20"
    assert found.focus == ((1, calls - 1) if calls else None)
    assert found.next_steps == ("look at /job/train.py:20, where rank 1 was: find out why it raised ValueError",)
    both = {**ranks, **{r: {**recorded(raw, r, dumped_ns=DUMPED - r), "exception": failure()} for r in (1, 2)}}
    [found] = judge(both)
    assert (found.ranks, found.summary.startswith("Rank 2 ended")) == ((1, 2), True)
    assert ", the first of ranks 1-2 to end; no call" in found.summary


def test_who_was_killed_while_no_call_was_stuck(judge: Judge) -> None:
    [found] = judge({r: recorded(idle(), r, **(KILLED if r == 1 else {})) for r in range(4)})
    assert (found.kind, found.ranks, found.confidence) == ("rank-ended", (1,), "proven")
    assert found.summary.startswith("The process of rank 1 (pid 4711 on host-a) was gone when the observer wrote")
    assert "killed process" in found.next_steps[0]


def test_who_ended_where_it_is_not_known_whom_a_call_waits_for(judge: Judge) -> None:
    ranks = {r: recorded(idle(), r) for r in range(4)}
    ranks[0] = recorded(dump([*steps(2), entry(2, "recv 0<-?", p2p_seq=1, state=OPEN)], pg_config=world(4)))
    assert judge(ranks)[0].kind == "inconclusive"
    [found] = judge({**ranks, 1: {**ranks[1], "exception": failure()}})
    assert (found.kind, found.ranks, found.confidence) == ("rank-ended", (1,), "possible")


@pytest.mark.parametrize(("here", "kind", "blamed"), [((0, 2, 3), "no-dump", (1,)), ((0,), "inconclusive", ())])
def test_before_the_first_call_a_rank_without_a_dump_is_the_suspect(
    judge: Judge, here: tuple[int, ...], kind: str, blamed: tuple[int, ...]
) -> None:
    [found] = judge({r: recorded(dump([], pg_config=world(4)), r, [thread(*SLEEPS)]) for r in here})
    assert (found.kind, found.ranks, found.confidence) == (kind, blamed, "possible")
    assert "rank 0 was in: sleep_forever (train.py:13) ← main (train.py:30)" in found.evidence


def test_nothing_is_stuck_and_the_recorder_tells_what_the_ranks_are_in(judge: Judge) -> None:
    [found] = judge({r: recorded(idle(), r, [thread(*SLEEPS)]) for r in range(4)})
    assert (found.kind, found.ranks) == ("no-hang", ())
    assert "rank 3 was in: sleep_forever (train.py:13) ← main (train.py:30)" in found.evidence
    assert found.next_steps[0].startswith("look at /job/train.py:13, where rank 0 was")


def test_of_two_that_ended_the_first_is_the_reason(judge: Judge) -> None:
    ranks = {r: recorded(waiting(), r) for r in (0, 3)}
    ranks |= {r: recorded(idle(), r, dumped_ns=DUMPED - r * SECOND) for r in (1, 2)}
    for r, kind in ((1, "KeyError"), (2, "ValueError")):
        ranks[r] = {**ranks[r], "exception": failure(kind)}
    [found] = judge(ranks)
    assert (found.ranks, "because rank 2 ended with ValueError" in found.summary) == ((1, 2), True)


@pytest.mark.parametrize("backend", ["gloo", "nccl"])
def test_a_rank_that_hangs_before_its_first_call(judge: Judge, backend: str) -> None:
    first = dump([entry(1, backend=backend, state="started", retired=False)], pg_config=world(4))
    ranks = {r: recorded(first, r) for r in (0, 2, 3)} | {
        1: recorded(dump([], pg_config=world(4)), 1, [thread(*SLEEPS)])
    }
    [found] = judge(ranks)
    assert (found.kind, found.ranks, found.seq, found.waiting) == ("not-joined", (1,), 1, (0, 2, 3))
    assert "rank 1 was in sleep_forever" in found.summary


def test_other_findings_tell_it_too(judge: Judge) -> None:
    ranks = {
        r: recorded(dump([*steps(2), entry(3, sizes=[[9 if r == 1 else 4]], state=OPEN)], pg_config=world(4)), r)
        for r in range(4)
    }
    ranks[1]["entries"][-1]["error"] = "Connection reset by peer"
    ranks[1]["python_stacks"] = [thread(*SLEEPS)]
    [found] = judge(ranks)
    assert (found.kind, found.ranks) == ("size-mismatch", (1,))
    assert "rank 1 was in: sleep_forever (train.py:13) ← main (train.py:30)" in found.evidence
    assert "rank 1: its call of record 2 ended with: Connection reset by peer" in found.evidence


def test_a_thread_that_is_only_in_libraries_says_nothing(judge: Judge) -> None:
    frames = [frame("/usr/lib/python3.11/threading.py", 1), frame("/x/site-packages/torch/utils/data/dataloader.py", 2)]
    [found] = judge(job(idle(), threads=[thread(*frames)]))
    assert not any("was in" in fact for fact in found.evidence)


@pytest.mark.parametrize(
    ("error", "kind"), [("Connection reset by peer", "size-mismatch"), ("KeyboardInterrupt", "no-hang")]
)
def test_a_call_that_failed_at_once_is_not_running(judge: Judge, error: str, kind: str) -> None:
    """gloo aborts the process whose sizes clash, milliseconds after the call; what is left of it is its ring."""
    rows = {r: dump([*steps(2), entry(3, sizes=[[4 + r]], state=OPEN)], pg_config=world(4)) for r in range(4)}
    moment = T0 + 3_000_000
    ranks = {r: recorded(raw, r, dumped_ns=moment, heartbeat_ns=moment) for r, raw in rows.items()}
    ranks[1]["entries"][-1]["error"] = error
    assert judge(ranks)[0].kind == kind
