"""Pane 3: one line for each process group: its earliest unfinished call, who joined it, who did not."""

from __future__ import annotations

from frtui.engine.finding import Finding
from frtui.model import NONE
from frtui.text import ranges
from frtui.view.index import Frontier, Index
from frtui.view.rows import Keyed, Line, Rows, cells, pad
from frtui.view.words import BAD, DOUBT, count, label


def rows(index: Index, findings: tuple[Finding, ...]) -> Rows:
    blamed = frozenset(f.group for f in findings if f.group is not None and f.kind not in ("no-hang", "inconclusive"))
    longest = max((cells(g.label) for g in index.job.groups), default=0)

    def say(number: int, width: int) -> Line:
        group, frontier = index.job.groups[number], index.frontier(number)
        mark, role = (BAD, "bad") if number in blamed else (DOUBT, "warn") if frontier.missing else (" ", "plain")
        names = min(longest, 13 if width < 34 else 16 if width < 60 else 40)
        seq = "" if frontier.seq == NONE or frontier.p2p else f"#{frontier.seq}"
        word, word_role = progress(frontier, len(group.ranks))
        return [
            (mark + " ", role),
            (pad(label(group.label, names), names + 1), role if mark == BAD else "plain"),
            (pad(seq, 6) if names > 13 else pad(seq, 5) + " " * (len(seq) > 4), "plain"),
            (word, word_role),
            (who(frontier), "warn"),
            (f"  {count(len(group.ranks), 'rank')}: {ranges(group.ranks)}", "dim"),
            ("  members put together from the entries" if group.rebuilt else "", "dim"),
        ]

    return Keyed(range(len(index.job.groups)), say)


def progress(frontier: Frontier, size: int) -> tuple[str, str]:
    if frontier.p2p:
        return f"p2p open on {count(len(frontier.joined), 'rank')}", "warn"
    if frontier.open:
        return f"{len(frontier.joined)} of {size}", "warn" if len(frontier.joined) < size else "plain"
    if frontier.seq != NONE:
        return "done", "ok"
    return ("p2p done", "ok") if frontier.used else ("unused", "dim")


def who(frontier: Frontier) -> str:
    """`, not 3`: the members that have not joined."""
    parts = [f"not {ranges(frontier.absent)}" if frontier.absent and frontier.open else ""]
    parts.append(f"no dump {ranges(frontier.missing)}" if frontier.missing else "")
    return "".join(f", {part}" for part in parts if part)
