"""The flat database that `torchfrtrace -o` pickles, written without torch.

Its file is a pickle of (types, Database): see torch/distributed/flight_recorder/components/types.py, whose classes it
names, so that reading it needs torch 2.9 or newer. As torch does, `tracebacks` stays empty; what differs on some rank
has `pass_check` false, but not torch's own classification. Missing is only who surely did not make a call: not a rank
that wasn't selected, left no dump, or whose ring no longer holds it.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from frtui.engine.agree import argument_key, dtypes_recorded, unknown_content
from frtui.engine.lanes import ChannelKey, Lanes, build
from frtui.model import STATE_NAMES, Call, Job, Signature
from frtui.view.across import NOT_JOINED, why_absent
from frtui.view.index import Index

_MODULE = b"torch.distributed.flight_recorder.components.types"
_PROTO, _STOP, _MARK, _LIST, _APPENDS = b"\x80\2", b".", b"(", b"]", b"e"
_TUPLE, _TUPLE2, _NEWOBJ = b"t", b"\x86", b"\x81"


class _Match(NamedTuple):
    """A call with all its sides: a collective on its ranks, or a send and its recv."""

    group: int
    calls: list[Call]
    members: set[int]
    """Ranks that take part in such a call."""
    missing: set[int]
    """Those of them that surely did not make it."""
    alike: bool
    """Whether all gave equal arguments."""

    @property
    def agree(self) -> bool:
        return self.alike and not self.missing


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
    index, dtypes = Index(lanes.job), dtypes_recorded(lanes.job)
    for group in sorted(groups):
        for number, calls in sorted(_collectives(lanes, ranks, group).items()):
            members = set(lanes.job.groups[group].ranks) or set(ranks)
            without = (members & ranks).difference(call.rank for call in calls)
            missing = {rank for rank in without if why_absent(index, rank, group, number) == NOT_JOINED}
            yield _Match(group, calls, members, missing, _alike(calls, dtypes))
    for key in sorted(lanes.channels):
        if key[0] in groups and ranks.issuperset(key[1:]):
            yield from _sends(lanes, key)


def _collectives(lanes: Lanes, ranks: frozenset[int], group: int) -> dict[int, list[Call]]:
    """The calls of a group by number."""
    found: dict[int, list[Call]] = {}
    for rank, lane in sorted(lanes.collectives.get(group, {}).items()):
        for row, seq in zip(lane.rows, lane.seqs) if rank in ranks else ():
            found.setdefault(seq, []).append(lanes.job.call(rank, row))
    return found


def _alike(calls: Sequence[Call], dtypes: bool) -> bool:
    """Whether what must be equal on all ranks is."""
    first = calls[0].signature
    if all(call.signature == first for call in calls):  # nearly always, and the keys take their time
        return True
    signatures = (call.signature for call in calls if not unknown_content(call.signature))
    return len({argument_key(signature, dtypes) for signature in signatures}) <= 1


def _sends(lanes: Lanes, key: ChannelKey) -> Iterator[_Match]:
    job, (group, src, dst) = lanes.job, key
    for n, send in enumerate(lanes.channels[key].sends):
        taken = lanes.peer(key, True, n)
        sides = [job.call(src, send.row)] + ([job.call(dst, taken.row)] if taken else [])
        lost = job.ranks[dst].truncated or lanes.lost(key, True, n)
        yield _Match(group, sides, {src, dst}, set() if taken or lost else {dst}, True)


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
        match.members,
        STATE_NAMES[call.state],
        frames,
        None,
        None,
        match.missing or None,
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
