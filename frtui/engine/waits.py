"""Who waits for whom: the wait-for graph, its roots, and what follows from each.

Nodes are ranks and the calls that they are stuck in. A rank points to its call, a call to the
members that keep it from finishing. What points nowhere is a root: an idle rank, a rank without a
dump, or a call that everybody joined. A cycle that nothing leaves is a deadlock.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple, Union

from frtui.engine.agree import canonical
from frtui.engine.lanes import Lanes, Part
from frtui.model import STARTED, Rank


class Standing(Enum):
    """Where a member stands in one call of its group."""

    DONE = "done"
    JOINED = "joined"
    QUEUED = "queued"  # enqueued behind an earlier call that is stuck
    ABSENT = "absent"
    NO_DUMP = "no dump"
    UNKNOWN = "unknown"


class StuckCall(NamedTuple):
    """A collective, named by group and seq; a point-to-point call, which belongs to one rank, by its row."""

    group: int
    seq: int
    p2p: bool = False
    rank: int = -1
    row: int = -1


Node = Union[int, StuckCall]

# Operations that nobody finishes before all have joined: one member's `completed` proves the others' part.
SYNCHRONISING = frozenset(
    {"all_reduce", "allreduce", "all_gather", "allgather", "all_gather_base", "reduce_scatter", "reduce_scatter_base"}
    | {"all_to_all", "alltoall", "barrier", "all_reduce_barrier"}
)


STALE_CALLS = 2
"""So many calls that others finished and one rank still shows as open are more than a late poll."""


@dataclass
class Waits:
    """The wait-for graph of a job."""

    lanes: Lanes
    heads: dict[int, list[int]]
    """rank -> rows of the calls it is stuck in: on a device the oldest, which blocks the later ones."""
    stale: dict[int, list[int]]
    """rank -> rows that it shows as open although other members finished them."""
    edges: dict[Node, list[Node]]

    def standing(self, rank: int, call: StuckCall) -> Standing:
        """Where `rank` stands in a collective of one of its groups."""
        dump = self.lanes.job.ranks.get(rank)
        if dump is None:
            return Standing.NO_DUMP
        lane = self.lanes.lane(call.group, rank)
        row = lane.row(call.seq) if lane else None
        if row is None:
            return self._unrecorded(dump, call)
        if dump.entries.done[row] or row in self.stale[rank] or row not in self.lanes.open[rank]:
            return Standing.DONE
        return Standing.JOINED if self.joined(rank, row) else Standing.QUEUED

    def _unrecorded(self, dump: Rank, call: StuckCall) -> Standing:
        """The ring lacks the call: it fell out, was left out of the dump, or was never made."""
        lane = self.lanes.lane(call.group, dump.rank)
        if _past(self.lanes, dump, call.group, call.seq):
            return Standing.DONE
        gap = lane is not None and call.seq < lane.last
        return Standing.UNKNOWN if gap or dump.truncated else Standing.ABSENT

    def joined(self, rank: int, row: int) -> bool:
        """Whether the rank is in that call: it is stuck there, or its device has begun (known where timing was on)."""
        return row in self.heads[rank] or self.lanes.job.ranks[rank].entries.state[row] == STARTED

    def peers(self, call: StuckCall) -> dict[int, Standing]:
        """rank -> standing, for every rank that takes part in a stuck call."""
        if not call.p2p:
            return {r: self.standing(r, call) for r in self.lanes.job.groups[call.group].ranks}
        found = {call.rank: Standing.JOINED}
        for key, sending, n in self.lanes.parts(call.rank, call.row):
            peer = key[2] if sending else key[1]
            standing = self._peer_standing(peer, self.lanes.peer(key, sending, n))
            if found.get(peer) not in (Standing.ABSENT, Standing.QUEUED, Standing.NO_DUMP):
                found[peer] = standing
        return found

    def _peer_standing(self, peer: int, part: Part | None) -> Standing:
        dump = self.lanes.job.ranks.get(peer)
        if dump is None:
            return Standing.NO_DUMP
        if part is None:
            return Standing.UNKNOWN if dump.truncated else Standing.ABSENT
        row = part.row
        if dump.entries.done[row] or row not in self.lanes.open[peer]:
            return Standing.DONE
        return Standing.JOINED if self.joined(peer, row) else Standing.QUEUED

    def partner_calls(self, call: StuckCall) -> list[StuckCall]:
        """The other ranks' calls that hold the other half of each part, of those that joined."""
        found = []
        for key, sending, n in self.lanes.parts(call.rank, call.row):
            peer = key[2] if sending else key[1]
            part = self.lanes.peer(key, sending, n)
            if part is not None and peer != call.rank and self._peer_standing(peer, part) is Standing.JOINED:
                found.append(self.call(peer, part.row))
        return found

    def call(self, rank: int, row: int) -> StuckCall:
        e = self.lanes.job.ranks[rank].entries
        if e.p2p[row]:
            return StuckCall(e.group[row], e.p2p_seq[row], True, rank, row)
        return StuckCall(e.group[row], e.seq[row])

    def row(self, rank: int, call: StuckCall) -> int | None:
        """Row in which `rank` made the call; None where it did not, or where the ring lacks it."""
        if call.p2p:
            return call.row if rank == call.rank else None
        lane = self.lanes.lane(call.group, rank)
        return lane.row(call.seq) if lane else None


def build(lanes: Lanes) -> Waits:
    """The graph of a job's stuck calls."""
    known: dict[tuple[int, int], bool] = {}
    stale = {rank: _finished_by_others(lanes, rank, known) for rank in lanes.job.ranks}
    # A rank that no longer notices what its peers finish waits for nobody: whatever it shows is old.
    heads = {rank: [] if len(rows) >= STALE_CALLS else _heads(lanes, rank, rows) for rank, rows in stale.items()}
    waits = Waits(lanes, heads, stale, {})
    for rank, rows in heads.items():
        waits.edges[rank] = [waits.call(rank, row) for row in rows]
    for call in {c for targets in list(waits.edges.values()) for c in targets if isinstance(c, StuckCall)}:
        blocking = (Standing.ABSENT, Standing.QUEUED, Standing.NO_DUMP, Standing.UNKNOWN)
        waits.edges[call] = [r for r, standing in waits.peers(call).items() if standing in blocking]
    _hold_batches(waits)
    for rank in lanes.job.world:
        waits.edges.setdefault(rank, [])
    return waits


def _hold_batches(waits: Waits) -> None:
    """A send waits for its recv also where that is made, in a batch that something else keeps from finishing."""
    calls = [node for node in waits.edges if isinstance(node, StuckCall) and node.p2p]
    held = {call: waits.partner_calls(call) for call in calls}
    changed = True
    while changed:
        changed = False
        for call, partners in held.items():
            for partner in partners:
                if waits.edges.get(partner) and partner.rank not in waits.edges[call]:
                    waits.edges[call].append(partner.rank)
                    changed = True


def _finished_by_others(lanes: Lanes, rank: int, known: dict[tuple[int, int], bool]) -> list[int]:
    """Rows that the rank shows as open although another member finished the call.

    `known` keeps what was found out for each (group, number): all members ask the same.
    """
    e = lanes.job.ranks[rank].entries
    rows = []
    for row in lanes.open[rank]:
        if e.p2p[row] or canonical(lanes.job.signatures[e.signature[row]].op) not in SYNCHRONISING:
            continue
        call = e.group[row], e.seq[row]
        if call not in known:
            known[call] = any(_finished(lanes, other, *call) for other in lanes.job.groups[call[0]].ranks)
        rows += [row] if known[call] else []
    return rows


def _finished(lanes: Lanes, rank: int, group: int, seq: int) -> bool:
    dump = lanes.job.ranks.get(rank)
    if dump is None:
        return False
    lane = lanes.lane(group, rank)
    row = lane.row(seq) if lane else None
    return bool(dump.entries.done[row]) if row is not None else _past(lanes, dump, group, seq)


def _past(lanes: Lanes, dump: Rank, group: int, seq: int) -> bool:
    """Whether a call that the ring lacks was finished: it fell out, or only open ones were dumped.

    pg_status decides only where the ring holds no finished call (only-active or empty dumps) and the group
    passes no sends and recvs, which its numbers count as well.
    """
    lane = lanes.lane(group, dump.rank)
    if lane and seq < lane.first:
        return True
    status = None if group in lanes.passing else dump.status.get(group)
    return bool(status and status.completed >= seq and not any(dump.entries.done))


def _heads(lanes: Lanes, rank: int, stale: list[int]) -> list[int]:
    """The calls a rank is stuck in. gloo works each group off for itself, a device all in order."""
    e = lanes.job.ranks[rank].entries
    rows = [row for row in lanes.open[rank] if row not in stale]
    firsts: dict[int, int] = {}
    for row in rows:
        firsts.setdefault(e.group[row], row)
    if all(lanes.job.signatures[e.signature[row]].backend == "gloo" for row in rows):
        return list(firsts.values())
    return rows[:1]
