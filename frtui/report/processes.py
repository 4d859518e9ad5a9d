"""What the in-job recorder tells of the blamed ranks' processes: as facts, and as stacks to print."""

from __future__ import annotations

from frtui.model import NONE, Failure, Job, Rank, Stack
from frtui.report.facts import Facts
from frtui.stacks import call_site, doing, program

STACKS = 2
"""Different stacks that are printed; the JSON has all."""


def told(job: Job, rank: int) -> bool:
    """Whether the recorder wrote the dump of `rank`."""
    return rank in job.ranks and bool(job.ranks[rank].by or job.ranks[rank].threads or job.ranks[rank].error)


def facts(rank: Rank) -> Facts:
    return {
        "rank": rank.rank,
        "host": rank.host,
        "pid": _known(rank.pid),
        "by": rank.by,
        "reason": rank.reason,
        "later_reasons": list(rank.later_reasons),
        "alive": rank.alive,
        "ended": rank.ended or None,
        "dumped_ns": _known(rank.dumped_ns),
        "heartbeat_ns": _known(rank.heartbeat_ns),
        "was_in": doing(rank.threads[0].stack) or None if rank.threads else None,
        "threads": [{"name": thread.name, "frames": _frames(thread.stack)} for thread in rank.threads],
        "exception": _failure(rank.error),
        "cause": _failure(rank.cause),
        "crash": _failure(rank.crash),
    }


def _known(number: int) -> int | None:
    return None if number == NONE else number


def _failure(made: Failure | None) -> Facts | None:
    if made is None:
        return None
    site = call_site(program(made.stack))
    return {
        "type": made.type,
        "message": made.message,
        "call_site": site.place if site else None,
        "frames": _frames(made.stack),
    }


def _frames(stack: Stack) -> list[Facts]:
    own = {id(frame) for frame in program(stack)}
    return [{"name": f.name, "file": f.filename, "line": f.line, "internal": id(f) not in own} for f in stack]


def printed(processes: list[Facts]) -> list[tuple[list[int], str, list[Facts]]]:
    """(ranks, exception, frames) of each stack, equal ones once: of a rank's exception, else of its main thread."""
    alike: list[tuple[list[int], str, list[Facts]]] = []
    for process in processes:
        made = process["exception"] or next(iter(process["threads"]), None)
        if made is None or not made["frames"]:
            continue
        what = made["type"] if process["exception"] else ""
        same = next((ranks for ranks, of, frames in alike if (of, frames) == (what, made["frames"])), None)
        if same is None:
            alike.append(([process["rank"]], what, made["frames"]))
        else:
            same.append(process["rank"])
    return alike[:STACKS]
