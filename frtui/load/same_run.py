"""Whether what lies in a folder is of one run: the recorder's dumps, and its rings of ranks that left none.

A ring outlives its process, so that yesterday's may lie beside today's dumps: its last call would stand there as if the
rank were stuck in it. What tells is time: a process that is part of a run shows signs of life while the run goes on.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from frtui.load.found import Found
from frtui.load.normalise import Dump
from frtui.model import NONE, Problem
from frtui.text import clean, utc

_SECOND = 1_000_000_000
CLOCKS_NS = 60 * _SECOND
"""Clocks of one cluster are closer than this, and so are the ranks when they make their process group."""
UNSURE_NS = 3600 * _SECOND
"""Where nothing says when a run began, only its oldest recorded call: a rank may have died so long before that."""


class Span(NamedTuple):
    """From when to when something is known to have run; NONE where that isn't known."""

    first: int
    last: int
    exact: bool
    """`first` is when the recorder began, not just the oldest call that a ring still held."""
    world_size: int


def take_out_old_rings(dumps: dict[int, Dump], files: dict[int, Found]) -> list[Problem]:
    """Take the rings of another run out of both, and say which; also which may be of another run."""
    rings = [rank for rank, dump in dumps.items() if dump.recorded.by == "ring"]
    if not rings or len(dumps) < 2:
        return []
    spans = {rank: _span(dump, files[rank]) for rank, dump in dumps.items()}
    rings.sort(key=lambda rank: (-spans[rank].last, rank))
    sure = [rank for rank in dumps if rank not in set(rings)] or [rings.pop(0)]
    run = spans[sure[0]]
    for rank in sure[1:]:
        run = _hull(run, spans[rank])
    problems = []
    for rank in rings:
        gap, limit = _apart(run, spans[rank])
        other_size = NONE not in (run.world_size, spans[rank].world_size) and run.world_size != spans[rank].world_size
        if gap > limit or other_size:
            problems.append(_problem(files.pop(rank), spans[rank], run, other_size))
            del dumps[rank]
        elif gap > CLOCKS_NS:
            problems.append(_doubt(files[rank], spans[rank], gap))
        else:
            run = _hull(run, spans[rank])
    return sorted(problems, key=lambda problem: problem.rank or 0)


def take_out_other_sizes(dumps: dict[int, Dump], files: dict[int, Found]) -> list[Problem]:
    """Take dumps of runs of another size than the newest dump's out of both, and say which.

    Only where all ranks of the newest run are here: a single dump that says something odd turns no others out.
    """
    sizes = {rank: dump.recorded.world_size for rank, dump in dumps.items() if dump.recorded.by not in ("", "ring")}
    newest = sizes[max(sizes, key=lambda rank: _written(dumps[rank], files[rank]))] if sizes else NONE
    here = [rank for rank, size in sizes.items() if size == newest]
    if len(here) != newest or max(here) >= newest:
        return []
    problems = []
    for rank, size in sizes.items():
        if size not in (NONE, newest):
            told = f"left by another run, of {size} ranks, and the newest dump is of one of {newest}"
            detail = f"{told}; not used. Give each run a folder of its own"
            problems.append(Problem(clean(files.pop(rank).name), rank, "old-dump", detail))
            del dumps[rank]
    return problems


def outdated(dumps: Mapping[int, Dump], files: Mapping[int, Found]) -> set[int]:
    """Ranks whose dump is much older than the newest: it may be of an earlier run, and a newer ring lie beside it."""
    written = {rank: _written(dump, files[rank]) for rank, dump in dumps.items()}
    newest = max(written.values(), default=0)
    return {rank for rank, at in written.items() if 0 < at < newest - CLOCKS_NS}


def replace_outdated(old: Dump, file: Found, ring: Dump, ring_file: Found) -> Problem | None:
    """The problem to tell when `ring` began after `old` was written, and so has to take its place; else None."""
    written = _written(old, file)
    if ring.recorded.opened_ns <= written:
        return None
    told = f"left by an earlier run, at {_time(written)}; this run began at {_time(ring.recorded.opened_ns)}"
    return Problem(clean(file.name), file.rank, "old-dump", f"{told}: {clean(ring_file.name)} was read in its place")


def _written(dump: Dump, file: Found) -> int:
    told = dump.recorded
    return told.heartbeat_ns if told.by == "ring" else told.dumped_ns if told.dumped_ns > 0 else file.mtime_ns


def _span(dump: Dump, file: Found) -> Span:
    told, created = dump.recorded, dump.entries.created
    oldest = next((at for at in created if at > 0), NONE)
    written = _written(dump, file)
    exact = told.opened_ns > 0
    return Span(told.opened_ns if exact else oldest, max([written, *created[-1:]]), exact, told.world_size)


def _hull(run: Span, more: Span) -> Span:
    both = [span for span in (run, more) if span.first > 0]
    first = min(both, key=lambda span: span.first, default=run)
    size = run.world_size if run.world_size != NONE else more.world_size
    return Span(first.first, max(run.last, more.last), first.exact, size)


def _apart(run: Span, ring: Span) -> tuple[int, int]:
    """(the gap between a ring and the run, how long it may be), in nanoseconds."""
    if run.first > ring.last > 0:
        return run.first - ring.last, CLOCKS_NS if run.exact else UNSURE_NS
    if 0 < run.last < ring.first:
        return ring.first - run.last, CLOCKS_NS if ring.exact else UNSURE_NS
    return 0, CLOCKS_NS


def _problem(file: Found, ring: Span, run: Span, other_size: bool) -> Problem:
    if other_size:
        told = f"of {ring.world_size} ranks, and this one has {run.world_size}"
    elif ring.last < run.first:
        told = f"that ended at {_time(ring.last)}, {_long(run.first - ring.last)} before the other dumps begin"
    else:
        told = f"that began at {_time(ring.first)}, {_long(ring.first - run.last)} after the other dumps end"
    detail = f"left by another run, {told}; not used. Give it alone to see it"
    return Problem(clean(file.name), file.rank, "old-ring", detail)


def _doubt(file: Found, ring: Span, gap: int) -> Problem:
    detail = f"its last sign of life is of {_time(ring.last)}, {_long(gap)} apart from the other dumps: "
    return Problem(clean(file.name), file.rank, "old-ring", detail + "it may be of another run; used all the same")


def _time(ns: int) -> str:
    try:
        return utc(ns // _SECOND * _SECOND, "%Y-%m-%d %H:%M:%S UTC")
    except ValueError:
        return "an impossible time"


def _long(ns: int) -> str:
    seconds = ns // _SECOND
    for unit, name in ((86_400, "days"), (3600, "h"), (60, "min")):
        if seconds >= 2 * unit:
            return f"{seconds // unit:,} {name}"
    return f"{seconds} s"
