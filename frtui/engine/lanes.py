"""Lanes: the ordered calls of each rank per process group, and where each rank stands in them.

A *lane* is what one rank did in one group. Collectives are matched across ranks by
`collective_seq_id`, sends and recvs by (group, sender, receiver, n-th), because a group of more than
two counts its point-to-point calls on each rank for itself.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Callable, NamedTuple

from frtui.model import NONE, Job, Rank, Signature


class Lane:
    """The collectives (batches included) of one rank in one group, oldest first.

    Rows and numbers are arrays: as lists they would take 80 bytes a call, nearly as much as all its columns.
    """

    __slots__ = ("_row_of", "rows", "seqs")

    def __init__(self, rows: array[int], seqs: array[int]) -> None:
        self.rows, self.seqs = rows, seqs
        self._row_of: dict[int, int] | None = None

    def row(self, seq: int) -> int | None:
        """Row of the call with that sequence number; None where the ring does not hold it."""
        near = seq - self.seqs[0]
        if 0 <= near < len(self.seqs) and self.seqs[near] == seq and (not near or self.seqs[near - 1] != seq):
            return self.rows[near]  # numbers without a gap, as nearly all are: most lanes never need the table
        if self._row_of is None:
            self._row_of = {}
            for row, number in zip(self.rows, self.seqs):
                self._row_of.setdefault(number, row)
        return self._row_of.get(seq)

    @property
    def first(self) -> int:
        return self.seqs[0]

    @property
    def last(self) -> int:
        return self.seqs[-1]


class Part(NamedTuple):
    """One send or recv: a call of its own, or a member of a batch."""

    row: int
    """Row of the call that it belongs to."""
    signature: Signature
    p2p_seq: int


class Channel:
    """What the sender and the receiver of one (group, sender, receiver) have recorded, oldest first."""

    __slots__ = ("offset", "recvs", "sends")

    def __init__(self) -> None:
        self.sends: list[Part] = []
        self.recvs: list[Part] = []
        self.offset = 0
        """Index of a recv minus index of the send that it takes, where the rings start at different places."""


ChannelKey = tuple[int, int, int]
"""(group, global sender, global receiver)."""


@dataclass
class Lanes:
    """Every lane of a job."""

    job: Job
    collectives: dict[int, dict[int, Lane]] = field(default_factory=dict)
    """group -> rank -> its lane."""
    channels: dict[ChannelKey, Channel] = field(default_factory=dict)
    passing: set[int] = field(default_factory=set)
    """Groups in which somebody sends or receives."""
    open: dict[int, list[int]] = field(default_factory=dict)
    """rank -> rows of its unfinished calls, oldest first."""

    def lane(self, group: int, rank: int) -> Lane | None:
        return self.collectives.get(group, {}).get(rank)

    def parts(self, rank: int, row: int) -> list[tuple[ChannelKey, bool, int]]:
        """(channel, is a send, n-th in the channel) of each send and recv of a point-to-point call."""
        found = []
        e = self.job.ranks[rank].entries
        for key in dict.fromkeys(self._keys(e.group[row], self.job.signatures[e.signature[row]])):
            channel = self.channels[key]
            for sending, side in ((True, channel.sends), (False, channel.recvs)):
                if key[1 if sending else 2] == rank:
                    found += [(key, sending, n) for n, part in enumerate(side) if part.row == row]
        return found

    def _keys(self, group: int, signature: Signature) -> list[ChannelKey]:
        pairs = (self.job.endpoints(group, s) for s in signature.parts or (signature,))
        return [(group, src, dst) for src, dst in pairs if (group, src, dst) in self.channels]

    def peer(self, key: ChannelKey, sending: bool, n: int) -> Part | None:
        """The other side of the n-th send (or recv) of a channel; None where it was not made."""
        channel, index = self.channels[key], self.peer_index(key, sending, n)
        side = channel.recvs if sending else channel.sends
        return side[index] if 0 <= index < len(side) else None

    def peer_index(self, key: ChannelKey, sending: bool, n: int) -> int:
        """Index of the other side; negative where it fell out of the ring."""
        return n + self.channels[key].offset * (1 if sending else -1)

    def lost(self, key: ChannelKey, sending: bool, n: int) -> bool:
        """Whether the other side, of which nothing is there, fell out of its ring."""
        channel, peer = self.channels[key], self.job.ranks.get(key[2] if sending else key[1])
        none_left = not (channel.recvs if sending else channel.sends)
        return peer is not None and peer.wrapped and (none_left or self.peer_index(key, sending, n) < 0)


def build(job: Job, check: Callable[[], None] | None = None, ranks: Iterable[int] | None = None) -> Lanes:
    """Sort the calls of `ranks` (None: all) into lanes. `check` is called before each; what it raises ends this."""
    lanes = Lanes(job)
    for rank in job.ranks if ranks is None else ranks:
        if check is not None:
            check()
        _add_rank(lanes, job.ranks[rank])
    lanes.passing = {group for group, _, _ in lanes.channels}
    for key, channel in lanes.channels.items():
        channel.offset = _offset(lanes, key, channel)
    return lanes


def _add_rank(lanes: Lanes, rank: Rank) -> None:
    e = rank.entries
    by_group = _by_group(rank)
    p2p = 1 in e.p2p
    for group, rows in by_group.items():
        mine = rows
        if p2p or NONE in e.seq:
            mine = array("i", [row for row in rows if not e.p2p[row] and e.seq[row] != NONE])
        if mine:
            seqs = array("q", list(map(e.seq.__getitem__, mine)))
            lanes.collectives.setdefault(group, {})[rank.rank] = Lane(mine, seqs)
    if p2p:
        for row in rank.calls:
            if e.p2p[row]:
                _add_p2p(lanes, rank, row)
    still_open = _still_open(rank, by_group)
    # Who ended in order waits for nobody; a call that failed before that may well be what the others wait in.
    lanes.open[rank.rank] = [r for r in still_open if r in rank.call_errors] if rank.ended else still_open


def _by_group(rank: Rank) -> dict[int, array[int]]:
    """The rank's calls by group."""
    groups = list(map(rank.entries.group.__getitem__, rank.calls))
    found: dict[int, array[int]] = {group: array("i") for group in dict.fromkeys(groups)}
    add = {group: rows.append for group, rows in found.items()}
    for row, group in zip(rank.calls, groups):
        add[group](row)
    return found


def _still_open(rank: Rank, by_group: Mapping[int, Sequence[int]]) -> list[int]:
    """Rows of the unfinished calls.

    A group's calls run in order on one stream: what precedes a finished call is finished, whatever its entry says
    (calls recorded during CUDA graph capture stay `scheduled` for ever). A collective without a number cannot be
    matched with anybody's.
    """
    e = rank.entries
    if 0 not in e.done:
        return []
    found: list[int] = []
    for rows in by_group.values():
        after = next((n for n in range(len(rows), 0, -1) if e.done[rows[n - 1]]), 0)
        found += rows[after:]
    finished = _finished_members(rank)
    return sorted(row for row in found if (e.p2p[row] or e.seq[row] != NONE) and row not in finished)


def _finished_members(rank: Rank) -> set[int]:
    """Members of finished batches whose closing entry is not in the dump.

    A dump of only active calls leaves out the closing entry of a finished batch, but keeps the members,
    which stay `scheduled` for ever. They show in two ways: several with one number and no closing entry
    before the next call, or a number that pg_status, which then counts sends and recvs, says is finished.
    """
    e = rank.entries
    if 1 in e.done:
        return set()
    members: dict[tuple[int, int], list[int]] = defaultdict(list)
    for row in rank.calls:
        if e.p2p[row] and e.call[row] == row:
            members[e.group[row], e.p2p_seq[row]].append(row)
    found: set[int] = set()
    for (group, number), rows in members.items():
        status = rank.status.get(group)
        counted = status is not None and e.seq[rows[0]] < status.completed and number <= status.completed
        if counted or (len(rows) > 1 and rows[-1] + 1 < len(e)):
            found.update(rows)
    return found


def _add_p2p(lanes: Lanes, rank: Rank, row: int) -> None:
    e = rank.entries
    group = e.group[row]
    signature = lanes.job.signatures[e.signature[row]]
    for part in signature.parts or (signature,):
        src, dst = lanes.job.endpoints(group, part)
        if NONE in (src, dst) or rank.rank not in (src, dst):
            continue
        channel = lanes.channels.setdefault((group, src, dst), Channel())
        side = channel.sends if src == rank.rank else channel.recvs
        side.append(Part(row, part, e.p2p_seq[row]))


def _offset(lanes: Lanes, key: ChannelKey, channel: Channel) -> int:
    """How far apart the two rings start; 0 when both hold the channel from its beginning."""
    group, src, dst = key
    job = lanes.job
    if not (channel.sends and channel.recvs) or not (job.ranks[src].wrapped or job.ranks[dst].wrapped):
        return 0
    if len(job.groups[group].ranks) == 2:  # both sides count the same calls, so the ids can be compared
        ids = {part.p2p_seq: n for n, part in enumerate(channel.recvs)}
        return next((ids[p.p2p_seq] - n for n, p in enumerate(channel.sends) if p.p2p_seq in ids), 0)
    fence = _fence(lanes, src, dst)
    if fence:
        sent, received = (sum(p.row < row for p in side) for row, side in zip(fence, (channel.sends, channel.recvs)))
    else:  # the last finished ones belong together, unless one of them is in a batch that something else keeps open
        sent = sum(job.ranks[src].entries.done[part.row] for part in channel.sends)
        received = sum(job.ranks[dst].entries.done[part.row] for part in channel.recvs)
    return received - sent


def _fence(lanes: Lanes, src: int, dst: int) -> tuple[int, int] | None:
    """Rows of the last collective that both ranks finished: what one sent before it, the other received before it.

    A training step empties the pipeline before it reduces gradients or norms.
    """
    fences = []
    for by_rank in lanes.collectives.values():
        if src in by_rank and dst in by_rank:
            theirs = by_rank[dst]
            done = (lanes.job.ranks[src].entries.done, lanes.job.ranks[dst].entries.done)
            pairs = (
                (row, theirs.row(seq)) for row, seq in zip(reversed(by_rank[src].rows), reversed(by_rank[src].seqs))
            )
            fences += [next(((a, b) for a, b in pairs if b is not None and done[0][a] and done[1][b]), None)]
    return max((fence for fence in fences if fence), default=None)
