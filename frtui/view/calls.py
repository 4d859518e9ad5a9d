"""Pane 4: the calls of one rank, oldest first, in one group or in all; a batch is one line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from frtui.model import NONE
from frtui.view.index import Index
from frtui.view.rows import Keyed, Line, Page, Rows, cells, pad, wrap
from frtui.view.select import Selection
from frtui.view.words import DIFFERS, arguments, clock, label, number, operation, span, state


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


def rows(index: Index, now: Selection) -> Rows:
    if now.rank is None:
        return Rows()
    rank, everywhere = now.rank, now.group is None
    here = index.rows(rank, now.group)
    if not here:
        return Page(lambda width: [[(text, "warn")] for text in wrap(nothing(index, rank, now.group), width)])
    widths = Widths(number_width(index, rank, here), *text_widths(index, rank, here))
    return Keyed(here, lambda row, width: say(index, rank, row, width, everywhere, widths))


def number_width(index: Index, rank: int, rows: Sequence[int]) -> int:
    """Of the column of sequence numbers, as the newest calls need it."""
    e = index.job.ranks[rank].entries
    widest = max(max(e.seq[row], e.p2p_seq[row]) for row in rows[-1:])
    return max(5, len(str(widest)) + 1 + 4 * any(e.p2p[row] for row in rows[-100:])) + 1


def text_widths(index: Index, rank: int, rows: Sequence[int]) -> tuple[int, int, int]:
    """Of the columns of operations, arguments and sites, as the newest calls and some of the others need them."""
    e, signatures = index.job.ranks[rank].entries, index.job.signatures
    some = [row for part in (rows[-200:], rows[:: len(rows) // 200 + 1]) for row in part]
    made = {(e.group[row], e.signature[row]) for row in some}
    return (
        max(cells(operation(index.job, group, signatures[signature])) for group, signature in made),
        max(cells(arguments(signatures[signature])) for _, signature in made),
        max(cells(index.site(stack)) for stack in {e.stack[row] for row in some}),
    )


def say(index: Index, rank: int, row: int, width: int, everywhere: bool, widths: Widths) -> Line:
    call = index.job.call(rank, row)
    mark, word, role = state(call, index.ends(rank).open.get(call.group, NONE))
    differs = index.deviates(rank, row)
    where = pad(label(index.job.groups[call.group].label, 10), 11) if everywhere else ""
    ops = min(widths.ops, 20 if width >= 64 else 16)
    free = width - 4 - ops - len(where) - widths.numbers
    word = word if free >= 20 else ""  # the glyph says it, too
    free -= 8 if word else 0
    # The call site is shown whole or not at all: half a file name helps nobody.
    beside = free - widths.sites - 1
    room = min(widths.arguments, 30, beside) if beside >= min(widths.arguments, 15) else max(10, free - 1)
    return [
        (DIFFERS if differs else " ", "bad"),
        (mark + " ", role),
        (where, "dim"),
        (pad(number(call), widths.numbers), "plain"),
        (pad(operation(index.job, call.group, call.signature), ops) + " ", "bad" if differs else "bold"),
        (pad(word, 8) if word else "", role),
        (pad(arguments(call.signature), room) + " ", "bad" if differs else "plain"),
        (pad(index.site(index.job.ranks[rank].entries.stack[row]), widths.sites), "plain"),
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
