"""The page behind `a`: what the blamed rank did beside what its witnesses did, as the engine lined them up."""

from __future__ import annotations

import re

from frtui.engine.finding import Beside, Finding
from frtui.model import NONE
from frtui.text import count, together
from frtui.view.index import Index
from frtui.view.listing import Listing
from frtui.view.rows import FULL, Line, cells, cut, pad, wrap
from frtui.view.select import Selection, selected
from frtui.view.steps import ALIKE, ONLY_LEFT, ONLY_RIGHT, Step, steps_of
from frtui.view.words import DIFFERS, NOT_HERE, arguments, label, number, operation, rank_list, state

BEFORE, AFTER = 6, 12
"""Steps around the parting; `c` shows the rest."""
TWO_COLUMNS = 70
"""Below so many columns the two sides stand one above the other, where they differ."""
KINDS = 16
"""Columns that the label of a group may take."""
WIDEST = 64
"""Columns of one side; more would only tear the two apart."""

BOTH, LEFT, RIGHT, NOTE = range(4)
"""What of a step a line shows; a NOTE stands before it. A line's key is 4 times its step plus this."""

OTHER = {
    "size-mismatch": "other sizes",
    "dtype-mismatch": "another dtype",
    "op-mismatch": "another operation",
    "root-mismatch": "another root",
}
ORDERS = ("order-swap", "group-deadlock")


class AlignedPage(Listing):
    def __init__(self, index: Index, finding: Finding, beside: Beside, unfolded: bool) -> None:
        self.index, self.finding, self.beside, self.unfolded = index, finding, beside, unfolded
        self.steps = steps_of(beside)
        size = len(self.steps.all)
        self.begin = 0 if unfolded else max(0, self.steps.first - BEFORE)
        self.end = size if unfolded else min(size, self.steps.last + 1 + AFTER)
        self.notes = self.find_notes()
        shown = self.steps.all[self.begin : self.end]
        self.calls = [(beside.rank, step.left) for step in shown] + [(beside.witness, step.right) for step in shown]
        self.calls = [place for place in self.calls if place[1] != NONE]
        self.labels, self.numbers, self.sites = self.widths()
        super().__init__(self.lay_out, self.keys_for(FULL), self.say_step, self.call_at)

    def find_notes(self) -> dict[int, str]:
        """The lines that tell of no call, by key: what was left out, and where the two part."""
        more = len(self.steps.all) - self.end
        notes = {4 * self.steps.first + NOTE: f"── {self.parting()} "}
        if self.begin:
            notes[4 * (self.begin - 1) + NOTE] = f"… {count(self.begin, 'call')} before (c shows)"
        if more > 0:
            notes[4 * (self.end + 1) + NOTE] = f"… {count(more, 'call')} after (c shows)"
        return notes

    def parting(self) -> str:
        rank, kind = f"rank {self.beside.rank}", self.finding.kind
        if self.steps.op == "swap" or kind in ORDERS:
            return f"from here {rank} made the calls in another order"
        if self.steps.op == "replace":
            return f"here {rank} gave {OTHER.get(kind, 'other arguments')}"
        if self.steps.op == "behind":
            return f"{rank} made no further call here"
        return f"{rank} left this call out" if self.steps.op == "skip" else f"only {rank} made this call"

    def widths(self) -> tuple[int, int, int]:
        """Columns of groups' names, where there are several, of numbers and of call sites."""
        ranks, groups, numbers, sites = self.index.job.ranks, set(), 0, 0
        for rank, row in self.calls:
            e = ranks[rank].entries
            groups.add(e.group[row])
            numbers = max(numbers, len(f"p#{e.p2p_seq[row]}" if e.p2p[row] else f"#{e.seq[row]}"))
            sites = max(sites, cells(self.index.site(e.stack[row])))
        names = [cells(self.kind(group)) for group in groups]
        return (max(names) if len(names) > 1 else 0), numbers, sites

    def kind(self, group: int) -> str:
        """A group by name and number: the witness' may be another one of its kind."""
        return label(self.index.job.groups[group].label.removesuffix("_pg"), KINDS)

    def keys_for(self, width: int) -> list[int]:
        keys = []
        for n in range(self.begin - 1, self.end + 2):
            if 4 * n + NOTE in self.notes:
                keys.append(4 * n + NOTE)
            if self.begin <= n < self.end:
                step = self.steps.all[n]
                sides = [LEFT] * (step.left != NONE) + [RIGHT] * (step.right != NONE)
                keys += [4 * n + BOTH] if width >= TWO_COLUMNS or step.mark == ALIKE else [4 * n + s for s in sides]
        return keys

    def fit(self, width: int) -> None:
        if width != self.width:
            self.keys = self.keys_for(width)
        super().fit(width)

    # What stands above the steps

    def lay_out(self, width: int) -> list[Line]:
        lines: list[Line] = [[(part, "bold")] for part in wrap(self.witnesses(), width)]
        if width < TWO_COLUMNS:
            told = f"< {self.left_name()}  > rank {self.beside.witness}"
            lines += [[(part, "bold")] for part in wrap(told, width)]
        return lines

    def witnesses(self) -> str:
        """Who says that the right side is right, and how many of them agree."""
        b = self.beside
        rank, as_shown = f"rank {b.witness}", f", shown is rank {b.witness}" if len(b.agree) > 1 else ""
        agree = rank_list(b.agree, 40)
        many = f"{agree[:1].upper()}{agree[1:]} ({len(b.agree)} of {b.asked})"
        where = f", at {sites}" if (sites := self.agreed_sites()) else ""
        if b.by == "members":
            return f"{many} did as {rank}, not as rank {b.rank}{where}."
        if b.by == "siblings":
            return f"{many} of sibling groups did as {rank}, not as rank {b.rank}{where}."
        if b.by == "history":
            return f"What followed the same calls earlier speaks for {rank}."
        if b.by:
            return f"Rank {b.rank} and {rank} part, and nothing in the dumps tells which is right."
        went = "did not make it" if self.steps.op == "ahead" else "went on"
        return f"{many} {went}{as_shown}{where}."

    def agreed_sites(self) -> str:
        """Where those who agree made the call, if not all of them at the line that is shown."""
        b = self.beside
        stacks = ((r, self.index.job.ranks[r].entries.stack[row]) for r, row in zip(b.agree, b.agree_rows))
        sites = {rank: self.index.site(stack) for rank, stack in stacks}
        return together(sites) if len(set(sites.values())) > 1 else ""

    def left_name(self) -> str:
        same = tuple(rank for rank in self.finding.ranks if rank != self.beside.rank)
        others = f" (and {len(same)} more)" if same and self.beside.by != "nobody" else ""
        return f"rank {self.beside.rank}{others}"

    def head(self, width: int) -> list[Line]:
        if width < TWO_COLUMNS:
            return []
        left = pad(f"  {self.left_name()}", self.half(width) + 3)
        return [[(f"{left}  rank {self.beside.witness}", "dim")]]

    def half(self, width: int) -> int:
        return min(WIDEST, (width - 3) // 2)

    # One line

    def say_step(self, key: int, width: int) -> Line:
        n, side = divmod(key, 4)
        if side == NOTE:
            text = self.notes[key]
            rule = NOT_HERE * max(0, min(width, 2 * WIDEST + 3) - cells(text)) if text.startswith(NOT_HERE) else ""
            return [(text, "warn" if rule else "dim"), (rule, "warn")]
        step = self.steps.all[n]
        parts = self.steps.first <= n <= self.steps.last
        left = "bad" if parts else "plain" if step.left != NONE and n < self.steps.first else "dim"
        if width < TWO_COLUMNS or side != BOTH:
            right = side == RIGHT or step.left == NONE
            both_made = step.mark == ALIKE and NONE not in step
            mark = ALIKE if both_made else ONLY_RIGHT if right else ONLY_LEFT
            place = (self.beside.witness, step.right) if right else (self.beside.rank, step.left)
            shown = self.cell(*place, width - 2, step.mark)
            return [(mark + " ", "bad"), (shown, "bold" if parts and right else left)]
        half = self.half(width)
        mine = self.cell(self.beside.rank, step.left, half, step.mark)
        return [
            (mine if step.left != NONE else self.no_call(step, half), left),
            (f" {step.mark} ", "bad" if parts else "warn"),
            (self.cell(self.beside.witness, step.right, half, step.mark), "bold" if parts else left),
        ]

    def no_call(self, step: Step, room: int) -> str:
        """A rule where the rank made no call; nothing where it may have got there later."""
        return pad(f"  {NOT_HERE * 3}" if step.mark != ALIKE else "", room)

    def cell(self, rank: int, row: int, room: int, compared: str) -> str:
        """One call: its state, group and number, what it does, and where it was made if there is room for it."""
        if row == NONE:
            return " " * room
        call = self.index.job.call(rank, row)
        mark = state(call, self.index.ends(rank).open.get(call.group, NONE))[0]
        group = pad(self.kind(call.group), self.labels + 1) if self.labels else ""
        head = f"{mark} {group}{pad(number(call).replace('p2p ', 'p'), self.numbers)} "
        site = self.index.site(self.index.job.ranks[rank].entries.stack[row])
        free = room - cells(head)
        beside = free - self.sites - 1
        op, told = operation(self.index.job, call.group, call.signature.only), arguments(call.signature)
        # Where the arguments differ they are what one wants to read.
        if beside < (cells(op) + 1 + cells(told) if compared == DIFFERS else 12):
            site, beside = "", free
        return pad(head + pad(both(op, told, beside), beside) + (" " + site if site else ""), room)

    # Where a line leads

    def call_at(self, key: int) -> tuple[int, int] | None:
        """The deviating rank's call, or the witness' where that one made none."""
        n, side = divmod(key, 4)
        if side == NOTE or not 0 <= n < len(self.steps.all):
            return None
        left, right, _ = self.steps.all[n]
        return (self.beside.witness, right) if side == RIGHT or left == NONE else (self.beside.rank, left)

    def position(self, key: int) -> int:
        """The cursor stands on the parting, whichever call is selected."""
        at = next((n for n, known in enumerate(self.keys) if known // 4 == self.steps.first and known % 4 != NOTE), 0)
        return len(self.lines) + at if key >= 0 else super().position(key)


_DTYPE = re.compile(r" \S+(?= root \d+$)| \S+$")
"""At the end of what `arguments` makes, but for the root."""


def both(op: str, told: str, room: int) -> str:
    """An operation and its arguments. Where there is no room: without the dtype, then the end of the operation."""
    for shown in (told, _DTYPE.sub("", told, count=1)):
        if cells(op) + 1 + cells(shown) <= room:
            return f"{op} {shown}".rstrip()
    return cut(f"{cut(op, max(6, room - 1 - cells(shown)))} {shown}", room)


WHY_NOT = {
    "no-dump": "without a dump there are no calls to line up",
    "rank-ended": "its calls show no difference; what ended it is in the Call pane",
    "no-hang": "nobody did otherwise",
    "inconclusive": "the dumps do not show who did otherwise",
    "group-deadlock": "no witness tells which order is right; w shows who waits for whom",
    "stale": "the rank made the same calls; its dump only shows them as open",
    "membership-mismatch": "the calls are alike; the members of the group are not",
    "split-mismatch": "the calls are alike; their sizes do not add up, x shows them",
    "p2p-mismatch": "a send and its recv have no witnesses here; x shows both",
    "p2p-unmatched": "sends and recvs have no witnesses here; x shows both ends",
    "not-joined": "a missing send or recv has no witnesses here",
}


def why_not(findings: tuple[Finding, ...], now: Selection) -> str:
    finding = selected(findings, now)
    if finding is None:
        return "no finding is selected"
    return WHY_NOT.get(finding.kind, "all members made the same calls; x compares this one")


def aligned(index: Index, findings: tuple[Finding, ...], now: Selection) -> AlignedPage | None:
    finding = selected(findings, now)
    if finding is None or finding.beside is None:
        return None
    return AlignedPage(index, finding, finding.beside, now.unfolded)
