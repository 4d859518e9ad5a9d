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

    def place(self, at: int, width: int) -> int:
        return max(0, min(width - 1, (at - self.begin) * width // max(1, self.end - self.begin)))


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
    line = [FREE] * width
    e = index.job.ranks[rank].entries
    for row in index.rows(rank, group)[-NEWEST:]:
        created, completed = e.created[row], e.completed[row]
        if created <= 0 or max(created, completed) < shown.begin and e.done[row] or created > shown.end:
            continue
        at = shown.place(created, width)
        if e.done[row] and completed < created:
            line[at] = MADE if line[at] == FREE else line[at]
            continue
        to = shown.place(completed, width) if e.done[row] else width - 1
        line[at : to + 1] = [BUSY if e.done[row] else OPEN] * (to + 1 - at)
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
