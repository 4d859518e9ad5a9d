"""Puts the entries of several ranks side by side: which are the same call, and in which order to list them."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from frtui.engine.lanes import Lanes
from frtui.model import NONE


class Key(NamedTuple):
    """What matches an entry across ranks, wherever it lies in their rings."""

    group: int
    collective: bool
    seq: int
    """`collective_seq_id`; of a send or recv NONE where its peers are known, else `p2p_seq_id`."""
    peers: tuple[int, int]
    nth: int
    """How many with the same key come before this one: batches, and of one pair its sends or its recvs."""

    @property
    def number(self) -> str:
        if self.collective:
            return str(self.seq)
        return f"p2p {self.nth + 1 if self.seq == NONE else self.seq}"


def placed(lanes: Lanes, rank: int, groups: frozenset[int]) -> dict[Key, int]:
    """The rows of one rank by key, oldest first. `lanes` has that rank, and those that it stands beside."""
    job = lanes.job
    e = job.ranks[rank].entries
    keys: list[tuple[Key, int]] = []
    for row in range(len(e)):
        group = e.group[row]
        if group in groups:
            peers = job.endpoints(group, job.signatures[e.signature[row]]) if e.p2p[row] else (NONE, NONE)
            seq = e.seq[row] if not e.p2p[row] else e.p2p_seq[row] if NONE in peers else NONE
            keys.append((Key(group, not e.p2p[row], seq, peers, 0), row))
    seen: Counter[Key] = Counter()
    starts = {key: _start(lanes, rank, key, count) for key, count in Counter(key for key, _ in keys).items()}
    rows: dict[Key, int] = {}
    for key, row in keys:
        rows[key._replace(nth=starts[key] + seen[key])] = row
        seen[key] += 1
    return rows


def _start(lanes: Lanes, rank: int, key: Key, count: int) -> int:
    """What the first of a key's `count` entries counts as: of a pair whose rings start apart, not always 0."""
    channel = lanes.channels.get((key.group, *key.peers))
    if channel is None:
        return 0
    side, behind = (channel.sends, channel.offset) if key.peers[0] == rank else (channel.recvs, -channel.offset)
    # The members of a batch of which the ring has lost some stand before all that the channel knows.
    return max(0, behind) + len(side) - count


def merged(columns: Mapping[int, Mapping[Key, int]]) -> Iterator[Key]:
    """Every key once, in an order that is each rank's own wherever the ranks agree.

    Where they don't (calls made in another order), the call that comes first on the fewest steps goes first, and
    the table shows it out of order on the ranks that made it later.
    """
    queues = {rank: list(column) for rank, column in columns.items()}
    places = {rank: 0 for rank in queues}
    holders = Counter(key for queue in queues.values() for key in queue)
    heads: dict[Key, list[int]] = {}
    ready: list[tuple[int, Key]] = []
    done: set[Key] = set()

    def show_head(rank: int) -> None:
        queue = queues[rank]
        while places[rank] < len(queue) and queue[places[rank]] in done:
            places[rank] += 1
        if places[rank] < len(queue):
            key = queue[places[rank]]
            heads.setdefault(key, []).append(rank)
            if len(heads[key]) == holders[key]:
                heapq.heappush(ready, (places[rank], key))

    for rank in queues:
        show_head(rank)
    while len(done) < len(holders):
        key = heapq.heappop(ready)[1] if ready else _earliest(queues, places)
        if key in done:
            continue
        done.add(key)
        yield key
        for rank in heads.pop(key):
            show_head(rank)


def _earliest(queues: Mapping[int, list[Key]], places: Mapping[int, int]) -> Key:
    """No head is the head of all that hold it: the ranks disagree on the order."""
    return min((places[rank], queue[places[rank]]) for rank, queue in queues.items() if places[rank] < len(queue))[1]
