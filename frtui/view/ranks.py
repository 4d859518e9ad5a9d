"""Pane 2: one line for each rank: its state in a word, where it stands, its host."""

from __future__ import annotations

from typing import TYPE_CHECKING

from frtui.model import Rank
from frtui.view import process
from frtui.view.index import Index
from frtui.view.ordered import Sorted, by_class
from frtui.view.rows import Line, Rows, pad
from frtui.view.words import BAD, DOUBT, clock, label, number, operation

if TYPE_CHECKING:
    from frtui.engine.finding import Finding

NARROW = 34
"""Columns below which the group is the last thing that a line says."""


def rows(index: Index, findings: tuple[Finding, ...]) -> Rows:
    blamed = frozenset(rank for finding in findings for rank in finding.ranks)
    waiting = frozenset(rank for finding in findings for rank in finding.waiting)
    digits = len(str(index.world[-1])) if index.world else 1
    hosts = min(18, max((len(rank.host) for rank in index.job.ranks.values()), default=0))
    numbers = index.number_width
    newest = max((newest_ns(rank) for rank in index.job.ranks.values()), default=0)

    def say(rank: int, width: int) -> Line:
        mark, word, role = state(index, rank, blamed, waiting)
        head: Line = [
            (mark + " ", role),
            (f"{rank:>{digits}} ", "plain" if mark == " " else role),
            (pad(word, 8), role),
        ]
        if rank not in index.job.ranks:
            return head
        seq, op, group = standing(index, rank)
        data = index.job.ranks[rank]
        head.append((pad(seq, numbers + 1), "plain"))
        if width < NARROW:
            return [*head, (label(group, max(6, width - 12 - digits - numbers)), "dim")]
        lag = (newest - newest_ns(data)) / 1e9 if newest_ns(data) > 0 else 0
        return head + [
            (pad(label(group, 12 if width < 60 else 30), 12), "dim"),
            (" " + pad(op, 18), "plain"),
            (" " + pad(data.host, hosts) if hosts else "", "dim"),
            (f"  {process.ending(data)}" if process.word(data) else "", "bad" if data.error else "warn"),
            (f"  last call {clock(newest_ns(data))}" if newest_ns(data) > 0 else "", "dim"),
            (f", {lag:,.1f} s before the job's last" if lag >= 1 else "", "warn" if lag >= 10 else "dim"),
        ]

    order = index.keep("order of ranks", lambda: by_class(index.world, lambda rank: kind(index, rank, blamed)))
    return Sorted(index.world, say, order)


def kind(index: Index, rank: int, blamed: frozenset[int]) -> int:
    """What stands on top: who is blamed, then who is not done."""
    return 0 if rank in blamed else 2 if state(index, rank, blamed, frozenset())[1] in ("done", "ended") else 1


def state(index: Index, rank: int, blamed: frozenset[int], waiting: frozenset[int]) -> tuple[str, str, str]:
    """(glyph, word, role) of a rank."""
    if rank in index.missing:
        return (BAD if rank in blamed else DOUBT), "no dump", "bad" if rank in blamed else "warn"
    if rank in blamed:
        return BAD, "blamed", "bad"
    ended = process.word(index.job.ranks[rank])
    if not index.job.ranks[rank].calls:
        return DOUBT, ended or "empty", "warn"
    if index.ends(rank).open:
        return " ", "waits" if rank in waiting else "in call", "plain"
    return " ", ended or "done", "warn" if ended in ("raised", "gone") else "ok"


def standing(index: Index, rank: int) -> tuple[str, str, str]:
    """(number, operation, group) of the rank's first unfinished call, or of its last one."""
    ends = index.ends(rank)
    row = min(ends.open.values(), default=max(ends.last.values(), default=-1))
    if row < 0:
        return "", "", ""
    call = index.job.call(rank, row)
    op = "batch" if len(call.signature.parts) > 1 else operation(index.job, call.group, call.signature)
    return number(call).replace("p2p ", "p"), op, index.job.groups[call.group].label


def newest_ns(rank: Rank) -> int:
    """When the rank made its last call."""
    return rank.entries.created[-1] if len(rank.entries) else -1
