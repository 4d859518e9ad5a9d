"""Coalesced batches: their members and the closing entry are one call.

torch records each member of a `batch_isend_irecv` or `_coalescing_manager`, which stays `scheduled` for ever,
and after them an entry without tensors that carries the state (pytorch #151238 for collectives). The members
and the closing entry have the same sequence numbers.
"""

from __future__ import annotations

from typing import NamedTuple

from frtui.load.columns import Signatures
from frtui.model import NONE, SCHEDULED, Entries, Signature


class _Batch(NamedTuple):
    members: list[int]
    p2p: bool
    complete: bool
    """False when older members may have fallen out of the ring."""


def fold(entries: Entries, signatures: Signatures, p2p_known: bool) -> None:
    """Point the `call` of batch members to their closing entry, and give that the members as `parts`.

    `p2p_known`: the dump says which sequence number is which (`p2p_seq_id`, since version 2.1).
    """
    table = list(signatures.table)
    closing = {index for index, signature in enumerate(table) if is_closing(signature)}
    if not closing:
        return
    lanes: dict[tuple[int, int], list[int]] = {}
    kinds = entries.signature[:]
    for row, (group, thread, kind) in enumerate(zip(entries.group, entries.thread, kinds)):
        lane = lanes.setdefault((group, thread), [])
        if kind in closing:
            _close(entries, row, lane, signatures, table, p2p_known)
        lane.append(row)


def is_closing(signature: Signature) -> bool:
    """`coalesced`, `ALLGATHER_coalesced`, `REDUCE_SCATTER_coalesced`: no tensors of their own."""
    return signature.op.lower().endswith("coalesced") and not signature.inputs and not signature.outputs


def _close(
    entries: Entries, row: int, lane: list[int], signatures: Signatures, table: list[Signature], p2p_known: bool
) -> None:
    batch = _members(entries, row, lane, table)
    if not batch.members:
        entries.p2p[row] = p2p_known and _closes_lost_p2p(entries, row, lane)
        return
    for member in batch.members:
        entries.call[member] = row
    entries.p2p[row] = batch.p2p
    if batch.complete:
        parts = tuple(table[entries.signature[member]] for member in batch.members)
        entries.signature[row] = signatures.add(table[entries.signature[row]]._replace(parts=parts))


def _members(entries: Entries, row: int, lane: list[int], table: list[Signature]) -> _Batch:
    """The run of entries directly before `row` that certainly belong to it."""
    start = len(lane)
    while (
        start
        and _belongs(entries, lane[start - 1], row, table)
        and entries.p2p[lane[start - 1]] == entries.p2p[lane[-1]]
    ):
        start -= 1
    members = lane[start:]
    wrapped = entries.record[0] > 0
    return _Batch(members, bool(members and entries.p2p[members[0]]), start > 0 or not wrapped)


def _belongs(entries: Entries, member: int, closing: int, table: list[Signature]) -> bool:
    """Is `member` of the batch that `closing` closes? What closes a batch itself is no member of another."""
    return (
        entries.signature[member] < len(table)
        and not is_closing(table[entries.signature[member]])
        and entries.seq[member] == entries.seq[closing]
        and entries.p2p_seq[member] == entries.p2p_seq[closing]
        and entries.state[member] == SCHEDULED
        and not entries.retired[member]
        and entries.completed[member] == NONE
        and entries.call[member] == member
    )


def _closes_lost_p2p(entries: Entries, row: int, lane: list[int]) -> bool:
    """Does a closing entry without members close a p2p batch whose members fell out of the ring?

    Its collective number is then that of the collective before it, and would look like a second, different
    call under that number.
    """
    if entries.p2p_seq[row] <= 0:
        return False
    if not lane:
        return entries.seq[row] == 0 or entries.record[0] > 0
    return entries.p2p_seq[row] > entries.p2p_seq[lane[-1]] and entries.seq[row] == entries.seq[lane[-1]]
