"""Judges what was found in a case against its truth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from frtui.engine import POSSIBLE, Finding
from frtui.model import Job
from tests.faults.cases import Case
from tests.faults.inject import Fault


class Marks(NamedTuple):
    kind: bool
    ranks: bool
    group: bool
    quiet: bool
    """No innocent rank in any finding that claims to be more than possible."""
    seq: bool
    site: bool

    @property
    def right(self) -> bool:
        return self.kind and self.ranks and self.group and self.quiet


def judge(case: Case, job: Job, findings: Sequence[Finding]) -> Marks:
    fault, first = case.fault, findings[0]
    group = job.groups[first.group] if first.group is not None else None
    wanted = [] if fault.group is None else [case.plan.groups[n] for n in (fault.group, *fault.also)]
    site = first.site and (first.site.filename, first.site.line)
    return Marks(
        kind=first.kind in fault.accept,
        ranks=_ranks(fault, findings),
        group=not wanted
        or group is not None
        and (group.name, set(group.ranks)) in [(g.name, set(g.ranks)) for g in wanted],
        quiet=not _innocent(fault, findings),
        seq=fault.seq is None or first.seq == fault.seq,
        site=fault.site is None or site == fault.site,
    )


def _ranks(fault: Fault, findings: Sequence[Finding]) -> bool:
    if fault.independent:
        return sorted({r for f in findings for r in f.ranks}) == sorted(fault.ranks)
    return tuple(sorted(findings[0].ranks)) in (fault.ranks, *fault.either)


def _innocent(fault: Fault, findings: Sequence[Finding]) -> bool:
    guilty = set(fault.ranks).union(*fault.either)
    return any(set(f.ranks) - guilty for f in findings if f.confidence != POSSIBLE)
