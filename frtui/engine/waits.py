"""Who waits for whom: the wait-for graph, its roots, and what follows from each.

Nodes are ranks and the calls that they are stuck in. A rank points to its call, a call to the
members that keep it from finishing. What points nowhere is a root: an idle rank, a rank without a
dump, or a call that everybody joined. A cycle that nothing leaves is a deadlock.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple, Union

from frtui.engine.agree import canonical
from frtui.engine.lanes import Lane, Lanes, started
from frtui.model import Rank


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
        if _past(dump, lane, call.group, call.seq):
            return Standing.DONE
        gap = lane is not None and call.seq < lane.last
        return Standing.UNKNOWN if gap or dump.truncated else Standing.ABSENT

    def joined(self, rank: int, row: int) -> bool:
        return row in self.heads[rank] or started(self.lanes.job, rank, row)

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

    def _peer_standing(self, peer: int, part: object) -> Standing:
        dump = self.lanes.job.ranks.get(peer)
        if dump is None:
            return Standing.NO_DUMP
        row = getattr(part, "row", None)
        if row is None:
            return Standing.UNKNOWN if dump.truncated else Standing.ABSENT
        if dump.entries.done[row] or row not in self.lanes.open[peer]:
            return Standing.DONE
        return Standing.JOINED if self.joined(peer, row) else Standing.QUEUED

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
    stale = {rank: _finished_by_others(lanes, rank) for rank in lanes.job.ranks}
    # A rank that no longer notices what its peers finish waits for nobody: whatever it shows is old.
    heads = {rank: [] if len(rows) >= STALE_CALLS else _heads(lanes, rank, rows) for rank, rows in stale.items()}
    waits = Waits(lanes, heads, stale, {})
    for rank, rows in heads.items():
        waits.edges[rank] = [waits.call(rank, row) for row in rows]
    for call in {c for targets in list(waits.edges.values()) for c in targets if isinstance(c, StuckCall)}:
        blocking = (Standing.ABSENT, Standing.QUEUED, Standing.NO_DUMP, Standing.UNKNOWN)
        waits.edges[call] = [r for r, standing in waits.peers(call).items() if standing in blocking]
    for rank in lanes.job.world:
        waits.edges.setdefault(rank, [])
    return waits


def _finished_by_others(lanes: Lanes, rank: int) -> list[int]:
    e = lanes.job.ranks[rank].entries
    rows = []
    for row in lanes.open[rank]:
        op = canonical(lanes.job.signatures[e.signature[row]].op)
        if not e.p2p[row] and op in SYNCHRONISING and _finished_somewhere(lanes, rank, e.group[row], e.seq[row]):
            rows.append(row)
    return rows


def _finished_somewhere(lanes: Lanes, rank: int, group: int, seq: int) -> bool:
    for other in lanes.job.groups[group].ranks:
        dump = lanes.job.ranks.get(other)
        if dump is None or other == rank:
            continue
        lane = lanes.lane(group, other)
        row = lane.row(seq) if lane else None
        if dump.entries.done[row] if row is not None else _past(dump, lane, group, seq):
            return True
    return False


def _past(dump: Rank, lane: Lane | None, group: int, seq: int) -> bool:
    """Whether a call that the ring lacks was finished: it fell out, or only open ones were dumped.

    pg_status decides only where the ring holds no finished call (only-active or empty dumps): elsewhere
    its numbers may count sends and recvs as well.
    """
    if lane and seq < lane.first:
        return True
    status = dump.status.get(group)
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


@dataclass(frozen=True)
class Root:
    """One strongly connected part of the graph that nothing leaves: an independent cause."""

    ranks: tuple[int, ...]
    calls: tuple[StuckCall, ...]
    waiting: tuple[int, ...]
    """Ranks that reach it, without its own."""
    via: tuple[tuple[int, int], ...]
    """(waiting rank, the rank it waits for on its shortest way to the root)."""

    @property
    def idle(self) -> bool:
        return not self.calls


def roots(waits: Waits) -> list[Root]:
    """The roots that somebody is stuck in or waits for."""
    components = _components(waits.edges)
    member = {node: n for n, component in enumerate(components) for node in component}
    leaving = {member[a] for a, targets in waits.edges.items() for b in targets if member[a] != member[b]}
    backwards: dict[Node, list[Node]] = {}
    for a, targets in waits.edges.items():
        for b in targets:
            backwards.setdefault(b, []).append(a)
    found = []
    for n, component in enumerate(components):
        if n not in leaving and any(node in backwards for node in component):
            found.append(_root(component, backwards))
    return found


def _root(component: list[Node], backwards: dict[Node, list[Node]]) -> Root:
    ranks = {node for node in component if isinstance(node, int)}
    calls = sorted(node for node in component if isinstance(node, StuckCall))
    if not ranks:  # a call in flight: the ranks that are in it are not its consequences
        ranks = {node for call in calls for node in backwards[call] if isinstance(node, int)}
    seen: set[Node] = set(component) | ranks
    queue: deque[tuple[Node, int | None]] = deque((node, node if isinstance(node, int) else None) for node in seen)
    waiting, via = [], []
    while queue:
        node, towards = queue.popleft()
        for before in backwards.get(node, ()):
            if before in seen:
                continue
            seen.add(before)
            if isinstance(before, int):
                waiting.append(before)
                if towards is not None:
                    via.append((before, towards))
            queue.append((before, before if isinstance(before, int) else towards))
    return Root(tuple(sorted(ranks)), tuple(calls), tuple(sorted(waiting)), tuple(sorted(via)))


def _components(edges: dict[Node, list[Node]]) -> list[list[Node]]:
    """Strongly connected components (Tarjan), without recursion: chains are as long as the job is wide."""
    index: dict[Node, int] = {}
    low: dict[Node, int] = {}
    stack: list[Node] = []
    on_stack: set[Node] = set()
    found: list[list[Node]] = []
    for start in edges:
        if start in index:
            continue
        work = [(start, iter(edges[start]))]
        index[start] = low[start] = len(index)
        stack.append(start)
        on_stack.add(start)
        while work:
            node, targets = work[-1]
            step = next(targets, None)
            if step is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    component: list[Node] = []
                    while not component or component[-1] != node:
                        component.append(stack.pop())
                        on_stack.discard(component[-1])
                    found.append(component)
            elif step not in index:
                index[step] = low[step] = len(index)
                stack.append(step)
                on_stack.add(step)
                work.append((step, iter(edges.get(step, ()))))
            elif step in on_stack:
                low[node] = min(low[node], index[step])
    return found
