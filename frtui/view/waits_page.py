"""The page behind `w`: the tree of waits, from the blamed ranks outwards."""

from __future__ import annotations

from typing import NamedTuple

from frtui.engine.finding import Finding, Wait
from frtui.model import NONE
from frtui.text import count, ranges, together
from frtui.view.index import Index
from frtui.view.listing import Listing
from frtui.view.rows import Line, cut, cut_left, wrap
from frtui.view.select import Selection, selected, telling_row
from frtui.view.waits import Knot, tree
from frtui.view.words import BAD, label, number, operation, rank_list

SHORT = 16
"""Columns that the numbers of ranks may take in a sentence; longer ones follow it."""
LISTED = 160
"""Columns of these after which they are cut; `c` lists them all."""
DEEP = 24
"""Columns of branches after which the outer ones are cut."""


class Spot(NamedTuple):
    """What one line tells of: a knot, or one rank of it."""

    stem: str
    knot: Knot
    rank: int = NONE
    """NONE: all of the knot."""


class WaitsPage(Listing):
    def __init__(self, index: Index, finding: Finding, unfolded: bool) -> None:
        self.index, self.finding, self.unfolded = index, finding, unfolded
        self.tree = tree(index.job, finding)
        self.spots = self.find_spots()
        self.lines_of: dict[int, int] = {}
        for n, spot in enumerate(self.spots):
            for rank in spot.knot.ranks if spot.rank == NONE else (spot.rank,):
                if rank not in self.lines_of or spot.rank != NONE:
                    self.lines_of[rank] = n
        super().__init__(self.lay_out, range(len(self.spots)), self.say_spot, self.call_at)

    def find_spots(self) -> list[Spot]:
        spots: list[Spot] = []
        for n, knot in enumerate(self.tree.circle):
            stem = "┌▶ " if n == 0 else "└─ " if n == len(self.tree.circle) - 1 else "│  "
            spots += self.unfold(Spot(stem, knot), "   " if stem == "└─ " else "│  ")
        under = "   " if self.tree.circle else ""
        for knot, last in self.tree.walk():
            stem = under + "".join("   " if end else "│  " for end in last[:-1])
            own = stem + ("└─ " if last[-1] else "├─ ") if last else ""
            spots += self.unfold(Spot(own, knot), stem + ("   " if not last or last[-1] else "│  "))
        return spots + (self.unfold(Spot("", Knot(self.tree.others)), "") if self.tree.others else [])

    def unfold(self, spot: Spot, stem: str) -> list[Spot]:
        each = spot.knot.ranks if self.unfolded and len(spot.knot.ranks) > 1 else ()
        return [spot, *(Spot(stem + "  ", spot.knot, rank) for rank in each)]

    def lay_out(self, width: int) -> list[Line]:
        """Above the tree, whose lines are made when they are seen."""
        stuck = len(self.finding.waiting)
        cause = f"because of {rank_list(self.finding.ranks, 40)}" if self.finding.ranks else "and nobody is blamed"
        told = f"{count(stuck, 'rank')} {'waits' if stuck == 1 else 'wait'} {cause}"
        folds = any(len(spot.knot.ranks) > 1 for spot in self.spots)
        hint = ("  (c folds the ranks)" if self.unfolded else "  (c lists each rank)") if folds else ""
        lines: list[Line] = [[(part, "bold")] for part in wrap(told + hint, width)]
        if self.tree.circle:
            lines += [[(part, "warn")] for part in wrap(self.circle(), width)]
        return lines

    def circle(self) -> str:
        two = len(self.tree.circle) == 2
        return "They wait for each other:" if two else "They wait in a circle, the last for the first:"

    # One line

    def say_spot(self, key: int, width: int) -> Line:
        spot = self.spots[key]
        stem: Line = [(cut_left(spot.stem, DEEP), "dim")]
        if spot.rank != NONE:
            wait = self.wait_of(spot)
            return stem + (self.say_waits([wait], False) if wait else self.say_idle((spot.rank,), False))
        blamed = spot.knot.blamed
        if blamed:
            stem.append((f"{BAD} ", "bad"))
        if not spot.knot.waits and not blamed:
            return [*stem, (f"{self.who(spot.knot.ranks)} cannot go on, either", "plain"), *self.all_of(spot.knot)]
        told = self.say_waits(spot.knot.waits, blamed) if spot.knot.waits else self.say_idle(spot.knot.ranks, blamed)
        return stem + told + self.all_of(spot.knot)

    def say_waits(self, waits: list[Wait] | tuple[Wait, ...], blamed: bool) -> Line:
        """`61 ranks wait for rank 3 in all_reduce #85 of dp:3  optim.py:9`."""
        ranks = tuple(wait.rank for wait in waits)
        on = tuple(sorted({rank for wait in waits for rank in wait.on}))
        one = len(ranks) == 1
        if on:
            verb = f" {'waits' if one else 'wait'} for {self.who(on)} in "
        else:
            met = "" if blamed or not self.finding.ranks else "it" if len(self.finding.ranks) == 1 else "them"
            verb = f" {'meets' if one else 'meet'} {met} there in " if met else f" {'is' if one else 'are'} in "
        stacks = ((w.rank, self.index.job.ranks[w.rank].entries.stack[w.row]) for w in waits)
        site = together({rank: self.index.site(stack) for rank, stack in stacks})
        return [
            (self.who(ranks), "bad" if blamed else "bold"),
            (verb, "plain"),
            (self.call_name(waits), "plain"),
            ("  " + site if site else "", "bold"),
        ]

    def say_idle(self, ranks: tuple[int, ...], blamed: bool) -> Line:
        """Ranks that wait for nobody: what the first of them did last."""
        who: Line = [(self.who(ranks), "bad" if blamed else "bold")]
        verb = "is" if len(ranks) == 1 else "are"
        if ranks[0] not in self.index.job.ranks:
            return [*who, (f" left no dump: what {'it' if len(ranks) == 1 else 'they'} did is unknown", "plain")]
        row = telling_row(self.index, ranks[0], None)
        if row is None:
            return [*who, (f" {verb} in no call, and {'its' if len(ranks) == 1 else 'their'} dump holds none", "plain")]
        wait = Wait(ranks[0], row, ())
        name = self.call_name([wait])
        last = f" {'shows' if len(ranks) == 1 else 'show'} {name} as open"
        if self.index.job.ranks[ranks[0]].entries.done[row]:
            last = f" {verb} in no call; last{'' if len(ranks) == 1 else f', rank {ranks[0]}'}: {name}"
        site = self.index.site(self.index.job.ranks[ranks[0]].entries.stack[row])
        return [*who, (last, "plain"), ("  " + site if site else "", "bold")]

    def call_name(self, waits: list[Wait] | tuple[Wait, ...]) -> str:
        """`all_reduce #85 of dp:3`, `all_reduce #85 of 8 dp groups`."""
        job = self.index.job
        call = job.call(waits[0].rank, waits[0].row)
        groups = {job.ranks[wait.rank].entries.group[wait.row] for wait in waits}
        several = len(waits) > 1 and call.p2p and not call.signature.only.parts
        op = call.signature.only.op if several else operation(job, call.group, call.signature)
        name = job.groups[call.group].label
        if len(groups) > 1:
            return f"{op} {number(call)} of {len(groups)} {label(job.groups[call.group].desc, 12)} groups".strip()
        return f"{op} {number(call)} of {label(name, 24)}".strip()

    def who(self, ranks: tuple[int, ...]) -> str:
        numbers = ranges(ranks)
        return count(len(ranks), "rank") if len(numbers) > SHORT else rank_list(ranks, SHORT + 6)

    def all_of(self, knot: Knot) -> Line:
        """The numbers that the sentence had no room for."""
        numbers = ranges(knot.ranks)
        return [(f"  ({cut(numbers, LISTED)})", "dim")] if len(numbers) > SHORT else []

    # Where a line leads

    def wait_of(self, spot: Spot) -> Wait | None:
        rank = spot.knot.ranks[0] if spot.rank == NONE else spot.rank
        return next((wait for wait in spot.knot.waits if wait.rank == rank), None)

    def call_at(self, key: int) -> tuple[int, int] | None:
        """The call that the rank of the line, or the first of them, is stuck in; else what it did last."""
        if not 0 <= key < len(self.spots):
            return None
        spot = self.spots[key]
        wait = self.wait_of(spot)
        if wait:
            return wait.rank, wait.row
        rank = spot.knot.ranks[0] if spot.rank == NONE else spot.rank
        row = telling_row(self.index, rank, None)
        return None if row is None else (rank, row)

    def position(self, key: int) -> int:
        """The first line that tells of a rank: whose call is selected is what the cursor stands on."""
        return len(self.lines) + self.lines_of.get(key, 0) if key >= 0 else super().position(key)


def waits(index: Index, findings: tuple[Finding, ...], now: Selection) -> WaitsPage | None:
    finding = selected(findings, now)
    if finding is None or not (finding.waits or finding.waiting):
        return None
    return WaitsPage(index, finding, now.unfolded)
