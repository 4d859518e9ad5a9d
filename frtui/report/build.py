"""Job and findings -> plain facts: the JSON report as a dict, from which the other formats are laid out."""

from __future__ import annotations

from collections.abc import Sequence

from frtui.engine.finding import POSSIBLE, Finding
from frtui.model import NONE, STATE_NAMES, Call, Job
from frtui.report import processes
from frtui.report.facts import Facts
from frtui.stacks import call_site, is_cpp, is_torch
from frtui.view.words import arguments

SCHEMA = 1
NO_CAUSE = ("no-hang", "inconclusive")
"""Kinds of finding that name no cause of a hang."""


def is_cause(finding: Finding) -> bool:
    return finding.kind not in NO_CAUSE


def facts(job: Job, findings: Sequence[Finding]) -> Facts:
    """Everything that a report says, in the shape that `--format json` prints."""
    causes = [_finding(job, finding) for finding in findings if is_cause(finding)]
    others = [_finding(job, finding) for finding in findings if not is_cause(finding)]
    verdict = causes + others or [_finding(job, Finding("inconclusive", POSSIBLE, "Nothing was found."))]
    return {
        "schema": SCHEMA,
        "source": job.source,
        "job": _job(job),
        "verdict": verdict[0],
        "findings": causes,
        "problems": [problem._asdict() for problem in job.problems],
    }


def _job(job: Job) -> Facts:
    return {
        "world_size": len(job.world),
        "ranks": list(job.ranks),
        "missing_ranks": list(job.missing),
        "versions": list(job.versions),
        "backends": list(job.backends),
        "entries": job.n_entries,
        "groups": len(job.groups),
        "library": list(job.libraries),
        "attempt": job.attempt,
        "attempts": list(job.attempts),
        "from_rings": [number for number, rank in job.ranks.items() if rank.by == "ring"],
    }


def _finding(job: Job, finding: Finding) -> Facts:
    # Who is innocent in a hang is not listed; where nobody is to blame, what each rank did last is the report.
    described = finding.ranks if is_cause(finding) else tuple(job.ranks)
    return {
        "kind": finding.kind,
        "confidence": finding.confidence,
        "headline": f"{finding.kind.upper()} ({finding.confidence}): {finding.summary}",
        "ranks": list(finding.ranks),
        "hosts": {str(rank): job.ranks[rank].host for rank in finding.ranks if rank in job.ranks},
        "group": _group(job, finding.group),
        "op": finding.op,
        "seq": finding.seq,
        "p2p": finding.p2p,
        "call_site": finding.site.place if finding.site else None,
        "summary": finding.summary,
        "evidence": list(finding.evidence),
        "waiting": {"ranks": list(finding.waiting), "via": [list(pair) for pair in finding.via]},
        "next_steps": list(finding.next_steps),
        "last_calls": [_last_call(job, rank) for rank in described if rank in job.ranks],
        "stack": _stack(job, finding),
        "processes": [processes.facts(job.ranks[rank]) for rank in described if processes.told(job, rank)],
    }


def _group(job: Job, index: int | None) -> Facts | None:
    if index is None or not 0 <= index < len(job.groups):
        return None
    group = job.groups[index]
    return {"name": group.name, "desc": group.desc, "ranks": list(group.ranks), "label": group.label}


def _last_call(job: Job, rank: int) -> Facts:
    """The newest call of a rank; null fields where its dump holds none."""
    rows = job.ranks[rank].calls
    if not rows:
        return {"rank": rank, "op": None, "group": None, "seq": None, "state": None, "call_site": None}
    call = job.call(rank, rows[-1])
    site = call_site(call.stack)
    return {
        "rank": rank,
        "op": call.signature.only.op,
        "arguments": arguments(call.signature),
        "group": job.groups[call.group].label,
        "seq": _number(call),
        "p2p": call.p2p,
        "state": "finished" if call.done else STATE_NAMES[call.state],
        "call_site": site.place if site else None,
        "error": call.error or None,
    }


def _number(call: Call) -> int | None:
    seq = call.p2p_seq if call.p2p else call.seq
    return None if seq == NONE else seq


def _stack(job: Job, finding: Finding) -> Facts | None:
    """The stack of the call that the finding shows, innermost frame first."""
    if finding.focus is None or finding.focus[0] not in job.ranks:
        return None
    call = job.call(*finding.focus)
    frames = [
        {"name": f.name, "file": f.filename, "line": f.line, "internal": is_torch(f) or is_cpp(f)} for f in call.stack
    ]
    op = call.signature.only.op
    return {"rank": call.rank, "op": op, "seq": _number(call), "p2p": call.p2p, "frames": frames} if frames else None
