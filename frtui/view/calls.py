"""Pane 4: the calls of one rank, oldest first, in one group or in all; a batch is one line."""

from __future__ import annotations

from collections.abc import Sequence

from frtui.model import NONE
from frtui.view.index import Index
from frtui.view.rows import Keyed, Line, Page, Rows, pad, wrap
from frtui.view.select import Selection
from frtui.view.words import DIFFERS, arguments, clock, label, number, operation, span, state


def title(index: Index, now: Selection) -> str:
    if now.rank is None:
        return "4 Calls"
    return f"4 Calls  rank {now.rank} · {'all groups' if now.group is None else index.job.groups[now.group].label}"


def rows(index: Index, now: Selection) -> Rows:
    if now.rank is None:
        return Rows()
    rank, everywhere = now.rank, now.group is None
    here = index.rows(rank, now.group)
    if not here:
        return Page(lambda width: [[(text, "warn")] for text in wrap(nothing(index, rank, now.group), width)])
    numbers = number_width(index, rank, here)
    return Keyed(here, lambda row, width: say(index, rank, row, width, everywhere, numbers))


def number_width(index: Index, rank: int, rows: Sequence[int]) -> int:
    """Of the column of sequence numbers, as the newest calls need it."""
    e = index.job.ranks[rank].entries
    widest = max(max(e.seq[row], e.p2p_seq[row]) for row in rows[-1:])
    return max(5, len(str(widest)) + 1 + 4 * any(e.p2p[row] for row in rows[-100:])) + 1


def say(index: Index, rank: int, row: int, width: int, everywhere: bool, numbers: int) -> Line:
    call = index.job.call(rank, row)
    mark, word, role = state(call, index.ends(rank).open.get(call.group, NONE))
    differs = index.deviates(rank, row)
    where = pad(label(index.job.groups[call.group].label, 10), 11) if everywhere else ""
    # The call site is shown whole or not at all: half a file name helps nobody.
    ops = 20 if width >= 64 else 16
    free = width - 13 - ops - len(where) - numbers
    room = max(15, min(30, free - 21 if free >= 36 else free))
    return [
        (DIFFERS if differs else " ", "bad"),
        (mark + " ", role),
        (where, "dim"),
        (pad(number(call), numbers), "plain"),
        (pad(operation(index.job, call), ops) + " ", "bad" if differs else "bold"),
        (pad(word, 8), role),
        (pad(arguments(call.signature), room) + " ", "bad" if differs else "plain"),
        (pad(index.site(index.job.ranks[rank].entries.stack[row]), 20) + " ", "plain"),
        (f"{span(call.duration):>9}", "plain"),
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
