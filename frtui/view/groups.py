"""Pane 3: one line for each process group: its earliest unfinished call, who joined it, who did not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from frtui.model import NONE, Group
from frtui.text import count, ranges
from frtui.view.index import Frontier, Index
from frtui.view.ordered import Order, Sorted, by_class
from frtui.view.rows import Line, Rows, cells, pad
from frtui.view.words import BAD, DOUBT, label

if TYPE_CHECKING:
    from frtui.engine.finding import Finding


def rows(index: Index, findings: tuple[Finding, ...]) -> Rows:
    blamed = frozenset(f.group for f in findings if f.group is not None and f.kind not in ("no-hang", "inconclusive"))
    numbers = index.number_width
    longest = max((cells(g.label) for g in index.job.groups), default=0)

    def say(number: int, width: int) -> Line:
        group, frontier = index.job.groups[number], index.frontier(number)
        mark, role = (BAD, "bad") if number in blamed else (DOUBT, "warn") if frontier.missing else (" ", "plain")
        names = min(longest, 11 if width < 34 else 16 if width < 60 else 40)
        p2p = frontier.p2p or frontier.seq == NONE and frontier.used
        seq = "p2p" if p2p else "" if frontier.seq == NONE else f"#{frontier.seq}"
        return [
            (mark + " ", role),
            (pad(label(group.label, names), names + 1), role if mark == BAD else "plain"),
            (pad(seq, numbers + 1), "plain"),
            *standing(frontier, group, width - 4 - names - numbers, width < 60),
        ]

    order = index.keep("order of groups", lambda: ordered(index, findings, blamed))
    return Sorted(range(len(index.job.groups)), say, order)


def ordered(index: Index, findings: tuple[Finding, ...], blamed: frozenset[int]) -> Order:
    """The groups of the findings on top, then those with an open call; by the ends of the rings, which are known."""
    opened = {group for rank in index.job.ranks for group in index.ends(rank).open}
    first = {f.group: n - len(findings) for n, f in reversed(list(enumerate(findings))) if f.group in blamed}
    return by_class(range(len(index.job.groups)), lambda group: first.get(group, 0 if group in opened else 1))


def standing(frontier: Frontier, group: Group, room: int, narrow: bool) -> Line:
    """`1 of 4, not 1-3  4 ranks: 0-3`; a narrow pane leaves out from the end what has no room as a whole."""
    word, role = progress(frontier, len(group.ranks))
    absent, members = who(frontier), f"  {count(len(group.ranks), 'rank')}: {ranges(group.ranks)}"
    members += "  put together from the entries" if group.rebuilt else ""
    if narrow and len(word + absent) > room:
        word, absent = word.replace(" of ", "/"), absent.replace(",", "")
    if narrow and len(word + absent) > room:
        word, absent = word.replace("/", " of ").partition(" on ")[0], ""
    if narrow and len(word + absent + members) > room:
        members = ""
    return [(word, role), (absent, "warn"), (members, "dim")]


def progress(frontier: Frontier, size: int) -> tuple[str, str]:
    if frontier.p2p:
        return f"open on {len(frontier.joined)}", "warn"
    if frontier.open:
        return f"{len(frontier.joined)} of {size}", "warn" if len(frontier.joined) < size else "plain"
    if frontier.seq != NONE:
        return "done", "ok"
    return ("done", "ok") if frontier.used else ("unused", "dim")


def who(frontier: Frontier) -> str:
    """`, not 3`: the members that have not joined."""
    parts = [f"not {ranges(frontier.absent)}" if frontier.absent and frontier.open else ""]
    parts.append(f"no dump {ranges(frontier.missing)}" if frontier.missing else "")
    return "".join(f", {part}" for part in parts if part)
