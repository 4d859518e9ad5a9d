"""Puts one fault into the programs of a healthy plan, and says what is true then.

Each injector gets (plan, rng), changes the programs in place and returns a `Fault`, or None where the plan has
no place for it. The kinds of finding that a fault may rightly get are those that the same dumps would also
show if the other thing had happened.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from random import Random

from tests.faults.machine import Upset
from tests.faults.program import Op, Plan, Site


@dataclass
class Fault:
    kind: str
    accept: set[str]
    ranks: tuple[int, ...]
    group: int | None = None
    seq: int | None = None
    site: Site | None = None
    also: set[int] = field(default_factory=set)
    """Other groups that may be named."""
    rest: list[tuple[Op, int]] = field(default_factory=list)
    """What an idle or dead rank still owes: call and sequence number."""
    index: int = -1
    """Where in the program of the first of `ranks`."""
    either: list[tuple[int, ...]] = field(default_factory=list)
    """Other ranks that may be blamed instead, where the dumps cannot tell."""
    upset: Upset = field(default_factory=Upset)
    missing: frozenset[int] = frozenset()
    claims: dict[tuple[int, int], tuple[int, ...]] = field(default_factory=dict)
    independent: bool = False
    """Several causes: the ranks of all findings together."""


Injector = Callable[[Plan, Random], "Fault | None"]
MISMATCH = {"size-mismatch", "dtype-mismatch", "op-mismatch"}


def pick(plan: Plan, rng: Random, want: Callable[[Op], bool]) -> tuple[int, int] | None:
    """(rank, index) of a call in the later half of the programs, not at the very end."""
    ranks = list(range(plan.world))
    rng.shuffle(ranks)
    for rank in ranks:
        program = plan.programs[rank]
        here = [n for n in range(len(program) // 2, len(program) * 9 // 10) if want(program[n])]
        if here:
            return rank, rng.choice(here)
    return None


def described(plan: Plan, kind: str, accept: set[str], rank: int, index: int) -> Fault:
    op = plan.programs[rank][index]
    fault = Fault(kind, accept, (rank,), op.group, plan.seq(rank, index), op.site, index=index)
    members = plan.groups[op.group].ranks
    if len(members) == 2 and not plan.siblings(op.group) and len(plan.programs) == 2:
        fault.either = [members]  # nobody else to ask
    return fault


def collective(op: Op) -> bool:
    return not op.p2p


def skip(plan: Plan, rng: Random) -> Fault | None:
    at = pick(plan, rng, collective)
    if at is None:
        return None
    fault = described(plan, "skip", {"skipped-call", "not-joined"}, *at)
    del plan.programs[at[0]][at[1]]
    return fault


def _extra(plan: Plan, rng: Random, kind: str, size: bool, elsewhere: bool) -> Fault | None:
    at = pick(plan, rng, lambda op: op.op == "all_reduce")
    if at is None:
        return None
    rank, index = at
    op = plan.programs[rank][index]
    shape = ((op.inputs[0][0] + 3, *op.inputs[0][1:]),) if size else op.inputs
    site = (op.site[0], op.site[1] + 7) if elsewhere else op.site
    plan.programs[rank].insert(index, replace(op, inputs=shape, outputs=shape, site=site))
    return described(plan, kind, {"extra-call"}, rank, index)


def extra(plan: Plan, rng: Random) -> Fault | None:
    return _extra(plan, rng, "extra", size=True, elsewhere=True)


def extra_alike(plan: Plan, rng: Random) -> Fault | None:
    """The same arguments as the call after it."""
    return _extra(plan, rng, "extra_alike", size=False, elsewhere=rng.random() < 0.5)


def size(plan: Plan, rng: Random) -> Fault | None:
    at = pick(plan, rng, lambda op: op.op in ("all_reduce", "_all_gather_base", "_reduce_scatter_base"))
    return at and _replaced(plan, at, "size", "size-mismatch", _longer)


def _longer(op: Op, width: int) -> Op:
    grow = {"all_reduce": (1, 1), "_all_gather_base": (1, width), "_reduce_scatter_base": (width, 1)}[op.op]
    shapes = [((shape[0][0] + by, *shape[0][1:]),) for shape, by in zip((op.inputs, op.outputs), grow)]
    return replace(op, inputs=shapes[0], outputs=shapes[1])


def dtype(plan: Plan, rng: Random) -> Fault | None:
    at = pick(plan, rng, collective)
    return at and _replaced(plan, at, "dtype", "dtype-mismatch", _other_dtype)


def _other_dtype(op: Op, width: int) -> Op:
    return replace(op, dtype="Double" if op.dtype == "Float" else "Float")


def op_type(plan: Plan, rng: Random) -> Fault | None:
    at = pick(plan, rng, lambda op: op.op in ("all_reduce", "broadcast"))
    return at and _replaced(plan, at, "op", "op-mismatch", _other_op)


def _other_op(op: Op, width: int) -> Op:
    return replace(op, op={"all_reduce": "broadcast", "broadcast": "all_reduce"}[op.op])


def _replaced(plan: Plan, at: tuple[int, int], kind: str, verdict: str, how: Callable[[Op, int], Op]) -> Fault:
    rank, index = at
    program = plan.programs[rank]
    program[index] = how(program[index], len(plan.groups[program[index].group].ranks))
    return described(plan, kind, {verdict}, rank, index)


def swap(plan: Plan, rng: Random) -> Fault | None:
    """Two neighbours of one group in the other order."""
    at = _neighbours(plan, rng, lambda a, b: a.group == b.group and a.inputs != b.inputs)
    return at and _exchanged(plan, at, "swap", {"order-swap"})


def abba(plan: Plan, rng: Random) -> Fault | None:
    """Two groups in the other order; both block."""
    at = _neighbours(plan, rng, lambda a, b: a.group != b.group and not a.overlap)
    return at and _exchanged(plan, at, "abba", {"group-deadlock", "order-swap"})


def _neighbours(plan: Plan, rng: Random, fit: Callable[[Op, Op], bool]) -> tuple[int, int] | None:
    rank = rng.randrange(plan.world)
    program = plan.programs[rank]
    here = [
        n
        for n in range(len(program) // 2, len(program) * 9 // 10)
        if not (program[n].p2p or program[n + 1].p2p) and fit(program[n], program[n + 1])
    ]
    return (rank, rng.choice(here)) if here else None


def _exchanged(plan: Plan, at: tuple[int, int], kind: str, accept: set[str]) -> Fault:
    rank, index = at
    program = plan.programs[rank]
    fault = described(plan, kind, accept, rank, index)
    fault.also.add(program[index + 1].group)
    program[index], program[index + 1] = program[index + 1], program[index]
    return fault


def split(plan: Plan, rng: Random) -> Fault | None:
    """One rank sends more in an all_to_all than its partner expects."""
    at = pick(plan, rng, lambda op: op.op == "all_to_all")
    if at is None:
        return None
    op = plan.programs[at[0]][at[1]]
    sends = (op.sends[0], op.sends[1] + rng.randint(1, 9), *op.sends[2:])
    plan.programs[at[0]][at[1]] = replace(op, sends=sends, inputs=((sum(sends), op.inputs[0][1]),))
    fault = described(plan, "split", {"split-mismatch"}, *at)
    return replace(fault, either=[()])  # where its totals differ in every step, nothing tells who
