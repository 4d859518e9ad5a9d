"""How much later a rank made a collective than the first of its group did, by each rank's own clock."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from frtui.model import NONE
from frtui.view.index import Index

BUDGET = 100_000
"""Entries of a group that are looked at; of a larger one, those of some members, spread evenly."""
NEAR = 64
"""How many calls before its last one a rank is looked for in a collective that others stand in."""
USUAL = 8
"""Earlier calls whose middle lag is called usual."""


def spread(ranks: Sequence[int], most: int) -> Sequence[int]:
    """At most `most` of them, evenly spread."""
    return ranks[:: max(1, -(-len(ranks) // max(1, most)))]


def asked(index: Index, group: int) -> Sequence[int]:
    """The members whose calls are looked at."""
    here = [rank for rank in index.job.groups[group].ranks if rank in index.job.ranks]
    longest = max((len(index.rows(rank, group)) for rank in here[:8]), default=0)
    return spread(here, BUDGET // max(1, longest))


def first_arrivals(index: Index, group: int) -> dict[int, int]:
    """When the first member made each collective of a group, by its number."""
    return index.keep(("first arrivals", group), lambda: _first_arrivals(index, group))


def _first_arrivals(index: Index, group: int) -> dict[int, int]:
    first: dict[int, int] = {}
    for rank in asked(index, group):
        e = index.job.ranks[rank].entries
        seq, created, p2p = e.seq, e.created, e.p2p
        for row in index.rows(rank, group):
            at = created[row]
            if at > 0 and not p2p[row] and at < first.get(seq[row], at + 1):
                first[seq[row]] = at
    return first


def of_calls(index: Index, rank: int, rows: Sequence[int]) -> list[float]:
    """ms of each call of a rank; minus infinity where there is nobody to compare with."""
    e = index.job.ranks[rank].entries
    firsts = {group: first_arrivals(index, group) for group in set(map(e.group.__getitem__, rows))}
    lags = []
    for row in rows:
        at = e.created[row]
        first = firsts[e.group[row]].get(e.seq[row], 0) if at > 0 and not e.p2p[row] else 0
        lags.append(max(0, at - first) / 1e6 if first else float("-inf"))
    return lags


def at_call(index: Index, group: int, seq: int) -> dict[int, tuple[int, int]]:
    """rank -> (ns after the first, row) of every member that has made a collective, the last one first."""
    made: dict[int, tuple[int, int]] = {}
    for rank in index.job.groups[group].ranks:
        row = index.row_of(rank, group, seq)
        if row != NONE and index.job.ranks[rank].entries.created[row] > 0:
            made[rank] = (index.job.ranks[rank].entries.created[row], row)
    first = min((at for at, _ in made.values()), default=0)
    late = sorted(made.items(), key=lambda item: (-item[1][0], item[0]))
    return {rank: (at - first, row) for rank, (at, row) in late}


def usual(index: Index, rank: int, group: int, seq: int) -> float | None:
    """ms: the middle lag of a rank at the calls before `seq`; None where there are none."""
    e = index.job.ranks[rank].entries
    earlier = [row for row in index.rows(rank, group) if not e.p2p[row] and e.seq[row] < seq][-USUAL:]
    known = [lag for lag in of_calls(index, rank, earlier) if lag >= 0]
    return median(known) if known else None


def where_it_stands(index: Index) -> dict[int, float]:
    """rank -> ms behind the first at the collective that it stands in, or made last."""
    stands: dict[int, tuple[int, int, int]] = {}
    first: dict[tuple[int, int], int] = {}
    for rank, data in index.job.ranks.items():
        ends, e = index.ends(rank), data.entries
        row = min(ends.open.values(), default=max(ends.last.values(), default=NONE))
        if row != NONE and not e.p2p[row] and e.created[row] > 0:
            call = (e.group[row], e.seq[row])
            stands[rank] = (*call, e.created[row])
            first[call] = min(e.created[row], first.get(call, e.created[row]))
    for group, seq in first:
        # Who went on from there counts, too; of many members, some.
        for rank in spread(index.job.groups[group].ranks, 32):
            if stands.get(rank, ())[:2] != (group, seq):
                at = _made_lately(index, rank, group, seq)
                first[group, seq] = min(at or first[group, seq], first[group, seq])
    return {rank: (at - first[group, seq]) / 1e6 for rank, (group, seq, at) in stands.items()}


def _made_lately(index: Index, rank: int, group: int, seq: int) -> int:
    """When a rank made a collective, if that is among its last calls; else 0."""
    if index.ends(rank).last.get(group, NONE) == NONE:
        return 0
    data = index.job.ranks[rank]
    e = data.entries
    for row in reversed(data.calls[-NEAR:]):
        if e.group[row] == group and e.seq[row] == seq and not e.p2p[row]:
            return max(0, e.created[row])
    return 0
