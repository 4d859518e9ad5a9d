"""The top of the Call pane for a call that the blamed rank did not make: who made it, where that rank is instead."""

from __future__ import annotations

from typing import TYPE_CHECKING

from frtui.stacks import call_site, doing
from frtui.text import ranges
from frtui.view import frames, process
from frtui.view.across import across
from frtui.view.findings import call_name
from frtui.view.index import Index
from frtui.view.lacking import left_alone, who_lacks
from frtui.view.rows import FrameLine, Line, cells, labelled
from frtui.view.words import label, number, operation, place, rank_list

if TYPE_CHECKING:
    from frtui.engine.finding import Finding
    from frtui.model import Call


def title(index: Index, finding: Finding, width: int) -> list[Line]:
    """`tp:2 all_reduce #18 — rank 6 did not make it`; in two lines where one would leave only a group's number."""
    who = f"{rank_list(who_lacks(index, finding))} did not make it"
    name = call_name(index.job, finding, max(24, width - cells(who) - 3))
    if name.startswith("…") or cells(name) + 3 + cells(who) > width:
        return [[(call_name(index.job, finding, width), "bold")], [(who, "bad")]]
    return [[(name, "bold"), (" — ", "plain"), (who, "bad")]]


def made_by(index: Index, finding: Finding, width: int) -> list[Line]:
    """`ranks 4-5, 7, waiting, at layers.py:130`; of a send or recv, who waits for the other side of it."""
    assert finding.group is not None
    assert finding.seq is not None
    if finding.p2p:
        return [line for rank, row in left_alone(index, finding) for line in waits(index, rank, row, width)]
    lines: list[Line] = []
    for same in across(index, finding.group, finding.seq).same:
        for word in ("waiting", "finished"):
            ranks = [r for r, row in same.calls if bool(index.job.ranks[r].entries.done[row]) == (word == "finished")]
            if ranks:
                told = f"{'rank' if len(ranks) == 1 else 'ranks'} {ranges(ranks)}, {word}"
                told += f", at {same.site}" if same.site else ""
                lines += labelled("" if lines else "made by", told, width, "warn" if word == "waiting" else "plain")
    return lines


def waits(index: Index, rank: int, row: int, width: int) -> list[Line]:
    call = index.job.call(rank, row)
    told = f"rank {rank}, in {operation(index.job, call.group, call.signature)} {number(call)}{at(call)}"
    return labelled("waits", told, width, "warn")


def at(call: Call) -> str:
    site = place(call_site(call.stack))
    return f", at {site}" if site else ""


def instead(index: Index, rank: int, width: int, unfolded: bool) -> list[Line]:
    """The open call of the rank, with its stack; what its threads were in, where the in-job recorder saw that."""
    data, ends = index.job.ranks[rank], index.ends(rank)
    row = min(ends.open.values(), default=None)
    call = None if row is None else index.job.call(rank, row)
    seen = doing(data.threads[0].stack, 1).removesuffix(" ← …") if data.threads and data.error is None else ""
    told = process.ending(data) or (f"was in {seen}" if seen else "is in no call that was recorded")
    if call:
        group = label(index.job.groups[call.group].label, 24)
        told = f"is in {operation(index.job, call.group, call.signature)} {number(call)} of {group}{at(call)}"
    lines: list[Line] = labelled("instead", f"rank {rank} {told}", width, "bold")
    site = call_site(call.stack) if call else None
    if site:
        lines = [FrameLine(line, site) for line in lines]
    if call and not data.threads and data.error is None:
        lines += frames.lines(call.stack, width, unfolded, frames.of_call(call.stack), site)
    return lines + process.page(index.job, data, width, unfolded)
