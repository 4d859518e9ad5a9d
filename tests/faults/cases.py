"""Cases: a plan, a fault, a run and its dumps, all from (kind, seed)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

from tests.faults import layouts
from tests.faults.inject import MISMATCH, Fault
from tests.faults.kinds import FAULTS
from tests.faults.machine import MICROSECOND, SECOND, Machine, Made, Upset
from tests.faults.program import Plan
from tests.faults.record import Recording, hung_at, recording, save

TIMEOUT = 600 * SECOND
HEALTHY = ("running", "finished", "uneven", "skew", "wrapped")
KINDS = (*FAULTS, *HEALTHY)
ONLY = {"split": ("moe",), "uneven": ("moe",), "both_send": ("pipeline",), "multi": ("tp_dp", "hsdp", "moe", "ring")}
ONLY["p2p_missing"] = ONLY["p2p_size"] = ("pipeline", "pipeline", "ring")
ONLY["abba"] = ("tp_dp", "hsdp", "pipeline", "moe", "ring")
ONLY["membership"] = ("tp_dp", "hsdp", "moe", "pipeline")
TRIES = 60


@dataclass
class Case:
    kind: str
    seed: int
    plan: Plan
    fault: Fault
    made: list[list[Made]]
    how: Recording

    @property
    def name(self) -> str:
        return f"{self.kind}-{self.plan.layout}-w{self.plan.world}-s{self.seed}"

    def save(self, folder: Path) -> None:
        save(folder, self.plan, self.made, self.how)


def make(kind: str, seed: int) -> Case:
    """The case of a kind and a seed; the same each time."""
    for attempt in range(TRIES):
        rng = Random(f"{kind}-{seed}-{attempt}")
        plan = layouts.make(rng.choice(ONLY.get(kind, tuple(layouts.LAYOUTS))), rng)
        case = _healthy(kind, seed, plan, rng) if kind in HEALTHY else _faulty(kind, seed, plan, rng)
        if case:
            return case
    raise ValueError(f"no case of {kind} with seed {seed}")


def _healthy(kind: str, seed: int, plan: Plan, rng: Random) -> Case:
    made = Machine(plan, rng, Upset(), TIMEOUT).run()
    end = max(m.finished or 0 for calls in made for m in calls)
    running = kind != "finished" and not (kind == "uneven" and rng.random() < 0.5)
    at = int(end * rng.uniform(0.3, 0.95)) if running else end + rng.randint(1, 900) * SECOND
    how = recording(plan, rng, [at + rng.randint(0, 400) * MICROSECOND for _ in made], TIMEOUT)
    if kind == "skew":
        how.skew = [rng.randint(-120, 120) * SECOND for _ in made]
        how.shared_disk = False
    if kind == "wrapped":
        how.ring = max(6, min(len(calls) for calls in made) // rng.randint(2, 5))
    elif rng.random() < 0.1:
        how.only_active = running
    return Case(kind, seed, plan, Fault(kind, {"no-hang"}, ()), made, how)


def _faulty(kind: str, seed: int, plan: Plan, rng: Random) -> Case | None:
    fault = FAULTS[kind](plan, rng)
    if fault is None:
        return None
    machine = Machine(plan, rng, fault.upset, TIMEOUT)
    made = machine.run()
    if machine.finished() or not any(m.finished is None for calls in made for m in calls):
        return None
    how = recording(plan, rng, hung_at(made, TIMEOUT, rng), TIMEOUT)
    how.missing, how.claims, how.blind = fault.missing, fault.claims, fault.upset.blind
    if kind in ("idle", "stall", "membership") and rng.random() < 0.15:
        how.only_active = True
    if not how.only_active and rng.random() < 0.2:
        how.ring = _ring(made, fault, rng)
    if not _shows(kind, fault, made):
        return None
    return Case(kind, seed, plan, _ambiguous(_first_owed(fault, made), made, how), made, how)


def _ring(made: list[list[Made]], fault: Fault, rng: Random) -> int:
    """So small that it has wrapped, so large that the place of the fault is still in it."""
    rank = fault.ranks[0] if fault.ranks else 0
    since = sum(1 + len(m.op.parts) for m in made[rank] if m.index >= fault.index) if fault.index >= 0 else 100
    return since + rng.randint(20, 60)


def _shows(kind: str, fault: Fault, made: list[list[Made]]) -> bool:
    """Whether the dumps can show the fault at all."""
    if kind == "stale":  # others must be waiting for the rank
        (rank,) = fault.ranks
        return all(m.finished for m in made[rank] if m.index <= fault.upset.blind[rank] + 1)
    if kind == "multi":  # both must have somebody waiting in their own group
        stuck = {m.op.group for calls in made for m in calls if m.finished is None and m.started is not None}
        return len(stuck) > 1
    if kind in ("straggler", "stall"):
        return any(m.started is not None and m.finished is None for calls in made for m in calls)
    return True


def _first_owed(fault: Fault, made: list[list[Made]]) -> Fault:
    """Of the calls that an idle rank owes, the first in which somebody already waits."""
    stuck = [m for calls in made for m in calls if m.started is not None and m.finished is None]
    collectives = {(m.op.group, m.seq) for m in stuck if not m.op.p2p}
    passing = {(m.op.group, m.rank) for m in stuck for p in m.op.parts or (m.op,) if p.peer in fault.ranks}
    for op, seq in fault.rest:
        peers = {(op.group, p.peer) for p in op.parts or (op,)}
        if (not op.p2p and (op.group, seq) in collectives) or peers & passing:
            return replace(fault, group=op.group, seq=None if op.p2p else seq, site=None if op.p2p else op.site)
    return fault


def _ambiguous(fault: Fault, made: list[list[Made]], how: Recording) -> Fault:
    """Adds what else would have left the same dumps."""
    if not fault.ranks or fault.index < 0 or fault.group is None:
        return fault
    after = [m for m in made[fault.ranks[0]] if m.index >= fault.index]
    same = sum(m.op.group == fault.group for m in after)
    more: set[str] = set()
    if fault.kind == "skip" and same == 0:
        more |= {"group-deadlock", "order-swap"}  # it may come later
    if fault.kind == "skip" and same == 1:
        more |= {"order-swap", "extra-call"} | MISMATCH
    if fault.kind in ("extra", "extra_alike") and same < 2:
        more |= MISMATCH | {"order-swap"}  # the call that it displaced was not made yet
    # Of a swap one sees no more than a call too early, unless both sides went on.
    if fault.kind in ("swap", "abba") and (len(after) < 3 or same < 2):
        more |= {"skipped-call", "extra-call"} | MISMATCH
    site = fault.site if how.frames else None
    return replace(fault, accept=fault.accept | more, site=site)
