"""The way in: from a job to its findings, most likely cause first."""

from __future__ import annotations

from dataclasses import replace
from typing import Callable

from frtui.engine import absence, cycles, deviant, flight, outside, partings, process
from frtui.engine.case import Case
from frtui.engine.finding import LIKELY, POSSIBLE, PROVEN, Finding
from frtui.engine.roots import Root, in_call
from frtui.engine.timing import caught_running
from frtui.engine.waits import StuckCall
from frtui.engine.witnesses import MEMBERS, SIBLINGS
from frtui.model import Job

NAMED = 8
"""So many ranks are named one by one in the evidence."""
ORDER = (PROVEN, LIKELY, POSSIBLE)
DIRECT = frozenset(
    {"skipped-call", "extra-call", "order-swap", "group-deadlock", "p2p-unmatched", "membership-mismatch", "stale"}
    | {f"{what}-mismatch" for what in ("op", "size", "dtype", "root", "split", "p2p", "coalesced")}
)
"""Kinds that are seen in the dumps themselves; the others are concluded from what is missing."""


def diagnose(job: Job, check: Callable[[], None] | None = None) -> list[Finding]:
    """The independent causes, most likely first; never empty (`no-hang` or `inconclusive` at the least).

    `check` is called now and then; what it raises ends this.
    """
    case = Case.open(job, check or _go_on)
    if caught_running(case.waits):
        return [outside.no_hang(case, "the outstanding calls were made only moments before the dumps were written")]
    found = _doubt_idle(_unique(_clashes(case) + _from_roots(case)))
    if not found:
        found = [outside.explain(case)]
    return sorted((_with_process(case, finding) for finding in found), key=_rank)


def _go_on() -> None:
    """Nobody wants to stop."""


def _with_process(case: Case, finding: Finding) -> Finding:
    """With what the in-job recorder tells of the blamed ranks, where it ran."""
    blamed = [case.job.ranks[r] for r in finding.ranks if r in case.job.ranks][:NAMED]
    told = [fact for rank in blamed for fact in process.facts(rank) if fact not in finding.evidence]
    return replace(finding, evidence=(*finding.evidence, *told)) if told else finding


def _doubt_idle(findings: list[Finding]) -> list[Finding]:
    """A rank that has not reached a call over which others already disagree is hardly a second cause."""
    clashing = {f.group for f in findings if f.kind in DIRECT and f.confidence != POSSIBLE}
    return [
        replace(f, confidence=POSSIBLE) if f.kind in ("not-joined", "no-dump") and f.group in clashing else f
        for f in findings
    ]


def _from_roots(case: Case) -> list[Finding]:
    idle = [root for root in case.roots if root.idle]
    found = absence.explain(case, _without_unknown(case, idle))
    for root in case.roots:
        case.check()
        if root.idle:
            continue
        in_flight = len(root.calls) == 1 and not set(case.waits.edges[root.calls[0]])
        finding = flight.explain(case, root) if in_flight else cycles.explain(case, root)
        found += [finding] if finding else []
    return found


def _without_unknown(case: Case, idle: list[Root]) -> list[Root]:
    """Without the ranks that left no whole dump where another rank already explains all that waits for them.

    What a rank without a dump did is unknown; it is a cause only where nothing else is.
    """
    known = [root for root in case.roots if not case.unseen(root.ranks[0])]
    explained = {rank for root in known for rank in root.waiting + root.ranks}
    return [root for root in idle if not case.unseen(root.ranks[0]) or not set(root.waiting) <= explained]


def _clashes(case: Case) -> list[Finding]:
    """Stuck calls whose arguments differ between members, whether or not all have joined."""
    found = []
    calls = sorted(node for node in case.waits.edges if isinstance(node, StuckCall) and not node.p2p)
    for call in calls:
        case.check()
        deviation = partings.in_group(case, call.group, ahead_ok=True)
        if deviation and deviation.witness in (MEMBERS, SIBLINGS):
            row = case.waits.row(deviation.ranks[0], call)
            if row is not None and row in case.lanes.open[deviation.ranks[0]]:
                members = tuple(r for r in case.job.groups[call.group].ranks if r in case.job.ranks)
                root = next((r for r in case.roots if call in r.calls), None)
                found.append(deviant.finding(case, deviation, root or _held_up(case, call, members)))
    return found


def _held_up(case: Case, call: StuckCall, members: tuple[int, ...]) -> Root:
    """A call that clashes is a cause by itself, whoever else has not joined it yet."""
    absent = tuple(sorted(node for node in case.waits.edges[call] if isinstance(node, int)))
    return Root(members, (call,), (), (), tuple(in_call(case.waits, call, members, absent)))


def _unique(findings: list[Finding]) -> list[Finding]:
    """One finding per cause: two roots can lead to the same parting of calls."""
    seen: dict[object, Finding] = {}
    for finding in findings:
        seen.setdefault((finding.kind, finding.ranks, finding.group), finding)
    return list(seen.values())


def _rank(finding: Finding) -> tuple[int, bool, int]:
    return ORDER.index(finding.confidence), finding.kind not in DIRECT, -len(finding.waiting)
