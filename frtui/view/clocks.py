"""How far the hosts' clocks are apart: a collective that needs all members ends nearly at once on each of them."""

from __future__ import annotations

from statistics import median
from typing import NamedTuple

from frtui.model import NONE
from frtui.text import count
from frtui.view.index import Index
from frtui.view.words import span

CALLS, PER_HOST, MOST, GROUPS = 16, 2, 128, 4
"""How much is looked at: collectives, ranks of a host, ranks in all, groups until one has the times."""

_ENDS_TOGETHER = ("all", "reduce_scatter", "barrier")
# A broadcast or a reduce ends on some members before it has begun on others.


class Clocks(NamedTuple):
    spread_ms: float
    """Between the two that are furthest apart."""
    clocks: int
    of_hosts: bool
    """False: no dump names its host, so that each rank is taken for a clock of its own."""
    calls: int
    """From so many collectives."""


def clocks(index: Index) -> Clocks | None:
    """None where no collective has its end recorded on two clocks."""
    return index.keep("clocks", lambda: _find(index))


def sentence(found: Clocks | None) -> str:
    if found is None:
        return "no call's end is recorded on two clocks: how far the clocks are apart is unknown, and lags include it"
    by = f"by the ends of {count(found.calls, 'collective')}"
    if found.clocks == 1:
        return "all ranks ran on one host, and so by one clock"
    what = f"clocks of {count(found.clocks, 'host' if found.of_hosts else 'rank')}"
    if found.spread_ms < 1:
        return f"{what} agree to 1 ms, {by}"
    return f"{what} differ by up to {span(found.spread_ms)}, {by}: lags below that mean nothing"


def _find(index: Index) -> Clocks | None:
    job = index.job
    of_hosts = any(rank.host for rank in job.ranks.values())
    largest = sorted(range(len(job.groups)), key=lambda group: -len(job.groups[group].ranks))
    for group in largest[:GROUPS]:
        by_clock: dict[str, list[float]] = {}
        offsets, calls = _offsets(index, group)
        for rank, offset in offsets.items():
            by_clock.setdefault(job.ranks[rank].host if of_hosts else str(rank), []).append(offset)
        if len(by_clock) > 1 or (offsets and of_hosts):
            each = [median(found) for found in by_clock.values()]
            return Clocks(max(each) - min(each), len(each), of_hosts, calls)
    return None


def _offsets(index: Index, group: int) -> tuple[dict[int, float], int]:
    """rank -> ms by which it usually notes the end of a collective later than the middle one does; from how many."""
    ends = _ends(index, group, _some_of_each_host(index, group))
    found: dict[int, list[float]] = {}
    for by_rank in ends:
        middle = median(by_rank.values())
        for rank, at in by_rank.items():
            found.setdefault(rank, []).append((at - middle) / 1e6)
    return {rank: median(offsets) for rank, offsets in found.items()}, len(ends)


def _ends(index: Index, group: int, ranks: list[int]) -> list[dict[int, int]]:
    """When each of the newest collectives ended, by rank."""
    if len(ranks) < 2:
        return []
    job, found = index.job, []
    e = job.ranks[ranks[0]].entries
    for row in reversed(index.rows(ranks[0], group)):
        op = job.signatures[e.signature[row]].op.lower().lstrip("_")
        if e.p2p[row] or e.completed[row] <= 0 or not op.startswith(_ENDS_TOGETHER):
            continue
        rows = {rank: index.row_of(rank, group, e.seq[row]) for rank in ranks}
        ends = {rank: job.ranks[rank].entries.completed[at] for rank, at in rows.items() if at != NONE}
        ends = {rank: at for rank, at in ends.items() if at > 0}
        found += [ends] if len(ends) > 1 else []
        if len(found) == CALLS:
            break
    return found


def _some_of_each_host(index: Index, group: int) -> list[int]:
    seen: dict[str, int] = {}
    chosen = []
    for rank in index.job.groups[group].ranks:
        data = index.job.ranks.get(rank)
        if data is not None and (not data.host or seen.get(data.host, 0) < PER_HOST):
            seen[data.host] = seen.get(data.host, 0) + 1
            chosen.append(rank)
    return chosen[:: -(-len(chosen) // MOST)] if chosen else []
