"""A timeline in Chrome's trace event format, which ui.perfetto.dev and chrome://tracing open.

A process a rank, a thread a process group, and one for its sends and recvs. torch records when a call was enqueued and
when its end was noticed, and a group's calls run one after the other: a slice begins when its call was enqueued, or
when the call before it ended. The first unfinished call lasts until the newest time of any selected rank; what is
queued behind it is a mark. Arrows join a collective on all its ranks. Each rank's times are those of its own clock.

The format: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from frtui import __version__
from frtui.model import NONE, Call, Job
from frtui.stacks import call_site
from frtui.view.words import arguments, operation

Event = dict[str, Any]

_SHORTEST = 1000
"""Nanoseconds of a slice whose end is not known: an arrow needs one to hold on to."""


class _Slice(NamedTuple):
    call: Call
    start: int
    end: int
    """Nanoseconds since the epoch; a mark where it is NONE."""


def trace(job: Job, ranks: Sequence[int], groups: frozenset[int]) -> Iterator[bytes]:
    """One JSON object, an event a line, made as it is written: a large job has millions."""
    first, last = _span(job, ranks)
    other = json.dumps({"source": job.source, "frtui": __version__, "begins_ns": first})
    yield f'{{"displayTimeUnit":"ms","otherData":{other},"traceEvents":[\n'.encode()
    lead = ""
    for event in _events(job, ranks, groups, first, last):
        yield (lead + json.dumps(event, separators=(",", ":"))).encode()
        lead = ",\n"
    yield b"\n]}\n"


def _span(job: Job, ranks: Sequence[int]) -> tuple[int, int]:
    """The first and the last time that is recorded."""

    def times() -> Iterator[int]:
        for rank in ranks:
            e = job.ranks[rank].entries
            yield from (time for column in (e.created, e.completed) for time in column if time > 0)

    return min(times(), default=0), max(times(), default=0)


def _events(job: Job, ranks: Sequence[int], groups: frozenset[int], first: int, last: int) -> Iterator[Event]:
    joined: dict[tuple[int, int], list[tuple[float, int]]] = {}
    for rank in ranks:
        yield from _names(job, rank)
        for (group, p2p), calls in _lanes(job, rank, groups).items():
            label = {"name": job.groups[group].label + (" send/recv" if p2p else "")}
            yield {"ph": "M", "name": "thread_name", "pid": rank, "tid": _track(group, p2p), "args": label}
            for one in _slices(calls, last):
                event = _event(job, one, first)
                yield event
                if one.end != NONE and not one.call.p2p and one.call.seq != NONE:
                    joined.setdefault((group, one.call.seq), []).append((event["ts"], rank))
    for number, ((group, seq), places) in enumerate(joined.items()):
        yield from _arrows(f"{job.groups[group].label} #{seq}", number, group, sorted(places))


def _names(job: Job, rank: int) -> Iterator[Event]:
    host = job.ranks[rank].host
    named = {"name": f"rank {rank}" + (f" on {host}" if host else "")}
    yield {"ph": "M", "name": "process_name", "pid": rank, "args": named}
    yield {"ph": "M", "name": "process_sort_index", "pid": rank, "args": {"sort_index": rank}}


def _track(group: int, p2p: bool) -> int:
    return 2 * group + 1 + p2p


def _lanes(job: Job, rank: int, groups: frozenset[int]) -> dict[tuple[int, bool], list[Call]]:
    lanes: dict[tuple[int, bool], list[Call]] = {}
    for call in job.calls(rank):
        if call.group in groups:
            lanes.setdefault((call.group, call.p2p), []).append(call)
    return lanes


def _slices(calls: Sequence[Call], last: int) -> Iterator[_Slice]:
    """The calls of a rank in a group, of which no two overlap. What precedes a finished call is finished."""
    free, blocked = 0, False
    finished = max((n for n, call in enumerate(calls) if call.done), default=-1)
    for number, call in enumerate(calls):
        start = max(call.created, free)
        if number > finished:
            yield _Slice(call, start, NONE if blocked else max(last, start + _SHORTEST))
            blocked = True
            continue
        length = int(call.duration * 1e6) if call.duration > 0 else 0
        end = max(start + _SHORTEST, call.completed if call.completed > 0 else call.created + length)
        yield _Slice(call, start, end)
        free = end


def _event(job: Job, one: _Slice, first: int) -> Event:
    call = one.call
    site = call_site(call.stack)
    told = {
        "group": job.groups[call.group].label,
        "collective_seq_id": call.seq,
        "p2p_seq_id": call.p2p_seq,
        "record_id": call.record,
        "arguments": arguments(call.signature),
        "finished": call.done,
        "call_site": site.place if site else None,
        "stack": [f"{frame.name} {frame.place}" for frame in call.stack],
    }
    common = {
        "name": operation(job, call.group, call.signature),
        "cat": call.signature.backend or "call",
        "pid": call.rank,
        "tid": _track(call.group, call.p2p),
        "ts": (one.start - first) / 1e3 if one.start > 0 else 0.0,
        "args": {name: value for name, value in told.items() if value not in (NONE, None, [])},
    }
    if one.end == NONE:
        return {**common, "ph": "i", "s": "t"}
    return {**common, "ph": "X", "dur": (one.end - one.start) / 1e3}


def _arrows(name: str, number: int, group: int, places: Sequence[tuple[float, int]]) -> Iterator[Event]:
    """From the rank that enqueued a collective first, through the others, to the last."""
    if len(places) < 2:
        return
    for at, (ts, rank) in enumerate(places):
        phase = "s" if at == 0 else "f" if at == len(places) - 1 else "t"
        event = {
            "ph": phase,
            "cat": "collective",
            "name": name,
            "id": number,
            "pid": rank,
            "tid": _track(group, False),
            "ts": ts,
        }
        yield {**event, "bp": "e"} if phase == "f" else event
