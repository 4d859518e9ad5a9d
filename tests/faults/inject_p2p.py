"""Faults in sends and recvs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

from tests.faults.inject import Fault, described, pick
from tests.faults.program import Op, Plan


def p2p_missing(plan: Plan, rng: Random) -> Fault | None:
    """A send or recv is left out."""
    at = pick(plan, rng, lambda op: op.p2p and len(op.parts) < 2)
    if at is None:
        return None
    fault = described(plan, "p2p_missing", {"p2p-unmatched", "skipped-call"}, *at)
    _alone(plan, fault)
    del plan.programs[at[0]][at[1]]
    return fault


def p2p_size(plan: Plan, rng: Random) -> Fault | None:
    at = pick(plan, rng, lambda op: op.p2p)
    if at is None:
        return None
    rank, index = at
    fault = described(plan, "p2p_size", {"p2p-mismatch", "size-mismatch"}, *at)
    _alone(plan, fault)
    op = plan.programs[rank][index]
    shape = ((op.parts or (op,))[0].inputs[0][0] + 1, (op.parts or (op,))[0].inputs[0][1])
    plan.programs[rank][index] = _first_part(op, lambda part: replace(part, inputs=(shape,), outputs=(shape,)))
    return fault


def both_send(plan: Plan, rng: Random) -> Fault | None:
    """A recv that became a send: both sides send to each other."""
    at = pick(plan, rng, lambda op: op.op == "recv" or op.op == "batch" and [p.op for p in op.parts] == ["recv"])
    if at is None:
        return None
    fault = described(plan, "both_send", {"p2p-unmatched", "op-mismatch", "coalesced-mismatch"}, *at)
    _alone(plan, fault)
    rank, index = at
    plan.programs[rank][index] = _first_part(plan.programs[rank][index], lambda part: replace(part, op="send"))
    return fault


def _first_part(op: Op, how: Callable[[Op], Op]) -> Op:
    return replace(op, parts=(how(op.parts[0]), *op.parts[1:])) if op.parts else how(op)


def _alone(plan: Plan, fault: Fault) -> None:
    """Without another group of the kind, either end may be the one that is wrong."""
    op = plan.programs[fault.ranks[0]][fault.index]
    if not plan.siblings(op.group):
        peers = {p.peer for p in op.parts or (op,)}
        fault.either += [tuple(sorted({fault.ranks[0], peer})) for peer in peers]
