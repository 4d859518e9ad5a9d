"""Camps: ranks whose sequences of calls do not part from one another, and who stands for them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from frtui.engine.align import Edit, alike, foresee, parting, script
from frtui.engine.tokens import Sequence
from frtui.model import Job


@dataclass(frozen=True)
class Camp:
    """Ranks whose sequences do not part from one another."""

    members: tuple[Sequence, ...]

    @property
    def ranks(self) -> tuple[int, ...]:
        return tuple(sorted(s.rank for s in self.members))

    @property
    def best(self) -> Sequence:
        """The one that got furthest."""
        return max(self.members, key=lambda s: len(s.tokens))


def find_camps(sequences: list[Sequence], ahead_ok: bool) -> list[Camp]:
    """Sequences that do not part stand together; the largest camp first."""
    same: dict[tuple[object, ...], list[Sequence]] = defaultdict(list)
    for sequence in sequences:
        same[sequence.tokens].append(sequence)
    classes = sorted(same.values(), key=lambda c: (-len(c), -len(c[0].tokens), c[0].rank))
    camps: list[list[Sequence]] = []
    for members in classes:
        for camp in camps:
            if part(members[0], camp[0], ahead_ok) is None and part(camp[0], members[0], ahead_ok) is None:
                camp += members
                break
        else:
            camps.append(list(members))
    camps.sort(key=lambda camp: -len(camp))
    return [Camp(tuple(camp)) for camp in camps]


def part(subject: Sequence, reference: Sequence, ahead_ok: bool) -> Edit | None:
    edit = parting(edits_of(subject, reference), subject.done, reference.done)
    return None if edit and ahead_ok and edit.j >= len(reference.tokens) else edit


def edits_of(subject: Sequence, reference: Sequence) -> list[Edit]:
    return script(subject.tokens, reference.tokens, foresee(reference.tokens))


def places(camp: Camp, n: int) -> tuple[tuple[int, int], ...]:
    """(rank, row) of the n-th call of each member that got there."""
    return tuple(sorted((s.rank, s.rows[n]) for s in _there(camp, n)))


def _there(camp: Camp, n: int) -> list[Sequence]:
    """Those whose n-th call goes together with that of whoever got furthest."""
    best = camp.best
    if n >= len(best.rows):
        return []
    return [s for s in camp.members if n < len(s.rows) and alike(s.tokens[n], best.tokens[n])]


def stands_for(job: Job, camp: Camp, n: int, other: int) -> Sequence:
    """Who is shown of a camp at its n-th call: of a group with rank `other` if one is, else who got furthest."""

    def near(s: Sequence) -> bool:
        return other in job.groups[job.ranks[s.rank].entries.group[s.rows[n]]].ranks

    best = camp.best
    there = _there(camp, n)
    if not there or near(best):
        return best
    return max((s for s in there if near(s)), key=lambda s: len(s.tokens), default=best)
