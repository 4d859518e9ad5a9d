"""Pane 4: the calls of one rank, oldest first, in one group or in all; a batch is one line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Callable, NamedTuple

from frtui.model import NONE
from frtui.view.index import Index
from frtui.view.lacking import MISSING_ROW, lacks
from frtui.view.rows import Keyed, Line, Page, Rows, cells, pad, wrap
from frtui.view.select import Selection
from frtui.view.words import BAD, DIFFERS, arguments, clock, label, number, operation, place, span, state

if TYPE_CHECKING:
    from frtui.engine.finding import Finding


class Widths(NamedTuple):
    """Of the columns."""

    numbers: int
    ops: int
    arguments: int
    sites: int


def title(index: Index, now: Selection) -> str:
    if now.rank is None:
        return "4 Calls"
    group = "all groups" if now.group is None else label(index.job.groups[now.group].label, 24)
    return f"4 Calls  rank {now.rank} · {group}"


def rows(index: Index, now: Selection, finding: Finding | None = None) -> Rows:
    if now.rank is None:
        return Rows()
    rank, everywhere = now.rank, now.group is None
    here = index.rows(rank, now.group)
    missing = finding if finding and finding.group == now.group and lacks(index, finding, rank) else None
    if not here:
        said = nothing(index, rank, now.group)
        return Page(lambda width: [[(text, "warn")] for text in wrap(said, width)])
    widths = Widths(number_width(index, rank, here), *text_widths(index, rank, here))
    if missing is None:
        return Keyed(here, lambda row, width: say(index, rank, row, width, everywhere, widths))
    sites = max(widths.sites, cells(place(missing.site)))
    widths = widths._replace(ops=max(widths.ops, cells(missing.op)), sites=sites)
    return OneMissing(here, lambda row, width: say(index, rank, row, width, everywhere, widths), missing, widths)


class OneMissing(Keyed):
    """Calls, and after the last of them the one that a finding says was not made."""

    def __init__(self, keys: Sequence[int], say: Callable[[int, int], Line], lacked: Finding, widths: Widths) -> None:
        super().__init__(keys, say)
        self.lacked, self.widths = lacked, widths

    def __len__(self) -> int:
        return len(self.keys) + 1

    def line(self, i: int, width: int) -> Line:
        return super().line(i, width) if i < len(self.keys) else say_missing(self.lacked, width, self.widths)

    def key(self, i: int) -> int:
        return super().key(i) if i < len(self.keys) else MISSING_ROW

    def position(self, key: int) -> int:
        return len(self.keys) if key == MISSING_ROW else super().position(key)


def say_missing(finding: Finding, width: int, widths: Widths) -> Line:
    """`✗ #18 all_reduce  not made  layers.py:130`"""
    fit = Fit(width, False, widths)
    return [
        (f" {BAD} ", "bad"),
        (f"{'p' * finding.p2p}#{finding.seq}".ljust(widths.numbers) + " ", "bad"),
        (pad(finding.op, fit.ops) + " ", "bad"),
        (pad("not made", max(8, fit.word + fit.arguments)) + " ", "bad"),
        (pad(place(finding.site), widths.sites) if fit.sites else "", "plain"),
    ]


def number_width(index: Index, rank: int, rows: Sequence[int]) -> int:
    """Of the column of sequence numbers, as the newest calls and some of the others need it."""
    e = index.job.ranks[rank].entries
    return max(5, *(len(f"p#{e.p2p_seq[row]}" if e.p2p[row] else f"#{e.seq[row]}") for row in some_of(rows)))


def some_of(rows: Sequence[int]) -> list[int]:
    return [row for part in (rows[-200:], rows[:: len(rows) // 200 + 1]) for row in part]


def text_widths(index: Index, rank: int, rows: Sequence[int]) -> tuple[int, int, int]:
    """Of the columns of operations, arguments and sites, as the newest calls and some of the others need them."""
    e, signatures = index.job.ranks[rank].entries, index.job.signatures
    some = some_of(rows)
    made = {(e.group[row], e.signature[row]) for row in some}
    return (
        max(cells(operation(index.job, group, signatures[signature])) for group, signature in made),
        max(cells(arguments(signatures[signature])) for _, signature in made),
        max(cells(index.site(stack)) for stack in {e.stack[row] for row in some}),
    )


class Fit:
    """Columns that there is room for: the source line comes before the arguments, these before the state's word."""

    def __init__(self, width: int, everywhere: bool, widths: Widths) -> None:
        self.ops = min(widths.ops, 20 if width >= 64 else 16)
        # Of a narrow pane the source line is worth the end of a group's and of an operation's name.
        tight = width - 16 - widths.numbers - self.ops < widths.sites
        self.groups = (9 if tight else 11) if everywhere else 0
        free = width - 5 - self.groups - widths.numbers
        if free - self.ops <= widths.sites <= free - 11:
            self.ops = max(10, min(self.ops, free - widths.sites - 1))
        free -= self.ops
        # It is shown whole or not at all: half a file name helps nobody.
        self.sites = widths.sites if widths.sites <= free else 0
        free -= self.sites + 1
        most = min(widths.arguments, 30)
        self.arguments = min(most, free) if free >= min(most, 6) else 0
        self.word = 8 if free - self.arguments >= 9 else 0


def say(index: Index, rank: int, row: int, width: int, everywhere: bool, widths: Widths) -> Line:
    call = index.job.call(rank, row)
    mark, word, role = state(call, index.ends(rank).open.get(call.group, NONE))
    differs = index.deviates(rank, row)
    fit = Fit(width, everywhere, widths)
    site = index.site(index.job.ranks[rank].entries.stack[row])
    return [
        (DIFFERS if differs else " ", "bad"),
        (mark + " ", role),
        (pad(label(index.job.groups[call.group].label, fit.groups - 1), fit.groups) if everywhere else "", "dim"),
        (number(call).replace("p2p ", "p").ljust(widths.numbers) + " ", "plain"),
        (pad(operation(index.job, call.group, call.signature), fit.ops) + " ", "bad" if differs else "bold"),
        (pad(word, fit.word) if fit.word else "", role),
        (pad(arguments(call.signature), fit.arguments) + " " if fit.arguments else "", "bad" if differs else "plain"),
        (pad(site, fit.sites) if fit.sites else "", "plain"),
        (f"  {span(call.duration):>9}", "plain"),
        ("  " + clock(call.created), "dim"),
    ]


def nothing(index: Index, rank: int, group: int | None) -> str:
    """Why there is no call to show."""
    if rank in index.missing:
        return f"rank {rank} left no readable dump in this folder: what it did is unknown."
    if not index.job.ranks[rank].calls:
        return f"rank {rank} has a dump, but it holds no entries."
    name = index.job.groups[group].label if group is not None else "any group"
    return f"the dump of rank {rank} holds no call in {name}: it made none, or they fell out of the ring."
