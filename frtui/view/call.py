"""Pane 5: one call: its arguments beside the others', why it is blamed, its stack."""

from __future__ import annotations

from frtui.engine.finding import Finding
from frtui.model import NONE, STATE_NAMES, Call, Frame
from frtui.stacks import call_site, is_cpp, is_cpython, is_torch
from frtui.view.across import Across, across, across_p2p, sentence
from frtui.view.index import Index
from frtui.view.rows import Line, Page, cells, cut_left, labelled, wrap
from frtui.view.select import Selection
from frtui.view.words import arguments, clock, count, dtype, named, number, operation, shapes, span

SHOWN_PARTS = 6
"""Members of a batch that are listed before `c` unfolds the rest."""


def page(index: Index, findings: tuple[Finding, ...], now: Selection) -> Page:
    finding = findings[now.finding] if now.finding is not None and now.finding < len(findings) else None
    if now.rank is None or now.row is None or now.rank not in index.job.ranks:
        return Page(lambda width: why(finding, width) if finding else [])
    call = index.job.call(now.rank, now.row)
    relevant = finding if finding and concerns(finding, call) else None

    def make(width: int) -> list[Line]:
        view = across_p2p(index, call) if call.p2p else across(index, call.group, call.seq)
        lines = head(index, call, relevant, width) + arguments_of(index, call, view, width)
        if relevant:
            lines += why(relevant, width)
        return lines + stack(index, call, view, width, now.unfolded)

    return Page(make)


def concerns(finding: Finding, call: Call) -> bool:
    """Whether a call is the one that a finding speaks of, on whichever rank."""
    if finding.focus == (call.rank, call.row):
        return True
    seq = call.p2p_seq if call.p2p else call.seq
    return finding.group == call.group and finding.seq == seq and finding.p2p == call.p2p


def head(index: Index, call: Call, finding: Finding | None, width: int) -> list[Line]:
    blamed = finding is not None and call.rank in finding.ranks
    lines: list[Line] = [
        [
            (operation(index.job, call), "bold"),
            (f"  {index.job.groups[call.group].label} {number(call)}  rank {call.rank}", "plain"),
            (f"  {finding.kind}" if finding and blamed else "", "bad"),
        ]
    ]
    state = STATE_NAMES[call.state] if not call.done else "finished"
    timeout = f", timeout {span(call.timeout)}" if call.timeout > 0 and not call.done else ""
    took = f", took {span(call.duration)}" if call.duration >= 0 else ""
    since = f", made {clock(call.created)[:8]} UTC" if call.created > 0 else ""
    lines += labelled("state", state + took + since + timeout, width, "plain" if call.done else "warn")
    site = call_site(call.stack)
    lines += labelled("site", site.place if site else "recorded without a stack", width, "bold" if site else "dim")
    return lines


def arguments_of(index: Index, call: Call, view: Across, width: int) -> list[Line]:
    signature = call.signature
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
    alike = same_stack(index, call, view)
    shared = f", {count(alike, 'rank')} {'has' if alike == 1 else 'have'} this stack" if alike else ""
    lines += [[(text, "dim")] for text in wrap(f"stack, innermost first{shared}", width)]
    site, hidden = call_site(call.stack), {"torch": 0, "C++": 0}
    for frame in call.stack:
        if not unfolded and frame is not site and not own(frame):
            hidden["torch" if is_torch(frame) else "C++"] += 1
            continue
        lines += fold(hidden)
        lines.append(frame_line(frame, frame is site, width))
    return lines + fold(hidden)


def own(frame: Frame) -> bool:
    """A frame of the user's program; what torch, C++ and the interpreter add is folded."""
    return not (is_torch(frame) or is_cpp(frame) or is_cpython(frame))


def fold(hidden: dict[str, int]) -> list[Line]:
    told = ", ".join(f"{n} {what}" for what, n in hidden.items() if n)
    hidden.update(dict.fromkeys(hidden, 0))
    noun = "frame" if told.startswith("1 ") and "," not in told else "frames"
    return [[(f"  … {told} {noun} (c shows)", "dim")]] if told else []


def frame_line(frame: Frame, site: bool, width: int) -> Line:
    role = "bold" if site else "plain" if own(frame) else "dim"
    room = max(16, width - 2 - min(24, max(14, cells(frame.name))) - 1)
    place = cut_left(frame.place, room)
    name = frame.name if is_cpp(frame) else frame.name.ljust(14)
    return [("▶ " if site else "  ", "bold"), (name + " ", role), (place, role if site else "dim")]


def same_stack(index: Index, call: Call, view: Across) -> int:
    """On how many ranks the call was made with this very stack."""
    mine = index.job.ranks[call.rank].entries.stack[call.row]
    made = [pair for same in view.same for pair in same.calls]
    return sum(index.job.ranks[rank].entries.stack[row] == mine for rank, row in made) if mine != NONE else 0


def parts(index: Index, call: Call, unfolded: bool) -> list[Line]:
    """The members of a batch."""
    many = call.signature.parts
    shown = many if unfolded or len(many) <= SHOWN_PARTS + 1 else many[:SHOWN_PARTS]
    names = [f"  {named(index.job, call.group, part)}".ljust(24) for part in shown]
    lines: list[Line] = [[(f"{name} {arguments(part)}", "plain")] for name, part in zip(names, shown)]
    if len(shown) < len(many):
        lines.append([(f"  … {len(many) - len(shown)} more in the batch (c shows)", "dim")])
    return lines
