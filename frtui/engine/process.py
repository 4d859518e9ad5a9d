"""What the in-job recorder tells of a rank's process: how it ended, or what it was in. torch's own dumps tell nothing.

It supports what the calls show, and says why; who is to blame is decided by the calls.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from frtui.model import DESTROYED, Failure, Job, Rank
from frtui.stacks import call_site, doing, is_library, is_torch, program, short
from frtui.text import utc

LONGEST = 160
"""Characters of a message or of a chain of frames in a sentence."""
MARGIN_NS = 1_000_000_000
"""A process whose last sign of life is older than the newest of the job by this went before the others."""

# What a rank says when another one is gone.
_CONSEQUENCE = re.compile(
    r"connection (?:was )?(?:closed|reset|refused|aborted)|broken pipe|tim(?:ed|e) ?out|watchdog"
    r"|communicator was aborted|\bsocket\b",
    re.IGNORECASE,
)
_OF_TORCH = re.compile(r"gloo|nccl|watchdog|communicator|process ?group|tcpstore|\bDist\w+Error", re.IGNORECASE)
_LOADING = re.compile(r"[/\\]torch[/\\](?:utils|multiprocessing)[/\\]")
_STOPPED = ("KeyboardInterrupt", "SystemExit")
"""Somebody stopped the rank, or it ended by itself."""
_TERMINATED = "SIGTERM"
_WRITERS = {
    "observer": "when the observer wrote its dump",
    "recover": "when its dump was made from its ring",
    "ring": "when its ring was read",
}


def brief(text: str, most: int = LONGEST) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def failed(rank: Rank) -> bool:
    """It ended with an exception of its own, not with one that another rank's end would cause."""
    return rank.error is not None and not _is_consequence(rank.error)


def _is_consequence(error: Failure) -> bool:
    """A lost connection or a timeout counts as one where torch raised it: the program has some of its own."""
    said = f"{error.type}: {error.message}"
    if error.type in _STOPPED:
        return True
    if not _CONSEQUENCE.search(said):
        return False
    raised = next((frame for frame in error.stack if not is_library(frame)), None)
    if _OF_TORCH.search(said) or raised is None:
        return True
    # What C++ raises is a RuntimeError, and its innermost Python frame that of the program: `work.wait()`.
    own = error.type != "RuntimeError" and not is_torch(raised)
    return not (own or _LOADING.search(raised.filename))


def lost(job: Job, rank: Rank) -> bool:
    """It crashed, or was gone before the others' dumps were written. All may be gone by the time that one looks.

    Libraries end a rank by SIGABRT when another one is gone: that alone is no crash of its own.
    """
    if not gone(rank):
        return False
    if rank.crash is not None and rank.crash.type != "Aborted":
        return True
    return 0 < rank.heartbeat_ns < job.last_sign_ns - MARGIN_NS


def left(job: Job, rank: Rank) -> bool:
    """It ended while others went on: with an exception of its own, killed, or in order."""
    return broke(job, rank) or bool(rank.ended and not rank.call_errors)


def broke(job: Job, rank: Rank) -> bool:
    """It ended as nobody meant it to: with an exception of its own, or killed while others went on."""
    return failed(rank) or lost(job, rank)


def silent(job: Job) -> list[Rank]:
    """Whose process is gone without a dump, where others that were told to end wrote theirs: they went before them."""
    ranks = job.ranks.values()
    told = any(rank.by == "rank" and terminated(rank) for rank in ranks)
    damaged = {problem.rank for problem in job.problems}  # those have left a dump
    without = [rank for rank in ranks if rank.by in ("ring", "recover") and gone(rank) and rank.rank not in damaged]
    return without if told else []


def terminated(rank: Rank) -> bool:
    """It was told to end."""
    return _TERMINATED in (rank.reason, *rank.later_reasons)


def stopped(rank: Rank) -> bool:
    """Somebody ended it from outside, and that is all that it says."""
    return rank.error.type == "KeyboardInterrupt" if rank.error is not None else rank.reason == _TERMINATED


def surely_left(rank: Rank) -> bool:
    """Of one that `left`: it says so itself, or it was gone while others ran. One that only fell silent may have been
    stopped, or held up by its interpreter's lock, and killed in the end with all others."""
    return failed(rank) or bool(rank.ended) or rank.crash is not None or rank.by == "observer"


def judged_stuck(rank: Rank) -> bool:
    """The recorder itself found one of its calls open for too long."""
    return rank.judged_stuck


def lost_call(rank: Rank, opened: list[int]) -> bool:
    """An open call of it failed, for whichever reason but that somebody stopped the program."""
    said = (rank.call_errors.get(row, "KeyboardInterrupt") for row in opened)
    return any("KeyboardInterrupt" not in text for text in said)


def refused(rank: Rank, opened: Iterable[int]) -> str:
    """The error with which an open call of the rank failed, where it is its own and not what another's end causes."""
    said = (rank.call_errors.get(row, "") for row in opened)
    return next((text for text in said if text and not _CONSEQUENCE.search(text)), "")


def failure(rank: Rank) -> Failure | None:
    """The exception that ended it, else the signal that it crashed with."""
    return rank.error if rank.error is not None else rank.crash


def ending(rank: Rank) -> str:
    """How a rank ended, as the predicate of a sentence: `ended with ValueError: boom at train.py:20`; or empty."""
    if rank.error is not None:
        began = f", while handling {_raised(rank.cause)}" if rank.cause is not None else ""
        return f"ended with {_raised(rank.error)}{began}"
    if rank.ended:
        return "destroyed its process groups in order" if rank.ended == DESTROYED else "exited"
    return ""


def gone(rank: Rank) -> str:
    """`the process of rank 1 (pid 4711 on host-a) was gone when its ring was read`; or empty.

    Where that is known, `rank 1 (pid 4711 on host-a) crashed (Segmentation fault) at train.py:20`.
    """
    if rank.alive is not False or rank.ended:
        return ""
    if rank.crash is not None:
        return f"{name(rank)} crashed ({brief(rank.crash.type)}){_at(rank.crash)}"
    return f"the process of {name(rank)} was gone {_WRITERS.get(rank.by, 'when its dump was written')}"


def _raised(failure: Failure) -> str:
    said = f"{failure.type}: {failure.message}".removesuffix(": ")
    return f"{brief(said)}{_at(failure)}"


def _at(failure: Failure) -> str:
    site = call_site(program(failure.stack))
    return f" at {short(site)}" if site else ""


def ended(rank: Rank) -> str:
    """Either as a whole sentence: `rank 1 ended with …`, `the process of rank 1 … was gone …`; or empty."""
    return f"rank {rank.rank} {told}" if (told := ending(rank)) else gone(rank)


def name(rank: Rank) -> str:
    """`rank 1 (pid 4711 on host-a)`."""
    known = [f"pid {rank.pid}" if rank.pid > 0 else "", f"on {rank.host}" if rank.host else ""]
    told = " ".join(part for part in known if part)
    return f"rank {rank.rank} ({told})" if told else f"rank {rank.rank}"


def was_in(rank: Rank) -> str:
    """What its main thread was in: `sleep_forever (train.py:13) ← main (train.py:30)`; or empty."""
    return brief(doing(rank.threads[0].stack)) if rank.threads and rank.error is None else ""


def facts(rank: Rank) -> list[str]:
    """All of it as evidence, most telling first."""
    inside = was_in(rank)
    told = [ended(rank), gone(rank) if rank.error else "", f"rank {rank.rank} was in: {inside}" if inside else ""]
    told += [f"rank {rank.rank} was told to end (SIGTERM)"] if terminated(rank) else []
    for row, said in list(rank.call_errors.items())[-1:]:
        told.append(f"rank {rank.rank}: its call of record {rank.entries.record[row]} ended with: {brief(said)}")
    if rank.by == "ring" and rank.heartbeat_ns > 0:
        told.append(f"rank {rank.rank} is read from its ring; its last sign of life is of {clock(rank.heartbeat_ns)}")
    return [fact for fact in told if fact]


def clock(ns: int) -> str:
    try:
        return utc(ns, "%H:%M:%S UTC")
    except ValueError:
        return "an impossible time"
