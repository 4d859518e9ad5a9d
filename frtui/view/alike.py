"""Who else has a stack: equal ones over the ranks, and the stack of the other side of a finding."""

from __future__ import annotations

from typing import TYPE_CHECKING

from frtui.model import NONE, Call, Job, Stack
from frtui.stacks import call_site, doing, program
from frtui.text import ranges, together
from frtui.view import frames
from frtui.view.across import Across
from frtui.view.index import Index
from frtui.view.rows import Line, cut, wrap
from frtui.view.words import number, operation, place, rank_list

if TYPE_CHECKING:
    from frtui.engine.finding import Finding

LISTED = 40
"""Columns for the numbers of ranks that have something in common."""
OTHERS = 2
"""So many other calls of that side are told of."""
IN_THREAD = -2
"""In place of a row: the rank has no call to tell of, but its main thread was seen."""


def with_stack(index: Index, call: Call, view: Across) -> list[int]:
    """The ranks that made the call with this very stack; of an open send or recv also those that stand there."""
    mine = index.job.ranks[call.rank].entries.stack[call.row]
    if mine == NONE:
        return []
    made = {rank for same in view.same for rank, row in same.calls if stack_of(index, rank, row) == mine}
    if call.p2p and not call.done:
        made.update(
            rank
            for rank in index.job.ranks
            if any(stack_of(index, rank, row) == mine for row in index.ends(rank).open.values())
        )
    return sorted(made)


def stack_of(index: Index, rank: int, row: int) -> int:
    return index.job.ranks[rank].entries.stack[row]


def in_thread(job: Job, name: str, stack: Stack) -> list[int]:
    """The ranks whose thread of this name was in this very stack."""
    return [n for n, rank in job.ranks.items() if any(t.name == name and t.stack == stack for t in rank.threads)]


def told(ranks: list[int]) -> str:
    """`5 ranks have this stack: 0-3, 7`."""
    if len(ranks) == 1:
        return "1 rank has this stack"
    return f"{len(ranks):,} ranks have this stack: {cut(ranges(ranks), LISTED)}" if ranks else ""


def other_side(index: Index, finding: Finding, rank: int, shown: Stack, width: int, unfolded: bool) -> list[Line]:
    """Of a blamed rank, where most of the others stand; of another, where the blamed ranks stand."""
    blamed = rank in finding.ranks
    who = finding.waiting if finding.group is None else index.job.groups[finding.group].ranks
    accused = frozenset(finding.ranks)
    others = [r for r in who if r not in accused] if blamed else finding.ranks
    side = [r for r in others if r in index.job.ranks]
    rows = {r: row_at(index, finding, r) for r in side}
    ranks = majority(index, rows)
    if not ranks:
        return []
    first, row = ranks[0], rows[ranks[0]]
    call = index.job.call(first, row) if row >= 0 else None
    stack = call.stack if call else index.job.ranks[first].threads[0].stack
    at = verb(index, finding, call, len(ranks)) if call else f"{inside(len(ranks))} {thread_in(stack)}"
    equal = "with the same stack" if stack == shown else "innermost first"
    said = f"{subject(ranks, len(side), blamed)} {at}, {equal}{elsewhere(index, finding, rows, ranks)}"
    told: list[Line] = [[(part, "dim")] for part in wrap(said, width)]
    if stack == shown:
        return told
    kind, site = frames.of_call(stack), call_site(stack)
    if not call:
        kind, site = frames.of_thread(stack), call_site(program(stack))
    return told + frames.lines(stack, width, unfolded, kind, site)


def elsewhere(index: Index, finding: Finding, rows: dict[int, int], ranks: list[int]) -> str:
    """The others of that side, which are not in the stack that is told of: `; rank 0 at train.py:247`."""
    calls = {r: index.job.call(r, row) for r, row in rows.items() if row >= 0}
    alike: dict[object, list[int]] = {}
    for rank, call in calls.items():
        if rank not in ranks:
            alike.setdefault(same_call(call), []).append(rank)
    told = []
    for those in sorted(alike.values(), key=len, reverse=True)[:OTHERS]:
        first = calls[those[0]]
        known = ranks[0] in calls and same_call(first) == same_call(calls[ranks[0]])
        made = "" if known else f" {made_or_in(finding, first, len(those))} {call_of(index, first)}"
        sites = together({rank: place(call_site(calls[rank].stack)) for rank in those})
        told.append(f"; {rank_list(those, LISTED)}{made}{' at ' + sites if sites else ''}")
    more = len(alike) - len(told)
    return "".join(told) + (f"; others in {more} more calls" if more > 0 else "")


def same_call(call: Call) -> object:
    return call.group, call.p2p_seq if call.p2p else call.seq, call.p2p, call.done


def row_at(index: Index, finding: Finding, rank: int) -> int:
    """Of the finding's call, if the rank made it; else its main thread, if that was seen; else its last call."""
    group, seq, data = finding.group, finding.seq, index.job.ranks[rank]
    row = index.row_of(rank, group, seq) if group is not None and seq is not None and not finding.p2p else NONE
    if row == NONE and data.threads and program(data.threads[0].stack):
        return IN_THREAD
    ends = index.ends(rank)
    if row == NONE:
        row = min(ends.open.values(), default=max(ends.last.values(), default=NONE))
    return row if row != NONE and data.entries.stack[row] != NONE else NONE


def majority(index: Index, rows: dict[int, int]) -> list[int]:
    """The ranks of which most are at one call, made from one stack, or in equal threads."""
    alike: dict[object, list[int]] = {}
    for rank, row in rows.items():
        data = index.job.ranks[rank]
        e = data.entries
        if row == IN_THREAD:
            alike.setdefault(data.threads[0].stack, []).append(rank)
        elif row != NONE:
            key = (e.stack[row], e.group[row], e.seq[row], e.p2p_seq[row], e.done[row], e.signature[row])
            alike.setdefault(key, []).append(rank)
    return max(alike.values(), key=len, default=[])


def subject(ranks: list[int], of: int, others: bool) -> str:
    if not others:
        return f"blamed rank{'s' * (len(ranks) > 1)} {cut(ranges(ranks), LISTED)}"
    if of == 1:
        return f"the other rank, {ranks[0]},"
    many = f"the other {of:,} ranks"
    return f"{many if len(ranks) == of else f'{len(ranks):,} of {many}'} ({cut(ranges(ranks), LISTED)})"


def inside(ranks: int) -> str:
    return "is in" if ranks == 1 else "are in"


def verb(index: Index, finding: Finding, call: Call, ranks: int) -> str:
    """`are in all_reduce #2 at train.py:60`; `last made …` of a call before the finding's."""
    return f"{made_or_in(finding, call, ranks)} {call_of(index, call)} at {place(call_site(call.stack))}"


def made_or_in(finding: Finding, call: Call, ranks: int) -> str:
    meant = (call.group, call.p2p_seq if call.p2p else call.seq) == (finding.group, finding.seq)
    return inside(ranks) if not call.done else "made" if meant else "last made"


def call_of(index: Index, call: Call) -> str:
    return f"{operation(index.job, call.group, call.signature)} {number(call)}"


def thread_in(stack: Stack) -> str:
    return doing(stack, 1).removesuffix(" ← …")
