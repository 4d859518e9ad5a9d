"""Sequence numbers that drift apart between ranks.

Up to torch 2.4 starting a batch of sends and recvs bumped the group's *collective* counter too (pytorch
#134833, mended in #135132). Ranks that made other numbers of batches then number the same collective
differently, so the batches are taken off again.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from frtui.model import NONE, Entries, Signature


def mend(entries: Entries, calls: Sequence[int], table: Sequence[Signature]) -> None:
    """Number the collectives of one rank without its batches, where these were counted.

    `calls`: rows that stand for a call, batches folded. `table`: what the entries' signatures point to.
    """
    if 1 not in entries.p2p or not any(signature.parts for signature in table):
        return
    lanes: dict[int, list[int]] = {}
    for row in calls:
        lanes.setdefault(entries.group[row], []).append(row)
    for rows in lanes.values():
        rows = [row for row in rows if entries.p2p[row] or entries.seq[row] != NONE]
        batches = {row for row in rows if entries.p2p[row] and table[entries.signature[row]].parts}
        if batches and _drifts(entries, rows, batches):
            _take_off(entries, rows, batches)
    for row, call in enumerate(entries.call):
        if row != call and not entries.p2p[call]:
            entries.seq[row] = entries.seq[call]


def _drifts(entries: Entries, rows: Sequence[int], batches: AbstractSet[int]) -> bool:
    """Whether the collective number jumps by the batches in between, wherever there are some."""
    last, between, jumps = None, 0, []
    for row in rows:
        if entries.p2p[row]:
            between += row in batches
        else:
            if last is not None and between:
                jumps.append(entries.seq[row] - last == 1 + between)
            last, between = entries.seq[row], 0
    return bool(jumps) and all(jumps)


def _take_off(entries: Entries, rows: Sequence[int], batches: AbstractSet[int]) -> None:
    # Batches that fell out of the ring were counted, too.
    before = max(entries.p2p_seq[min(batches)] - 1, 0)
    numbers: dict[int, int] = {}
    for row in rows:
        if not entries.p2p[row]:
            numbers[row] = entries.seq[row] - before
        elif row in batches:
            before += 1
    if min(numbers.values(), default=0) >= 0:  # what no counter gives is left as it is
        for row, number in numbers.items():
            entries.seq[row] = number
