"""How far each rank is in each group: its last finished call, the call it waits in, or what keeps it from one."""

from __future__ import annotations

from typing import NamedTuple

from frtui.model import NONE, STARTED
from frtui.view.index import Index
from frtui.view.words import BAD, DOUBT, LATE, NOT_HERE, OK, QUEUED, RUNS, WAITS

DONE, STARTS, WAITING, QUEUES, NOT_JOINED, BEHIND, NO_DUMP, UNUSED, BLAMED = range(9)

MARKS = (
    (OK, "done", "ok"),
    (RUNS, "started", "warn"),
    (WAITS, "waits", "warn"),
    (QUEUED, "queued", "dim"),
    (NOT_HERE, "not joined", "bad"),
    (LATE, "behind", "warn"),
    (DOUBT, "no dump", "warn"),
    (" ", "no call", "dim"),
    (BAD, "blamed", "bad"),
)
"""(glyph, word, role) of each state."""


class Standing(NamedTuple):
    """One rank in one group."""

    seq: int
    """Of the call that it is in; where it is in none, of the last one that it finished. NONE: no call at all."""
    state: int
    p2p: bool = False

    @property
    def number(self) -> str:
        return "" if self.seq == NONE else f"p#{self.seq}" if self.p2p else f"#{self.seq}"


class Standings:
    """Made of the ends of the rings only: looking at each call of thousands of ranks would take too long."""

    def __init__(self, index: Index) -> None:
        self.index = index
        self.in_order = index.job.backends != ("gloo",)
        """Calls queue behind one that is stuck in another group; gloo works each group off for itself."""
        self.waited: dict[int, int] = {}
        """By group: the earliest collective that a member waits in."""
        self.finished: dict[int, int] = {}
        """By group: the last collective that any member has finished."""
        self.made: dict[int, int] = {}
        """By group: the last collective that any member has made."""
        for rank, data in index.job.ranks.items():
            ends, e = index.ends(rank), data.entries
            for group, row in ends.last.items():
                open_row = ends.open.get(group, NONE)
                if not e.p2p[row]:
                    self.made[group] = max(e.seq[row], self.made.get(group, NONE))
                if e.p2p[row if open_row == NONE else open_row]:
                    continue
                seq = e.seq[row] if open_row == NONE else e.seq[open_row] - 1
                self.finished[group] = max(seq, self.finished.get(group, NONE))
                if open_row != NONE:
                    self.waited[group] = min(seq + 1, self.waited.get(group, seq + 1))

    def of(self, rank: int, group: int) -> Standing:
        if rank not in self.index.job.ranks:
            return Standing(NONE, NO_DUMP)
        ends, e = self.index.ends(rank), self.index.job.ranks[rank].entries
        row = ends.open.get(group, NONE)
        if row == NONE:
            return self._idle(rank, group, ends.last.get(group, NONE))
        number = Standing(e.p2p_seq[row] if e.p2p[row] else e.seq[row], WAITING, bool(e.p2p[row]))
        if not e.p2p[row] and self.finished.get(group, NONE) >= e.seq[row]:
            return number._replace(state=BEHIND)
        if e.state[row] == STARTED:
            return number._replace(state=STARTS)
        return number._replace(state=QUEUES) if self.in_order and row > min(ends.open.values()) else number

    def _idle(self, rank: int, group: int, row: int) -> Standing:
        """Of a rank that is in no call of the group."""
        data = self.index.job.ranks[rank]
        e = data.entries
        if row != NONE and e.p2p[row]:
            return Standing(e.p2p_seq[row], DONE, True)
        status = data.status.get(group) if row == NONE else None
        seq = e.seq[row] if row != NONE else status.completed if status else NONE
        if group in self.waited:
            return Standing(seq, NOT_JOINED if seq < self.waited[group] else DONE)
        if row == NONE and seq == NONE:
            return Standing(NONE, UNUSED)
        return Standing(seq, BEHIND if seq < self.finished.get(group, NONE) else DONE)

    def behind(self, rank: int) -> float:
        """How many collectives fewer a rank has made than who made most of them, in the group where it lags most."""
        if rank not in self.index.job.ranks:
            return float("-inf")
        data, last = self.index.job.ranks[rank], self.index.ends(rank).last
        most = 0
        for group in self.index.groups_of(rank):
            row, status = last.get(group, NONE), data.status.get(group)
            if group in self.made and (row == NONE or not data.entries.p2p[row]):
                own = data.entries.seq[row] if row != NONE else status.enqueued if status else NONE
                # What fell out of the ring is unknown; else a rank without a call has made none.
                most = max(most, self.made[group] - max(own, 0) if own != NONE or not data.wrapped else 0)
        return most


def standings(index: Index) -> Standings:
    return index.keep("standings", lambda: Standings(index))
