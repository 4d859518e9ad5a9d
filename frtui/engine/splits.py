"""all_to_all: what all members send must be what all receive.

Split sizes are not recorded, only each rank's tensors, so with one tensor a side only the totals can be
checked; with lists, every pair.
"""

from __future__ import annotations

from frtui.engine.agree import TO_ALL, canonical, numels
from frtui.engine.case import Case
from frtui.engine.waits import StuckCall
from frtui.model import Signature


def imbalance(signature: Signature) -> int:
    """Elements sent minus elements received by one rank."""
    return sum(numels(signature.inputs)) - sum(numels(signature.outputs))


def mismatch(case: Case, call: StuckCall) -> tuple[int, tuple[int, ...], str] | None:
    """(elements too many sent, blamed ranks, what shows it) of an all_to_all that does not add up; else None."""
    members = case.job.groups[call.group].ranks
    made = {r: row for r in members if (row := case.waits.row(r, call)) is not None}
    signatures = {r: case.job.call(r, row).signature for r, row in made.items()}
    if len(made) < len(members) or any(canonical(s.op) not in TO_ALL for s in signatures.values()):
        return None
    pair = _unequal_pair(members, signatures)
    if pair:
        sender, receiver = pair
        detail = f"what rank {sender} sends to rank {receiver} is not what rank {receiver} expects"
        return 0, _unusual(case, call, made), detail
    total = sum(imbalance(s) for s in signatures.values())
    if total == 0:
        return None
    sent = sum(sum(numels(s.inputs)) for s in signatures.values())
    detail = f"all members together send {sent:,} elements and receive {sent - total:,}"
    return total, _unusual(case, call, made), detail


def _unequal_pair(ranks: tuple[int, ...], signatures: dict[int, Signature]) -> tuple[int, int] | None:
    """The first (sender, receiver) of lists of tensors whose sizes differ."""
    ins = {r: numels(s.inputs) for r, s in signatures.items()}
    outs = {r: numels(s.outputs) for r, s in signatures.items()}
    if len(ranks) < 2 or any(len(sizes) != len(ranks) for sizes in (*ins.values(), *outs.values())):
        return None
    pairs = ((i, j) for i in range(len(ranks)) for j in range(len(ranks)))
    return next(((ranks[i], ranks[j]) for i, j in pairs if ins[ranks[i]][j] != outs[ranks[j]][i]), None)


def _unusual(case: Case, call: StuckCall, made: dict[int, int]) -> tuple[int, ...]:
    """Ranks whose balance of sent and received was the same in all earlier calls and is another now."""
    unusual = []
    for rank, row in made.items():
        lane = case.lanes.lane(call.group, rank)
        before = [case.job.call(rank, r).signature for r in (lane.rows if lane else ()) if r < row]
        earlier = {imbalance(s) for s in before if canonical(s.op) in TO_ALL}
        if len(earlier) == 1 and imbalance(case.job.call(rank, row).signature) not in earlier:
            unusual.append(rank)
    return tuple(sorted(unusual)) if len(unusual) < len(made) else ()
