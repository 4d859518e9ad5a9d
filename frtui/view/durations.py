"""How long calls took: as torch measured it, or from when a call was made to when its end was noticed."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import nlargest
from typing import NamedTuple

from frtui.model import Entries
from frtui.view.index import Index
from frtui.view.lags import spread

BUDGET = 400_000
"""Calls that are looked at."""
UNKNOWN = float("-inf")


class Slowest(NamedTuple):
    calls: list[tuple[float, int, int]]
    """(ms, rank, row), the slowest first; of one collective, the rank that took longest."""
    measured: bool
    asked: int
    """Ranks that were looked at."""
    ranks: int


def took(e: Entries, rows: Sequence[int], measured: bool) -> list[float]:
    """ms of each call; minus infinity where its end or its duration was not recorded."""
    if measured:
        duration = e.duration
        return [ms if (ms := duration[row]) >= 0 else UNKNOWN for row in rows]
    created, completed = e.created, e.completed
    return [(completed[r] - created[r]) / 1e6 if completed[r] >= created[r] > 0 else UNKNOWN for r in rows]


def measures(e: Entries) -> bool:
    """Whether torch measured durations (TORCH_NCCL_ENABLE_TIMING)."""
    return max(e.duration, default=-1.0) >= 0


def slowest(index: Index, group: int | None, most: int) -> Slowest:
    members = index.world if group is None else index.job.groups[group].ranks
    here = [rank for rank in members if rank in index.job.ranks]
    longest = max((len(index.rows(rank, group)) for rank in here[:8]), default=0)
    some = spread(here, BUDGET // max(1, longest))
    measured = any(measures(index.job.ranks[rank].entries) for rank in some)
    found: list[tuple[float, int, int]] = []
    for rank in some:
        rows = index.rows(rank, group)
        times = took(index.job.ranks[rank].entries, rows, measured)
        least = found[-1][0] if len(found) == most else UNKNOWN
        if max(times, default=UNKNOWN) > least:
            found += [(ms, rank, row) for ms, row in nlargest(most, zip(times, rows)) if ms > UNKNOWN]
            found = once(index, sorted(found, key=lambda call: (-call[0], *call[1:])))[:most]
    return Slowest(found, measured, len(some), len(here))


def once(index: Index, calls: list[tuple[float, int, int]]) -> list[tuple[float, int, int]]:
    """Of one collective on several ranks only the first."""
    kept: dict[object, tuple[float, int, int]] = {}
    for ms, rank, row in calls:
        e = index.job.ranks[rank].entries
        name = (rank, row) if e.p2p[row] else (e.group[row], e.seq[row], None)
        kept.setdefault(name, (ms, rank, row))
    return list(kept.values())
