"""Two snapshots of one job, an older and a newer one: what advanced between them, and what did not.

Groups are matched by name and members, the calls of one rank by their record numbers, which only grow; so it does not
matter that a ring may have wrapped between the two.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple

from frtui.engine import lanes as lanes_of
from frtui.model import NONE, Group, Job, Rank
from frtui.text import ranges


class NotOneJob(Exception):
    """The two are no snapshots of one job, or in the wrong order; says why."""


class Lane(NamedTuple):
    """Where one rank stands in one group, in one snapshot."""

    made: int = NONE
    """Number of the last collective."""
    p2p: int = NONE
    """Number of the last send or recv."""
    record: int = NONE
    """Of its last call here."""
    row: int = NONE
    open: int = NONE
    """Row of the first unfinished call here."""
    opened: int = NONE
    """The record of that call."""


class Change(NamedTuple):
    """What became of a rank in a group."""

    calls: int | None
    """Made since the older snapshot; None: some, but how many fell out of the ring."""
    finished: bool
    """The call that was open is finished."""
    stuck: bool
    """The call that was open still is."""
    row: int
    """In the newer snapshot: of the first unfinished call, else of the last one; NONE where it holds none."""
    open: bool

    @property
    def advanced(self) -> bool:
        return self.calls != 0 or self.finished


@dataclass(frozen=True)
class Moves:
    """One group in both."""

    group: int
    """Index into the groups of the newer job."""
    changes: dict[int, Change]
    """By rank, of those that have a dump in both."""
    unseen: dict[int, str]
    """By rank: in which of the two it has no dump: `A`, `B` or `both`."""


@dataclass(frozen=True)
class Comparison:
    older: Job
    newer: Job
    groups: tuple[Moves, ...]
    seconds: float | None
    """Between the two, by when the dumps were written; None where that can't be told."""
    same: tuple[int, ...]
    """Ranks whose dump is one and the same in both: they prove nothing."""

    @property
    def advanced(self) -> tuple[int, ...]:
        """Ranks that made or finished a call."""
        return tuple(rank for rank in self._seen if any(c.advanced for c in self._changes(rank)))

    @property
    def still(self) -> tuple[int, ...]:
        return tuple(rank for rank in self._seen if not any(c.advanced for c in self._changes(rank)))

    @property
    def waiting(self) -> bool:
        """Whether calls are open in the newer snapshot."""
        return any(change.open for moves in self.groups for change in moves.changes.values())

    @property
    def _seen(self) -> list[int]:
        return [r for r in self.newer.ranks if r in self.older.ranks and r not in self.same]

    def _changes(self, rank: int) -> Iterator[Change]:
        return (moves.changes[rank] for moves in self.groups if rank in moves.changes)


def compare(older: Job, newer: Job) -> Comparison:
    """What advanced from one to the other. Raises NotOneJob."""
    both = [rank for rank in newer.ranks if rank in older.ranks]
    _check_worlds(older, newer, both)
    same = tuple(rank for rank in both if _same_dump(older.ranks[rank], newer.ranks[rank]))
    if len(same) == len(both):
        raise NotOneJob("A and B hold the same dumps")
    _check_order(older, newer, both)
    before, after = _lanes(older), _lanes(newer)
    numbers = {(group.name, frozenset(group.ranks)): n for n, group in enumerate(older.groups)}
    moves = []
    for number, group in enumerate(newer.groups):
        was = numbers.get((group.name, frozenset(group.ranks)), NONE)
        changes = {
            rank: _change(older.ranks[rank], before.get((rank, was), Lane()), after.get((rank, number), Lane()))
            for rank in group.ranks
            if rank in older.ranks and rank in newer.ranks and rank not in same
        }
        moves.append(Moves(number, changes, _unseen(group, older, newer)))
    return Comparison(older, newer, tuple(moves), _seconds(older, newer, both), same)


def _check_worlds(older: Job, newer: Job, both: list[int]) -> None:
    mine, theirs = _told_ranks(older), _told_ranks(newer)
    if mine and theirs and mine != theirs:
        raise NotOneJob(f"A is of a job with ranks {ranges([*mine])}, B of one with ranks {ranges([*theirs])}")
    if not both:
        raise NotOneJob("no rank has a dump in both A and B")
    names = {(group.name, frozenset(group.ranks)) for group in older.groups}
    if names and newer.groups and not any((g.name, frozenset(g.ranks)) in names for g in newer.groups):
        raise NotOneJob("A and B have no process group in common")


def _told_ranks(job: Job) -> set[int]:
    """As the dumps' configurations have it; of groups that were put together from entries, members may lack."""
    return {rank for group in job.groups if not group.rebuilt for rank in group.ranks}


def _check_order(older: Job, newer: Job, both: list[int]) -> None:
    """Record numbers and times only grow; in another run, the numbers begin anew at a later time."""
    for rank in both:
        a, b = older.ranks[rank].entries, newer.ranks[rank].entries
        if not len(a) or not len(b) or b.record[-1] >= a.record[-1]:
            continue
        if b.created[-1] > a.created[-1]:
            raise NotOneJob(f"rank {rank} began anew after A: B is of another run")
        raise NotOneJob(f"rank {rank} is further in A than in B: the older snapshot comes first")


def _same_dump(a: Rank, b: Rank) -> bool:
    return (
        a.dumped_ns == b.dumped_ns != NONE and len(a.entries) == len(b.entries) and a.entries.record == b.entries.record
    )


def _lanes(job: Job) -> dict[tuple[int, int], Lane]:
    """By (rank, group)."""
    opened = lanes_of.build(job).open
    found: dict[tuple[int, int], Lane] = {}
    for number, rank in job.ranks.items():
        e = rank.entries
        made, p2p = ({e.group[r]: r for r in rank.calls if bool(e.p2p[r]) is kind} for kind in (False, True))
        first = {e.group[row]: row for row in reversed(opened[number])}
        for group in {*made, *p2p, *rank.status}:
            mine, sent, waits = made.get(group, NONE), p2p.get(group, NONE), first.get(group, NONE)
            status, last = rank.status.get(group), max(mine, sent)
            if last == NONE:  # the dump may hold open calls only
                found[number, group] = Lane(status.enqueued if status else NONE)
                continue
            found[number, group] = Lane(
                e.seq[mine] if mine >= 0 else NONE,
                e.p2p_seq[sent] if sent >= 0 else NONE,
                e.record[last],
                last,
                waits,
                e.record[waits] if waits >= 0 else NONE,
            )
    return found


def _change(older: Rank, a: Lane, b: Lane) -> Change:
    stuck = b.opened != NONE and b.opened == a.opened
    finished = a.opened != NONE and not stuck and (b.opened > a.opened or b.opened == NONE)
    row = b.open if b.open != NONE else b.row
    return Change(_calls(older, a, b), finished, stuck, row, b.open != NONE)


def _calls(older: Rank, a: Lane, b: Lane) -> int | None:
    if b.record == NONE and b.made == NONE:  # nothing here in B: never used, or fallen out of its ring
        return 0 if a.record == NONE and a.made in (NONE, 0) else None
    if b.record == a.record != NONE:
        return 0
    if a.record == NONE and a.made == NONE and older.wrapped:
        return None
    grown = [n - max(was, 0) for was, n in ((a.made, b.made), (a.p2p, b.p2p)) if n != NONE]
    return max(0, sum(n for n in grown if n > 0))


def _unseen(group: Group, older: Job, newer: Job) -> dict[int, str]:
    where = {(False, False): "both", (False, True): "A", (True, False): "B"}
    states = {rank: (rank in older.ranks, rank in newer.ranks) for rank in group.ranks}
    return {rank: where[state] for rank, state in states.items() if state in where}


def _seconds(older: Job, newer: Job, both: list[int]) -> float | None:
    apart = [newer.ranks[r].dumped_ns - older.ranks[r].dumped_ns for r in both if older.ranks[r].dumped_ns > 0]
    between = median(apart) / 1e9 if apart else 0.0
    return between if between > 0 else None
