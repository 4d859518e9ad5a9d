"""Pane 5: one call: its arguments beside the others', why it is blamed, its stack."""

from __future__ import annotations

from typing import TYPE_CHECKING

from frtui.model import STATE_NAMES, Call
from frtui.stacks import call_site
from frtui.text import count
from frtui.view import alike, frames, not_made, process
from frtui.view.across import Across, across, across_p2p, sentence
from frtui.view.findings import call_name
from frtui.view.index import Index
from frtui.view.lacking import lacks
from frtui.view.rows import LABEL, FrameLine, Line, Page, cells, labelled, wrap
from frtui.view.select import Selection, selected
from frtui.view.words import arguments, clock, dtype, label, named, number, operation, shapes, span

if TYPE_CHECKING:
    from frtui.engine.finding import Finding

SHOWN_PARTS = 6
"""Members of a batch that are listed before `c` unfolds the rest."""


def page(index: Index, findings: tuple[Finding, ...], now: Selection) -> Page:
    finding = selected(findings, now)
    if finding and now.rank is not None and now.row is None and lacks(index, finding, now.rank):
        rank = now.rank
        return Page(lambda width: missing_call(index, finding, rank, width, now.unfolded))
    if now.rank is None or now.row is None or now.rank not in index.job.ranks:
        return Page(lambda width: (why(finding, width) if finding else []) + without_call(index, now, finding, width))
    call = index.job.call(now.rank, now.row)
    relevant = finding if finding and concerns(finding, call) else None

    def make(width: int) -> list[Line]:
        view = across_p2p(index, call) if call.p2p else across(index, call.group, call.seq)
        lines = head(index, call, relevant, width) + arguments_of(index, call, view, width)
        if relevant:
            lines += why(relevant, width)
        lines += stacks(index, call, view, width, now.unfolded, finding)
        if relevant:
            lines += alike.other_side(index, relevant, call.rank, call.stack, width, now.unfolded)
        return lines

    return Page(make)


def missing_call(index: Index, finding: Finding, rank: int, width: int, unfolded: bool) -> list[Line]:
    """A call that the blamed rank did not make: the accusation first, the call before it last."""
    lines = not_made.title(index, finding, width) + not_made.made_by(index, finding, width)
    lines += not_made.instead(index, rank, width, unfolded) + why(finding, width)
    lines += alike.other_side(index, finding, rank, (), width, unfolded)
    row = index.ends(rank).last.get(finding.group if finding.group is not None else -1)
    if finding.focus and finding.focus[0] == rank:
        row = finding.focus[1]
    if row is None:
        return lines
    call = index.job.call(rank, row)
    view = across_p2p(index, call) if call.p2p else across(index, call.group, call.seq)
    first, *rest = head(index, call, None, width - 8)
    lines += [[("before  ", "dim"), *first], *rest, *arguments_of(index, call, view, width)]
    return lines + stack(index, call, view, width, unfolded)


def without_call(index: Index, now: Selection, finding: Finding | None, width: int) -> list[Line]:
    """Of a rank that made no call, what its process was in, where the in-job recorder saw it; and where others are."""
    rank = index.job.ranks.get(now.rank) if now.rank is not None else None
    lines = process.page(index.job, rank, width, now.unfolded) if rank else []
    if finding and now.rank in finding.ranks and now.rank is not None:
        lines += alike.other_side(index, finding, now.rank, (), width, now.unfolded)
    return lines


def stacks(index: Index, call: Call, view: Across, width: int, unfolded: bool, finding: Finding | None) -> list[Line]:
    """Where the call was made, and what the rank was in at its last call; of a blamed rank that comes first."""
    made = stack(index, call, view, width, unfolded)
    rank = index.job.ranks[call.rank]
    if call.row != rank.calls[-1] and not (finding and call.rank in finding.ranks and concerns(finding, call)):
        return made
    inside = process.page(index.job, rank, width, unfolded)
    return inside + made if finding and call.rank in finding.ranks else made + inside


def concerns(finding: Finding, call: Call) -> bool:
    """Whether a call is the one that a finding speaks of, on whichever rank."""
    return finding.focus == (call.rank, call.row) or meets(finding, call)


def meets(finding: Finding, call: Call) -> bool:
    """Whether a call has the group and the number that a finding names; its focus may be the call before that."""
    seq = call.p2p_seq if call.p2p else call.seq
    return finding.group == call.group and finding.seq == seq and finding.p2p == call.p2p


def head(index: Index, call: Call, finding: Finding | None, width: int) -> list[Line]:
    lines = title(index, call, finding, width)
    state = STATE_NAMES[call.state] if not call.done else "finished"
    timeout = f", timeout {span(call.timeout)}" if call.timeout > 0 and not call.done else ""
    took = f", took {span(call.duration)}" if call.duration >= 0 else ""
    since = f"{' ' if state == 'scheduled' else ', made '}{clock(call.created)[:8]} UTC" if call.created > 0 else ""
    state += took + since + timeout
    record = f" (record {call.record})" if call.record >= 0 else ""  # as a finding's evidence has it
    state += record if LABEL + cells(state + record) <= width else ""
    lines += labelled("state", state, width, "plain" if call.done else "warn")
    site = call_site(call.stack)
    told = labelled("site", site.place if site else "recorded without a stack", width, "bold" if site else "dim")
    lines += [FrameLine(line, site) for line in told] if site else told
    return lines + (labelled("error", call.error, width, "bad") if call.error else [])


def title(index: Index, call: Call, finding: Finding | None, width: int) -> list[Line]:
    """`all_reduce  tp:7 #85  rank 2  size-mismatch`; the group is shortened where there is no room for its name."""
    blamed, meant = finding is not None and call.rank in finding.ranks, finding is not None and meets(finding, call)
    told = operation(index.job, call.group, call.signature)
    rest, name = f" {number(call)}  rank {call.rank}", index.job.groups[call.group].label
    kind = f"  {finding.kind}" if finding and blamed and meant else ""
    if width - cells(told + rest + kind) - 2 < min(cells(name), 12):
        kind = ""  # the first pane says it, too
    group = label(name, max(6, width - cells(told + rest + kind) - 2))
    lines: list[Line] = [[(told, "bold"), (f"  {group}{rest}", "plain"), (kind, "bad")]]
    if finding and blamed and not meant and finding.group is not None:
        lines += labelled("before", f"the blamed {call_name(index.job, finding, max(24, width - 19))}", width, "warn")
    return lines


def arguments_of(index: Index, call: Call, view: Across, width: int) -> list[Line]:
    signature = call.signature.only
    role = "bad" if index.deviates(call.rank, call.row) else "plain"
    if signature.parts:
        lines = labelled("batch", arguments(signature), width, role)
    elif signature.inputs == signature.outputs:
        lines = labelled("in, out", arguments(signature) or "no tensors", width, role)
    else:
        lines = labelled("in", f"{shapes(signature.inputs)} {dtype(signature.input_dtypes)}", width, role)
        lines += labelled("out", f"{shapes(signature.outputs)} {dtype(signature.output_dtypes)}", width, role)
    if len(view.same) + len(view.absent) > 1:
        lines += labelled("group", sentence(view), width, "bold")
    elif view.same and len(view.same[0].calls) > 1:
        lines += labelled("group", f"all {count(len(view.same[0].calls), 'rank')} made it alike", width, "dim")
    return lines


def why(finding: Finding, width: int) -> list[Line]:
    lines: list[Line] = []
    for n, fact in enumerate(finding.evidence):
        lines += labelled("" if n else "why", fact, width)
    for n, step in enumerate(finding.next_steps):
        lines += labelled("" if n else "next", step, width, "bold")
    return lines


def stack(index: Index, call: Call, view: Across, width: int, unfolded: bool) -> list[Line]:
    lines = parts(index, call, unfolded)
    if not call.stack:
        return lines
    shared = ", ".join(
        part for part in ("stack, innermost first", alike.told(alike.with_stack(index, call, view))) if part
    )
    lines += [[(text, "dim")] for text in wrap(shared, width)]
    site = call_site(call.stack)
    return lines + frames.lines(call.stack, width, unfolded, frames.of_call(call.stack), site)


def parts(index: Index, call: Call, unfolded: bool) -> list[Line]:
    """The members of a batch."""
    many = call.signature.only.parts
    shown = many if unfolded or len(many) <= SHOWN_PARTS + 1 else many[:SHOWN_PARTS]
    names = [f"  {named(index.job, call.group, part)}".ljust(24) for part in shown]
    lines: list[Line] = [[(f"{name} {arguments(part)}", "plain")] for name, part in zip(names, shown)]
    if len(shown) < len(many):
        lines.append([(f"  … {len(many) - len(shown)} more in the batch (c shows)", "dim")])
    return lines
