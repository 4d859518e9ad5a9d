"""What times tell: whether the job is merely running, and who came late.

The time of the dump is not in the file. The file's mtime stands for it; a copied file's is later and
makes calls look older, so it can show that a job was caught running but never that it was not.
"""

from __future__ import annotations

from statistics import median

from frtui.engine.lanes import Lanes
from frtui.engine.process import failed, judged_stuck, lost_call
from frtui.engine.waits import StuckCall, Waits
from frtui.model import NONE

YOUNG_S = 5.0
"""A call younger than this when its rank was dumped says nothing: it may just be running."""
CLOCKS_S = 60.0
"""Clocks of one cluster are closer than this; a file older than that was there before the call."""
LATE_S = 5.0
"""A rank this much later than the rest, beyond what its clock explains, is a straggler."""


def age_s(lanes: Lanes, rank: int, row: int) -> float | None:
    """Seconds between the call and the dump of its rank; None where the file is too old to be its dump.

    The rank's clock and the file server's may differ: a file that is a little older was just written.
    """
    dump = lanes.job.ranks[rank]
    created = dump.entries.created[row]
    if created <= 0 or dump.dumped_ns < created - CLOCKS_S * 1e9:
        return None
    return max(0.0, (dump.dumped_ns - created) / 1e9)


def caught_running(waits: Waits) -> bool:
    """Every outstanding call was just made when the dumps were written, and none has timed out.

    Where the recorder saw a rank or a call fail, or a call stand open for longer than was allowed, it isn't that.
    """
    lanes = waits.lanes
    if any(failed(dump) or judged_stuck(dump) or lost_call(dump, lanes.open[r]) for r, dump in lanes.job.ranks.items()):
        return False
    ages = [_stuck_for(lanes, rank, rows[0]) for rank, rows in lanes.open.items() if rows]
    return bool(ages) and all(ages_ok for ages_ok in ages)


def _stuck_for(lanes: Lanes, rank: int, row: int) -> bool:
    """Whether the rank's oldest outstanding call is too young to be called stuck."""
    e = lanes.job.ranks[rank].entries
    age = age_s(lanes, rank, row)
    timeout_s = e.timeout[row] / 1000 if e.timeout[row] > 0 else YOUNG_S
    timed_out = bool(e.retired[row]) and not e.done[row]
    return age is not None and age < min(YOUNG_S, timeout_s) and not timed_out


def late_ranks(waits: Waits, call: StuckCall) -> dict[int, float]:
    """rank -> seconds behind the others' median, for those that joined `call` much later than the rest.

    What separates the ranks' clocks is taken off: it shows in how far apart they made the earlier calls.
    """
    lags = _lags(waits, call)
    if len(lags) < 2:
        return {}
    usual = median(lags.values())
    late = {rank: lag - usual for rank, lag in lags.items() if lag - usual > LATE_S and _young(waits, call, rank, lags)}
    if len(lags) == 2:  # with two, the median lies between them
        late = {rank: 2 * lag for rank, lag in late.items()}
    return late if len(late) * 2 <= len(lags) else {}


def _young(waits: Waits, call: StuckCall, rank: int, others: dict[int, float]) -> bool:
    """Whether the call is younger at its rank's dump than at the others': true whatever the clocks say."""
    ages = {r: age for r in others if (age := _age(waits, call, r)) is not None}
    return rank not in ages or len(ages) < 2 or median(ages.values()) - ages[rank] > LATE_S / 2


def _age(waits: Waits, call: StuckCall, rank: int) -> float | None:
    row = waits.row(rank, call)
    return None if row is None else age_s(waits.lanes, rank, row)


def _lags(waits: Waits, call: StuckCall) -> dict[int, float]:
    """rank -> seconds at which it made the call, less its usual distance from the others (its clock)."""
    times: dict[int, float] = {}
    for rank, dump in waits.lanes.job.ranks.items():
        row = waits.row(rank, call)
        if row is not None and dump.entries.created[row] != NONE:
            times[rank] = dump.entries.created[row] / 1e9
    if not times:
        return {}
    clocks = _clocks_s(waits.lanes, call, list(times))
    first = min(times[rank] - clocks[rank] for rank in times)
    return {rank: times[rank] - clocks[rank] - first for rank in times}


def _clocks_s(lanes: Lanes, call: StuckCall, ranks: list[int], samples: int = 16) -> dict[int, float]:
    """rank -> median of how much later than the first of `ranks` it made the calls before `call`."""
    lane = lanes.lane(call.group, ranks[0])
    earlier = [seq for seq in (lane.seqs if lane else ()) if seq < call.seq][-samples:]
    offsets: dict[int, list[float]] = {rank: [] for rank in ranks}
    for seq in earlier:
        created = {r: c for r in ranks if (c := _created(lanes, call.group, r, seq)) > 0}
        first = min(created.values(), default=0)
        for rank, at in created.items():
            offsets[rank].append((at - first) / 1e9)
    return {rank: median(found) if found else 0.0 for rank, found in offsets.items()}


def _created(lanes: Lanes, group: int, rank: int, seq: int) -> int:
    lane = lanes.lane(group, rank)
    row = lane.row(seq) if lane else None
    return NONE if row is None else lanes.job.ranks[rank].entries.created[row]
