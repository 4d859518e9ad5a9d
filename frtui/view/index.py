"""Where things are in a job: made rank by rank when first asked for, then kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Callable, NamedTuple, TypeVar

from frtui.model import NONE, Job
from frtui.stacks import call_site
from frtui.view.words import place

T = TypeVar("T")


class Ends(NamedTuple):
    """Where one rank stands: by group, its last call and its first unfinished one, as rows of its entries."""

    last: dict[int, int]
    open: dict[int, int]


class Frontier(NamedTuple):
    """Where one group stands at the earliest call that a member has not finished."""

    seq: int
    """Of that call; where all is finished, of the last call. NONE: nothing was recorded."""
    open: bool
    joined: tuple[int, ...]
    absent: tuple[int, ...]
    """Members with a dump whose last call comes before it."""
    missing: tuple[int, ...]
    """Members without a dump."""
    p2p: bool = False
    """Only sends and recvs are open here; they have no common number."""
    used: bool = True
    """Some member has a call of this group."""


class Index:
    def __init__(self, job: Job) -> None:
        self.job = job
        self.world = job.world
        self.missing = frozenset(job.missing)
        self._ends: dict[int, Ends] = {}
        self._rows: dict[tuple[int, int], Sequence[int]] = {}
        self._by_seq: dict[tuple[int, int], dict[int, int]] = {}
        self._frontiers: dict[int, Frontier] = {}
        self._differs: dict[tuple[int, int], frozenset[int]] = {}
        self._dtypes: bool | None = None
        self._places: dict[int, str] = {}
        self._number_width = 0
        self._kept: dict[object, Any] = {}

    def keep(self, name: object, make: Callable[[], T]) -> T:
        """What takes its time to make and is asked for again: made once, and kept as long as the job."""
        if name not in self._kept:
            self._kept[name] = make()
        found: T = self._kept[name]
        return found

    def groups_of(self, rank: int) -> list[int]:
        """The groups that a rank is a member of."""
        return self.keep("groups of ranks", self._find_groups).get(rank, [])

    def _find_groups(self) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for number, group in enumerate(self.job.groups):
            for rank in group.ranks:
                found.setdefault(rank, []).append(number)
        return found

    def ends(self, rank: int) -> Ends:
        found = self._ends.get(rank)
        if found is None:
            found = self._ends[rank] = self._find_ends(rank)
        return found

    def _find_ends(self, rank: int) -> Ends:
        if rank not in self.job.ranks:
            return Ends({}, {})
        calls, e = self.job.ranks[rank].calls, self.job.ranks[rank].entries
        group, done = e.group, e.done
        last = dict(zip(map(group.__getitem__, calls), calls))
        # Newest first, so that the oldest unfinished call of a group is the one that stays.
        return Ends(last, {group[row]: row for row in reversed(calls) if not done[row]})

    @property
    def number_width(self) -> int:
        """Columns that the longest number of a last or unfinished call takes: `#85`, `p#3`."""
        if not self._number_width:
            widest = 3
            for rank, data in self.job.ranks.items():
                seq, p2p_seq, p2p = data.entries.seq, data.entries.p2p_seq, data.entries.p2p
                for row in {*self.ends(rank).last.values(), *self.ends(rank).open.values()}:
                    widest = max(widest, len(f"p#{p2p_seq[row]}" if p2p[row] else f"#{seq[row]}"))
            self._number_width = widest
        return self._number_width

    def rows(self, rank: int, group: int | None) -> Sequence[int]:
        """The calls of a rank, oldest first, in one group or in all."""
        if rank not in self.job.ranks:
            return ()
        data = self.job.ranks[rank]
        if group is None:
            return data.calls
        key = (rank, group)
        if key not in self._rows:
            column = data.entries.group
            self._rows[key] = [row for row in data.calls if column[row] == group]
        return self._rows[key]

    def row_of(self, rank: int, group: int, seq: int) -> int:
        """The row of collective `seq`; NONE where the rank's ring does not hold it."""
        key = (rank, group)
        if key not in self._by_seq:
            rows = self.rows(rank, group)
            e = self.job.ranks[rank].entries if rows else None
            self._by_seq[key] = {e.seq[row]: row for row in rows if not e.p2p[row]} if e else {}
        return self._by_seq[key].get(seq, NONE)

    def first_seq(self, rank: int, group: int) -> int:
        """The oldest collective of a group that the rank's ring still holds."""
        self.row_of(rank, group, NONE)
        return min(self._by_seq[(rank, group)], default=NONE)

    def last_seq(self, rank: int, group: int) -> int:
        """The last collective that the rank enqueued, as its entries or else its `pg_status` say."""
        self.row_of(rank, group, NONE)
        last = max(self._by_seq[(rank, group)], default=NONE)
        status = self.job.ranks[rank].status.get(group) if rank in self.job.ranks and last == NONE else None
        return status.enqueued if status else last

    def frontier(self, group: int) -> Frontier:
        if group not in self._frontiers:
            self._frontiers[group] = self._find_frontier(group)
        return self._frontiers[group]

    def _find_frontier(self, group: int) -> Frontier:
        members = self.job.groups[group].ranks
        here = [rank for rank in members if rank in self.job.ranks]
        missing = tuple(rank for rank in members if rank in self.missing)
        opened = [(rank, self.ends(rank).open[group]) for rank in here if group in self.ends(rank).open]
        seqs = [
            self.job.ranks[rank].entries.seq[row] for rank, row in opened if not self.job.ranks[rank].entries.p2p[row]
        ]
        last = {rank: self.last_seq(rank, group) for rank in here}
        if not seqs:
            waiting = tuple(rank for rank, _ in opened)
            used = any(group in self.ends(rank).last for rank in here)
            return Frontier(max(last.values(), default=NONE), bool(opened), waiting, (), missing, bool(opened), used)
        seq = min(seqs)
        joined = tuple(rank for rank in here if last[rank] >= seq)
        return Frontier(seq, True, joined, tuple(rank for rank in here if last[rank] < seq), missing)

    def site(self, stack: int) -> str:
        """The call site of a stack, short; stacks are few, entries are many."""
        if stack not in self._places:
            self._places[stack] = place(call_site(self.job.stacks[stack])) if stack >= 0 else ""
        return self._places[stack]

    def deviates(self, rank: int, row: int) -> bool:
        """Whether a collective's operation or sizes differ from what most others of its group gave."""
        e = self.job.ranks[rank].entries
        if e.p2p[row] or e.seq[row] < 0:
            return False
        key = (e.group[row], e.seq[row])
        if key not in self._differs:
            self._differs[key] = self._find_deviating(*key)
        return rank in self._differs[key]

    def _find_deviating(self, group: int, seq: int) -> frozenset[int]:
        # Here, not above: the screen paints its frame before it has a job, and the engine takes its time to import.
        from frtui.engine.agree import argument_key, dtypes_recorded, unknown_content

        if self._dtypes is None:
            self._dtypes = dtypes_recorded(self.job)
        given: dict[int, list[int]] = {}
        for rank in self.job.groups[group].ranks:
            row = self.row_of(rank, group, seq)
            if row >= 0:
                given.setdefault(self.job.ranks[rank].entries.signature[row], []).append(rank)
        if len(given) == 1:  # what a key that looks for the next such call meets thousands of times
            return frozenset()
        ranks: dict[object, list[int]] = {}
        for signature, those in given.items():
            if not unknown_content(self.job.signatures[signature]):
                ranks.setdefault(argument_key(self.job.signatures[signature], self._dtypes), []).extend(those)
        most = max(map(len, ranks.values()), default=0)
        tied = sum(len(those) == most for those in ranks.values()) > 1
        return frozenset(r for those in ranks.values() if len(ranks) > 1 and (tied or len(those) < most) for r in those)
