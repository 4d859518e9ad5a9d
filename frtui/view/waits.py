"""Who waits for whom: a finding's waits as a tree from the blamed ranks outwards, equal ones together."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from frtui.engine.finding import Finding, Wait
from frtui.model import Job


@dataclass(eq=False)
class Knot:
    """Ranks that wait in the same way: in one call, or in the same call of parallel groups."""

    ranks: tuple[int, ...]
    waits: tuple[Wait, ...] = ()
    """One for each rank; none for ranks that are in no call."""
    blamed: bool = False
    followers: list[Knot] = field(default_factory=list)
    """Those who wait for these."""

    @property
    def on(self) -> tuple[int, ...]:
        return tuple(sorted({rank for wait in self.waits for rank in wait.on}))


@dataclass
class Tree:
    circle: list[Knot] = field(default_factory=list)
    """Each waits for the next, the last for the first."""
    tops: list[Knot] = field(default_factory=list)
    """The cause, as far as it is in no circle. Who waits for the circle follows its last knot."""
    others: tuple[int, ...] = ()
    """Ranks that are stuck because of it, but not on the way of any wait."""

    def walk(self) -> Iterator[tuple[Knot, tuple[bool, ...]]]:
        """Each knot that is in no circle, and for each level below the top whether it is the last one there."""
        stack: list[tuple[Knot, tuple[bool, ...]]] = [(knot, ()) for knot in reversed(self.tops)]
        stack += below(self.circle[-1], ()) if self.circle else []
        while stack:
            knot, last = stack.pop()
            yield knot, last
            stack += below(knot, last)


def below(knot: Knot, last: tuple[bool, ...]) -> list[tuple[Knot, tuple[bool, ...]]]:
    """What follows a knot, the first on top of the stack."""
    return [(knot, (*last, n == 0)) for n, knot in enumerate(reversed(knot.followers))]


def tree(job: Job, finding: Finding) -> Tree:
    circle = find_circle(job, finding)
    caught = {rank for knot in circle for rank in knot.ranks}
    left = {wait.call: wait for wait in finding.waits if wait.rank not in caught}
    tops = top_knots(job, finding, left.values(), caught)
    for wait in (wait for knot in tops for wait in knot.waits):
        left.pop(wait.call, None)
    spread(job, [(knot.ranks, knot) for knot in tops] + [(tuple(sorted(caught)), knot) for knot in circle[-1:]], left)
    told = caught.union(finding.ranks, (wait.rank for wait in finding.waits))
    return Tree(circle, tops, tuple(rank for rank in finding.waiting if rank not in told))


def top_knots(job: Job, finding: Finding, left: Iterable[Wait], caught: set[int]) -> list[Knot]:
    """The blamed ranks; where nobody is blamed, those that are in the call that does not finish."""
    blamed = [rank for rank in finding.ranks if rank not in caught]
    inside = [wait for wait in left if (wait.rank in blamed if finding.ranks else not wait.on)]
    inside = inside if inside or finding.ranks else list(left)
    knots = alike(job, inside, bool(finding.ranks))
    idle = tuple(sorted(set(blamed).difference(wait.rank for wait in inside)))
    return [*knots, *([Knot(idle, (), True)] if idle else [])]


def spread(job: Job, parents: list[tuple[tuple[int, ...], Knot]], left: dict[tuple[int, int], Wait]) -> None:
    """Hangs every wait that is left, by its call, below the first knot with a rank that it waits for."""
    towards: dict[int, list[Wait]] = {}
    for wait in left.values():
        for rank in wait.on:
            towards.setdefault(rank, []).append(wait)
    queue = deque(parents)
    while queue or (left and parents):
        astray = not queue  # led here by a rank that is in no wait itself: stuck because of the cause all the same
        ranks, knot = queue.popleft() if queue else parents[0]
        found = list(left.values()) if astray else [wait for rank in ranks for wait in towards.pop(rank, ())]
        if knot is parents[0][1] and not astray:
            found += [wait for wait in left.values() if not wait.on]  # in the very call that does not finish
        knots = alike(job, [wait for wait in found if left.pop(wait.call, None)], False)
        knot.followers += knots
        queue.extend((below.ranks, below) for below in knots)


def alike(job: Job, waits: Iterable[Wait], blamed: bool, exact: bool = False) -> list[Knot]:
    """Waits in the same call, or in the same call of groups of one kind; `exact`: for the same ranks, too."""
    kinds: dict[object, list[Wait]] = {}
    for wait in waits:
        e = job.ranks[wait.rank].entries
        group, p2p = e.group[wait.row], bool(e.p2p[wait.row])
        name = job.signatures[e.signature[wait.row]].op, p2p, e.p2p_seq[wait.row] if p2p else e.seq[wait.row]
        place: object = (group, wait.on) if exact else job.groups[group].kind if wait.on else group
        kinds.setdefault((name, place), []).append(wait)
    knots = (sorted(those) for those in kinds.values())
    return [Knot(tuple(wait.rank for wait in those), tuple(those), blamed) for those in knots]


def find_circle(job: Job, finding: Finding) -> list[Knot]:
    """The shortest way from a blamed rank over those it waits for back to itself; empty where there is none."""
    blamed = frozenset(finding.ranks)
    knots = [
        knot
        for mine in (True, False)
        for knot in alike(job, (w for w in finding.waits if w.on and (w.rank in blamed) == mine), mine, exact=True)
    ]
    holds: dict[int, list[Knot]] = {}
    for knot in knots:
        for rank in knot.ranks:
            holds.setdefault(rank, []).append(knot)
    found = (way_back(knot, holds) for knot in knots if knot.blamed)
    return next((circle for circle in found if circle), [])


def way_back(start: Knot, holds: dict[int, list[Knot]]) -> list[Knot]:
    before: dict[Knot, Knot | None] = {start: None}
    queue = deque([start])
    while queue:
        knot = queue.popleft()
        for following in (k for rank in knot.on for k in holds.get(rank, ())):
            if following is start and knot is not start:
                return trace(before, knot)
            if following not in before:
                before[following] = knot
                queue.append(following)
    return []


def trace(before: dict[Knot, Knot | None], last: Knot) -> list[Knot]:
    way: list[Knot] = []
    at: Knot | None = last
    while at is not None:
        way.append(at)
        at = before[at]
    return way[::-1]
