"""A first answer from `pg_status` alone: who is behind in which group, and who left no dump.

It is not the verdict: it knows neither arguments nor sends and receives, and says nothing rather than something wrong.
"""

from __future__ import annotations

from typing import NamedTuple

from frtui.model import NONE, Job
from frtui.text import who

_LONG = 40
"""Characters of a list of ranks; a longer one is counted."""


class Behind(NamedTuple):
    """Ranks that have made fewer collectives of a group than others, which wait."""

    group: int
    ranks: tuple[int, ...]
    reached: int
    """The number of the last collective that the furthest of them has enqueued."""
    waiting: tuple[int, ...]
    """Members that have enqueued more, and not finished it."""
    ahead: int
    """The number that they are at."""


class Quick(NamedTuple):
    behind: tuple[Behind, ...]
    """Only where the ranks that are behind don't wait in another group: consequences are left out."""
    missing: tuple[int, ...]


def quick(job: Job) -> Quick:
    """From a job of heads (`load.heads`), or a whole one."""
    waiting = {rank: _open(job, rank) for rank in job.ranks}
    found = [one for group in range(len(job.groups)) if (one := _behind(job, group, waiting)) is not None]
    return Quick(tuple(sorted(found, key=lambda one: (-len(one.waiting), one.ranks))), job.missing)


def _open(job: Job, rank: int) -> set[int]:
    """Groups in which the rank has enqueued a collective that it has not finished."""
    return {group for group, status in job.ranks[rank].status.items() if status.enqueued > max(status.completed, 0)}


def _behind(job: Job, group: int, waiting: dict[int, set[int]]) -> Behind | None:
    members = [rank for rank in job.groups[group].ranks if rank in job.ranks]
    status = {rank: job.ranks[rank].status[group] for rank in members if group in job.ranks[rank].status}
    if len(status) < len(members) or len(members) < 2:
        return None  # of a rank whose number is not known, nobody can say that it is behind
    ahead = max(s.enqueued for s in status.values())
    ranks = tuple(rank for rank, s in status.items() if s.enqueued < ahead and not waiting[rank])
    stuck = tuple(rank for rank, s in status.items() if s.enqueued == ahead and group in waiting[rank])
    if not ranks or not stuck or ahead == NONE:
        return None
    return Behind(group, ranks, max(status[rank].enqueued for rank in ranks), stuck, ahead)


def sentences(job: Job, answer: Quick) -> list[str]:
    """The answer in words; empty when there is none."""
    said = []
    for one in answer.behind:
        group = job.groups[one.group].label
        made = f"collective #{one.reached} of {group} at last" if one.reached > 0 else f"no collective of {group}"
        alone = len(one.waiting) == 1
        said.append(f"{_who(one.ranks)} enqueued {made}, and {_who(one.waiting)} wait{'s' * alone} in #{one.ahead}")
    return said + ([f"no dump from {_who(answer.missing)}"] if answer.missing else [])


def _who(ranks: tuple[int, ...]) -> str:
    told = who(ranks)
    return told if len(told) <= _LONG else f"{len(ranks):,} ranks"
