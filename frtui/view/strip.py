"""A rank's last minute in one line of text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from frtui.view.index import Index
from frtui.view.words import clock, span

BUSY, OPEN, FREE, MADE = "█", "▒", "·", "│"
MARKS = ((BUSY, "in a call"), (OPEN, "in one that has not ended"), (FREE, "between"), (MADE, "made, its end unknown"))
MINUTE = 60_000_000_000
NEWEST = 5_000
"""Calls of a rank that are looked at."""


class Window(NamedTuple):
    """The time that a strip shows, in ns since the epoch, on the ranks' own clocks."""

    begin: int
    end: int


def window(index: Index, ranks: Sequence[int], group: int | None) -> Window | None:
    """The last minute before the last thing that was recorded, or less where no more is known."""
    begins, ends = [], []
    for rank in ranks:
        rows = index.rows(rank, group)[-NEWEST:]
        e = index.job.ranks[rank].entries
        times = [e.created[row] for row in rows if e.created[row] > 0]
        if times:
            begins.append(times[0])
            ends.append(max(times[-1], *(e.completed[row] for row in rows[-100:])))
    return Window(max(min(begins), max(ends) - MINUTE), max(ends)) if begins else None


def strip(index: Index, rank: int, group: int | None, shown: Window, width: int) -> str:
    line, last = [FREE] * width, width - 1
    begin, end = shown
    whole = max(1, end - begin)
    e = index.job.ranks[rank].entries
    created, completed, done = e.created, e.completed, e.done
    for row in index.rows(rank, group)[-NEWEST:]:
        made, ended = created[row], completed[row]
        if made <= 0 or made > end:
            continue
        at, mark = (made - begin) * width // whole, BUSY  # columns; negative: before the strip
        if not done[row]:
            to, mark = last, OPEN
        elif ended >= made:
            to = (ended - begin) * width // whole
        else:
            to, mark = at, MADE
        if to < 0 or mark == MADE and line[min(at, last)] != FREE:
            continue
        if 0 <= at == to <= last:
            line[at] = mark
        else:
            at, to = min(last, max(0, at)), min(last, to)
            line[at : to + 1] = [mark] * (to + 1 - at)
    return "".join(line)


def axis(shown: Window, width: int) -> str:
    """`14:13:20 … 14:14:20 UTC, 1.2 s a column`, the times at both ends where there is room."""
    left, right = clock(shown.begin), clock(shown.end)
    if shown.end - shown.begin >= 2_000_000_000:  # below that, the second may be the same at both ends
        left, right = left[:8], right[:8]
    each = f"{span((shown.end - shown.begin) / 1e6 / max(1, width)) or '0 us'} a column, UTC"
    free = width - len(left) - len(right) - len(each)
    if free < 4:
        return f"{left} to {right}, {each}"
    return left + " " * (free // 2) + each + " " * (free - free // 2) + right
