"""What the in-job recorder adds to a dump: who wrote it and why, what each thread was in, how the rank ended."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from frtui.load.columns import Faults, Stacks, integer
from frtui.load.limits import MAX_TEXT, Budget, text
from frtui.load.source import Row, Source
from frtui.model import DESTROYED, EXITED, NONE, Failure, Stack, Thread

WRITERS = ("rank", "observer", "recover", "ring")
MAX_ITEMS = 1000
"""Threads, and later reasons, that are kept."""


class Recorded(NamedTuple):
    """See `model.Rank` for those that are there, too."""

    by: str = ""
    reason: str = ""
    later_reasons: tuple[str, ...] = ()
    rank: int = NONE
    world_size: int = NONE
    host: str = ""
    pid: int = NONE
    alive: bool | None = None
    ended: str = ""
    stuck: bool = False
    opened_ns: int = NONE
    """When the recorder began, which is when the process group was made."""
    dumped_ns: int = NONE
    heartbeat_ns: int = NONE
    threads: tuple[Thread, ...] = ()
    error: Failure | None = None
    cause: Failure | None = None
    crash: Failure | None = None


def recorded(raw: Mapping[Any, Any], faults: Faults, budget: Budget) -> Recorded:
    """All of it; torch's own dumps have none."""
    found = _of_recorder(raw.get("recorder"), faults)
    stacks = Stacks(faults, budget)
    threads = _threads(raw.get("python_stacks"), stacks, faults, budget)
    error, crash = (_failure(raw.get(key), key, stacks, faults) for key in ("exception", "crash"))
    cause = _failure(_cause(raw.get("exception")), "the cause", stacks, faults)
    return found._replace(threads=threads, error=error, cause=cause, crash=crash)


def with_unresolved(rows: list[Row], more: list[Row]) -> list[Row]:
    """The entries in the order in which they were made; the recorder keeps receives from anyone apart."""
    if not more:
        return rows
    return sorted([*rows, *more], key=lambda row: n if isinstance(n := row.get("record_id"), int) else 0)


def call_errors(source: Source, faults: Faults) -> dict[int, str]:
    """By row: the text of the exception with which a call ended."""
    if not source.has("error"):
        return {}
    kinds = source.kinds(("error",))
    rows = enumerate(map(kinds.rows.__getitem__, kinds.codes))
    return {n: said for n, row in rows if "error" in row and (said := _prose(row["error"], "error", faults))}


def _of_recorder(raw: object, faults: Faults) -> Recorded:
    if raw is None:
        return Recorded()
    if not isinstance(raw, dict):
        faults.add("recorder is no dict")
        return Recorded()

    def number(key: str) -> int:
        return max(integer(raw.get(key), key, faults), NONE)

    return Recorded(
        by=_writer(raw.get("by"), faults),
        reason=_prose(raw.get("reason"), "reason", faults),
        later_reasons=_reasons(raw.get("later_reasons"), faults),
        host=_prose(raw.get("host"), "host", faults),
        alive=_flag(raw.get("alive"), "alive", faults),
        ended=_ending(raw.get("ended"), faults),
        stuck=bool(_flag(raw.get("stuck"), "stuck", faults)),
        rank=number("rank"),
        world_size=number("world_size"),
        pid=number("pid"),
        opened_ns=number("opened_ns"),
        dumped_ns=number("dumped_ns"),
        heartbeat_ns=number("heartbeat_ns"),
    )


def _writer(value: object, faults: Faults) -> str:
    if value is None or value in WRITERS:
        return str(value or "rank")
    faults.add("by is none of " + ", ".join(WRITERS))
    return "rank"


def _ending(value: object, faults: Faults) -> str:
    """A number, as the header of the ring has it; one that is not known says nothing."""
    number = integer(value, "ended", faults)
    return {1: DESTROYED, 2: EXITED}.get(number, "")


def _flag(value: object, key: str, faults: Faults) -> bool | None:
    if value is None or isinstance(value, bool):
        return value
    faults.add(f"{key} is of type {type(value).__name__}")
    return None


def _prose(value: object, key: str, faults: Faults) -> str:
    """A text for people, in one line; of one that has a whole traceback in it, what stands before and after that."""
    if isinstance(value, str):
        lead, traceback, rest = value[: 2 * MAX_TEXT].partition("Traceback (most recent call last):")
        lines = rest.strip().splitlines()
        if traceback and len(lines) > 1 and not lines[-1].lstrip().startswith("File "):
            value = f"{lead.splitlines()[0] if lead else traceback} … {lines[-1]}"
        return text(" ".join(value[: 2 * MAX_TEXT].split()))
    if value is not None:
        faults.add(f"{key} is of type {type(value).__name__}")
    return ""


def _list(value: object, key: str, faults: Faults) -> list[Any]:
    if value is None:
        return []
    if not isinstance(value, (list, tuple)):
        faults.add(f"{key} is no list")
        return []
    if len(value) > MAX_ITEMS:
        faults.add(f"{key} holds {len(value):,} items; {MAX_ITEMS:,} are kept")
    return list(value[:MAX_ITEMS])


def _reasons(value: object, faults: Faults) -> tuple[str, ...]:
    said = (_prose(item, "a later reason", faults) for item in _list(value, "later_reasons", faults))
    return tuple(reason for reason in said if reason)


def _threads(value: object, stacks: Stacks, faults: Faults, budget: Budget) -> tuple[Thread, ...]:
    rows = _list(value, "python_stacks", faults)
    budget.spend(len(rows))
    threads = [row for row in rows if isinstance(row, dict)]
    for _ in range(len(rows) - len(threads)):
        faults.add("a thread is no dict")
    return tuple(Thread(_prose(row.get("name"), "a thread's name", faults), _stack(row, stacks)) for row in threads)


def _failure(raw: object, key: str, stacks: Stacks, faults: Faults) -> Failure | None:
    if raw is None:
        return None
    if not isinstance(raw, dict):
        faults.add(f"{key} is no dict")
        return None
    kind = _prose(raw.get("type"), f"the type of {key}", faults)
    return Failure(kind or "unknown", _prose(raw.get("message"), "message", faults), _stack(raw, stacks))


def _cause(exception: object) -> object:
    return exception.get("cause") if isinstance(exception, dict) else None


def _stack(row: Row, stacks: Stacks) -> Stack:
    return [*stacks.table, ()][index] if (index := stacks.of(row)) != NONE else ()
