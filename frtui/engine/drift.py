"""Sequence numbers that drift apart between ranks.

Up to torch 2.4 starting a batch of sends and recvs bumped the group's *collective* counter too (pytorch
#134833, mended in #135132). Ranks that made other numbers of batches then number the same collective
differently, so the batches are taken off again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from frtui.model import Job, Rank


def mended_numbers(job: Job, rank: Rank, rows: Mapping[int, Sequence[int]]) -> dict[int, int]:
    """row -> number of each collective, without the batches that were counted; only where that is another number.

    `rows`: the rank's calls by group.
    """
    e = rank.entries
    numbers: dict[int, int] = {}
    if 1 not in e.p2p:
        return numbers
    for mine in rows.values():
        if not any(e.p2p[row] for row in mine) or not _drifts(job, rank, mine):
            continue
        batches = _batches_before(job, rank, mine)
        for row in mine:
            if not e.p2p[row]:
                numbers[row] = e.seq[row] - batches
            elif _is_batch(job, rank, row):
                batches += 1
    return numbers


def _is_batch(job: Job, rank: Rank, row: int) -> bool:
    return bool(job.signatures[rank.entries.signature[row]].parts)


def _drifts(job: Job, rank: Rank, rows: Sequence[int]) -> bool:
    """Whether the collective number jumps by the batches in between, wherever there are some."""
    e = rank.entries
    last, batches, jumps = None, 0, []
    for row in rows:
        if e.p2p[row]:
            batches += _is_batch(job, rank, row)
        else:
            if last is not None and batches:
                jumps.append(e.seq[row] - last == 1 + batches)
            last, batches = e.seq[row], 0
    return bool(jumps) and all(jumps)


def _batches_before(job: Job, rank: Rank, rows: Sequence[int]) -> int:
    """Batches that fell out of the ring: their numbers go on counting."""
    first = next((row for row in rows if _is_batch(job, rank, row)), None)
    return max(rank.entries.p2p_seq[first] - 1, 0) if first is not None else 0
