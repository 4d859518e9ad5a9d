"""One call on every member of its group: grouped by equal arguments and call site, the minority first."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from frtui.model import NONE, Call, Job, Signature
from frtui.text import ranges
from frtui.view.index import Index
from frtui.view.words import arguments, named

NOT_JOINED, NO_DUMP, FELL_OUT, NOT_RECORDED = "not joined", "no dump", "fell out of the ring", "not recorded"
NO_MATCH = "made no matching call"
"""Said of the peer of a send or recv, which has nothing to join."""


class Same(NamedTuple):
    """Ranks that made the call alike."""

    op: str
    arguments: str
    site: str
    calls: tuple[tuple[int, int], ...]
    """(rank, row) of each, by rank."""

    @property
    def ranks(self) -> tuple[int, ...]:
        return tuple(rank for rank, _ in self.calls)


class Across(NamedTuple):
    """What became of one call on the members of its group."""

    same: tuple[Same, ...]
    """Fewest ranks first: who deviates stands on top."""
    absent: tuple[tuple[str, tuple[int, ...]], ...]
    """(why, ranks) of the members that have no such call."""


def across(index: Index, group: int, seq: int) -> Across:
    """Collective `seq` of a group, on every member."""
    found = {rank: index.row_of(rank, group, seq) for rank in index.job.groups[group].ranks}
    absent = {rank: why_absent(index, rank, group, seq) for rank, row in found.items() if row == NONE}
    return Across(alike(index, [(rank, row) for rank, row in found.items() if row != NONE]), by_reason(absent))


def across_p2p(index: Index, call: Call) -> Across:
    """A send, a recv or a batch of them beside the calls of its peers that answer it."""
    job, here, absent = index.job, {call.rank: call.row}, {}
    peers = [other_side(job, call, signature) for signature in call.signature.parts or (call.signature,)]
    found = answers(index, call, peers)
    for peer in dict.fromkeys(peers):
        row = found.get(peer)
        if peer in (NONE, call.rank):
            continue
        if row is None:
            absent[peer] = NO_DUMP if peer in index.missing else NO_MATCH
        elif row == NONE:
            absent[peer] = FELL_OUT
        else:
            here[peer] = row
    return Across(alike(index, sorted(here.items())), by_reason(absent))


def alike(index: Index, calls: list[tuple[int, int]]) -> tuple[Same, ...]:
    kinds: dict[tuple[int, str], list[tuple[int, int]]] = {}
    for rank, row in calls:
        e = index.job.ranks[rank].entries
        kinds.setdefault((e.signature[row], index.site(e.stack[row])), []).append((rank, row))
    same = []
    for (signature, site), those in kinds.items():
        first = index.job.call(*those[0])
        shown = index.job.signatures[signature]
        op = "batch" if len(shown.parts) > 1 else named(index.job, first.group, shown.only)
        same.append(Same(op, arguments(shown), site, tuple(those)))
    return tuple(sorted(same, key=lambda kind: len(kind.calls)))


def by_reason(absent: dict[int, str]) -> tuple[tuple[str, tuple[int, ...]], ...]:
    reasons = dict.fromkeys(absent.values())
    return tuple((why, tuple(rank for rank, reason in absent.items() if reason == why)) for why in reasons)


def why_absent(index: Index, rank: int, group: int, seq: int) -> str:
    """Why a member's dump does not hold collective `seq` of a group."""
    if rank in index.missing:
        return NO_DUMP
    data = index.job.ranks[rank]
    if index.last_seq(rank, group) < seq:
        return NOT_RECORDED if data.truncated else NOT_JOINED
    first = index.first_seq(rank, group)
    return FELL_OUT if data.wrapped and (first == NONE or seq < first) else NOT_RECORDED


def other_side(job: Job, call: Call, signature: Signature) -> int:
    src, dst = job.endpoints(call.group, signature)
    return dst if src == call.rank else src


def answers(index: Index, call: Call, peers: Iterable[int]) -> dict[int, int]:
    """The row of each peer that answers a send, a recv or a batch; NONE where it fell out of the peer's ring."""
    from frtui.engine import lanes  # not above, as in `Index`

    ranks = frozenset({call.rank, *peers} & index.job.ranks.keys())
    of = index.keep(("lanes", ranks), lambda: lanes.build(index.job, ranks=ranks))
    found: dict[int, int] = {}
    for key, sending, n in of.parts(call.rank, call.row):
        peer = key[2] if sending else key[1]
        part = of.peer(key, sending, n)
        if part is not None and found.get(peer, NONE) == NONE:
            found[peer] = part.row
        elif part is None and of.lost(key, sending, n):
            found.setdefault(peer, NONE)
    return found


def sentence(view: Across) -> str:
    """`3 ranks [4096] bf16 · 1 rank [4128] bf16 · rank 7 not joined`."""
    kinds: dict[str, int] = {}
    for same in view.same:
        told = same.arguments or same.op
        kinds[told] = kinds.get(told, 0) + len(same.calls)
    parts = [f"{n} {'rank' if n == 1 else 'ranks'} {told}" for told, n in kinds.items()]
    parts += [f"{'rank' if len(r) == 1 else 'ranks'} {ranges(r)} {why}" for why, r in view.absent]
    return " · ".join(parts)
