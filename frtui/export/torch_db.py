"""The flat database that `torchfrtrace -o` pickles, written without torch.

Its file is a pickle of (types, Database): see torch/distributed/flight_recorder/components/types.py, whose classes it
names, so that reading it needs torch 2.9 or newer. As torch does, `tracebacks` stays empty; what differs on some rank
has `pass_check` false, but not torch's own classification.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from frtui.engine.lanes import Lanes, build
from frtui.model import STATE_NAMES, Call, Job, Signature

_MODULE = b"torch.distributed.flight_recorder.components.types"
_PROTO, _STOP, _MARK, _LIST, _APPENDS = b"\x80\2", b".", b"(", b"]", b"e"
_TUPLE, _TUPLE2, _NEWOBJ = b"t", b"\x86", b"\x81"


class _Match(NamedTuple):
    """A call with all its sides: a collective on its ranks, or a send and its recv."""

    group: int
    calls: list[Call]
    expected: set[int]
    """Ranks that should have made it."""

    @property
    def agree(self) -> bool:
        """Whether all made it, and with equal arguments."""
        first = self.calls[0].signature
        same = all(call.p2p or call.signature == first for call in self.calls)
        return same and {call.rank for call in self.calls} == self.expected


def database(job: Job, ranks: Sequence[int], groups: frozenset[int]) -> bytes:
    matches = list(_matches(build(job), frozenset(ranks), groups))
    used = [job.groups[group] for group in sorted(groups)]
    ids = {group: job.groups[group].name + str(hash(frozenset(job.groups[group].ranks))) for group in groups}
    body = [
        _list(_new("Group", ids[n], group.desc, len(group.ranks)) for n, group in zip(sorted(groups), used)),
        _list(_new("Membership", ids[n], rank) for n, group in zip(sorted(groups), used) for rank in group.ranks),
        _plain([]),
        _list(_collective(job, number, match) for number, match in enumerate(matches)),
        _list(_calls(job, matches)),
    ]
    whole = _named("Database") + _MARK + b"".join(body) + _TUPLE + _NEWOBJ
    return _PROTO + _named("types") + whole + _TUPLE2 + _STOP


def _matches(lanes: Lanes, ranks: frozenset[int], groups: frozenset[int]) -> Iterator[_Match]:
    job = lanes.job
    for group in sorted(groups):
        found: dict[int, list[Call]] = {}
        for rank, lane in sorted(lanes.collectives.get(group, {}).items()):
            for row, seq in zip(lane.rows, lane.seqs) if rank in ranks else ():
                found.setdefault(seq, []).append(job.call(rank, row))
        members = set(job.groups[group].ranks) or set(ranks)
        yield from (_Match(group, calls, members) for _, calls in sorted(found.items()))
    for (group, src, dst), channel in sorted(lanes.channels.items()):
        for n, send in enumerate(channel.sends) if group in groups and {src, dst} <= ranks else ():
            taken = lanes.peer((group, src, dst), True, n)
            sides = [job.call(src, send.row)] + ([job.call(dst, taken.row)] if taken else [])
            yield _Match(group, sides, {src, dst})


def _collective(job: Job, number: int, match: _Match) -> bytes:
    call, group = match.calls[0], job.groups[match.group]
    frames = [{"name": frame.name, "filename": frame.filename, "line": frame.line} for frame in call.stack]
    return _new(
        "Collective",
        number,
        group.name,
        match.agree,
        call.seq,
        call.p2p_seq,
        call.record,
        f"{group.name}:{group.desc}" if group.desc != "undefined" else group.name,
        _profiling_name(call.signature),
        _lists(call.signature.inputs),
        _lists(call.signature.outputs),
        match.expected,
        STATE_NAMES[call.state],
        frames,
        None,
        None,
        match.expected - {one.rank for one in match.calls} or None,
    )


def _calls(job: Job, matches: Sequence[_Match]) -> Iterator[bytes]:
    number = 0
    for place, match in enumerate(matches):
        for call in match.calls:
            told = _profiling_name(call.signature), _lists(call.signature.inputs)
            matched = place if match.agree else None
            yield _new("NCCLCall", number, matched, job.groups[match.group].name, call.rank, 0, *told)
            number += 1


def _profiling_name(signature: Signature) -> str:
    """As torch writes it."""
    name = f"{signature.backend}:{signature.op}" if signature.backend else signature.op
    if signature.op == "send":
        return f"{name} {signature.src}->{signature.dst}"
    return f"{name} {signature.dst}<-{signature.src}" if signature.op == "recv" else name


def _lists(sizes: Sequence[Sequence[int]]) -> list[list[int]]:
    return [list(size) for size in sizes]


# The pickle, in pieces


def _plain(value: Any) -> bytes:
    """A value of plain types, without the frame of a pickle. Its memo is its own: nothing before it is fetched."""
    return pickle.dumps(value, 2)[len(_PROTO) : -len(_STOP)]


def _named(name: str) -> bytes:
    return b"c" + _MODULE + b"\n" + name.encode() + b"\n"


def _new(name: str, *values: Any) -> bytes:
    return _named(name) + _MARK + b"".join(map(_plain, values)) + _TUPLE + _NEWOBJ


def _list(items: Iterator[bytes]) -> bytes:
    return _LIST + _MARK + b"".join(items) + _APPENDS
