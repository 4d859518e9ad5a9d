"""Which of two dumps of one rank holds more: what a writer has to know before it replaces a file.

Newer isn't enough: a ring that is read after the process has died ends at the same call as the dump made when it
hung, but has lost the stacks of its threads.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


def is_poorer(new: Mapping[str, Any], old: Mapping[str, Any]) -> bool:
    """True when `new` must not take the place of `old`, a dump of the same rank.

    From one ring: it ends earlier, or at the same call and has fewer entries, stacks of calls or stacks of threads.
    From two recorders of one process: it has fewer. From another process: it is older, or it is empty and may be of
    the same process after all.
    """
    mine, its = _extent(new), _extent(old)
    if _same_ring(new, old):
        return mine.last_ns < its.last_ns or (mine.last_ns == its.last_ns and mine.lacks(its))
    same = _same_process(new, old)
    if same or (same is None and its.entries and not mine.entries):
        return mine.lacks(its)
    return mine.moment_ns < its.moment_ns


def holds(new: Mapping[str, Any], old: Mapping[str, Any]) -> bool:
    """True when nothing is lost when `new` replaces `old`, but what fell out of the ring since."""
    return _same_ring(new, old) and not _extent(new).lacks(_extent(old))


class _Extent(NamedTuple):
    entries: int
    last_ns: int
    """When the newest call was made. Not its record_id: dumps that are merged from two rings number anew."""
    framed: int
    """Entries that have a stack."""
    threads: int
    """Threads whose Python stacks are there; those that faulthandler wrote may have no frames."""
    exception: bool
    incident: bool
    """Something went wrong, and nobody merely asked."""
    moment_ns: int
    """When the dump was made, or else its newest call."""

    def lacks(self, other: _Extent) -> bool:
        return (
            self.entries < other.entries
            or self.framed < other.framed
            or self.threads == 0 < other.threads
            or self.exception < other.exception
            or self.incident < other.incident
        )


def _extent(dump: Mapping[str, Any]) -> _Extent:
    entries = _entries(dump)
    last = max(_times(dump), default=0)
    dumped = _header(dump).get("dumped_ns")
    framed = sum(bool(entry.get("frames")) for entry in entries)
    incident = _header(dump).get("demanded") is False
    moment = dumped if isinstance(dumped, int) else last
    return _Extent(len(entries), last, framed, _threads(dump), bool(dump.get("exception")), incident, moment)


def _threads(dump: Mapping[str, Any]) -> int:
    threads = dump.get("python_stacks")
    return sum(isinstance(t, dict) and bool(t.get("frames")) for t in threads) if isinstance(threads, list) else 0


def _entries(dump: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Whatever else a foreign file has there is left out."""
    entries = dump.get("entries")
    return [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []


def _times(dump: Mapping[str, Any]) -> set[int]:
    created = (entry.get("time_created_ns") for entry in _entries(dump))
    return {time for time in created if isinstance(time, int)}


def _header(dump: Mapping[str, Any]) -> Mapping[str, Any]:
    header = dump.get("recorder")
    return header if isinstance(header, dict) else {}


def _same_ring(new: Mapping[str, Any], old: Mapping[str, Any]) -> bool:
    """By a call that both have; torch's own files say nothing else of where they are from."""
    if _times(new) & _times(old):
        return True
    return _same_source(new, old) and _same_process(new, old) is True


def _same_source(new: Mapping[str, Any], old: Mapping[str, Any]) -> bool:
    return bool(_header(new).get("source") == _header(old).get("source"))


def _same_process(new: Mapping[str, Any], old: Mapping[str, Any]) -> bool | None:
    """None where nothing tells: in containers all ranks may have the same pid, and torch's own files give none."""
    mine, its = _header(new), _header(old)
    known = [key for key in ("pid", "host", "opened_ns") if mine.get(key) and its.get(key)]
    if any(mine[key] != its[key] for key in known):
        return False
    if "pid" in known:
        return True
    opened = mine.get("opened_ns")
    older = isinstance(opened, int) and 0 < max(_times(old), default=0) < opened
    return False if older else None
