"""Faults outside the programs: a rank that stops, a network that loses a call, a group that never comes up."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from tests.faults.inject import Fault, collective, described, pick
from tests.faults.machine import SECOND
from tests.faults.program import Op, Plan


def idle(plan: Plan, rng: Random) -> Fault | None:
    """The host of one rank stops between two calls; the device works off what it has."""
    rank, index = _anywhere(plan, rng)
    fault = replace(described(plan, "idle", {"not-joined"}, rank, index), either=[], rest=_rest(plan, rank, index))
    del plan.programs[rank][index:]
    return fault


def dead(plan: Plan, rng: Random) -> Fault | None:
    """One process is killed: nothing of it runs on, and it leaves no dump."""
    rank, index = _anywhere(plan, rng)
    fault = replace(described(plan, "dead", {"no-dump"}, rank, index), either=[], rest=_rest(plan, rank, index))
    fault.missing = frozenset({rank})
    del plan.programs[rank][index:]
    fault.upset.halted[rank] = index
    return fault


def _rest(plan: Plan, rank: int, index: int) -> list[tuple[Op, int]]:
    program = plan.programs[rank]
    return [(program[n], plan.seq(rank, n)) for n in range(index, len(program))]


def _anywhere(plan: Plan, rng: Random) -> tuple[int, int]:
    rank = rng.randrange(plan.world)
    return rank, int(len(plan.programs[rank]) * rng.uniform(0.4, 0.9))


def stall(plan: Plan, rng: Random) -> Fault | None:
    """The network loses a collective that all have joined."""
    at = pick(plan, rng, collective)
    if at is None:
        return None
    fault = replace(described(plan, "stall", {"all-joined-stuck"}, *at), ranks=(), either=[])
    fault.upset.stalled.add((plan.programs[at[0]][at[1]].group, plan.seq(*at)))
    return fault


def straggler(plan: Plan, rng: Random) -> Fault | None:
    """One rank is so late that the others have just given up when it joins."""
    at = pick(plan, rng, lambda op: not op.p2p and not op.overlap)
    if at is None:
        return None
    fault = replace(described(plan, "straggler", {"straggler"}, *at), either=[])
    fault.upset.delays[at] = 600 * SECOND + int(rng.uniform(0.01, 0.4) * SECOND)
    return fault


def membership(plan: Plan, rng: Random) -> Fault | None:
    """One rank makes a group with other members: its communicator never comes up."""
    passing = {op.group for program in plan.programs for op in program if op.p2p}
    wide = [n for n, g in enumerate(plan.groups) if n and len(g.ranks) > 2 and n not in passing]
    if not wide:
        return None
    group = rng.choice(wide)
    members = plan.groups[group].ranks
    rank = rng.choice(members)
    left_out = rng.choice([r for r in members if r != rank])
    claim = tuple(r for r in members if r != left_out)
    fault = Fault("membership", {"membership-mismatch"}, (rank,), group, 1)
    fault.claims[rank, group] = claim
    fault.upset.broken.add(group)
    return fault


def stale(plan: Plan, rng: Random) -> Fault | None:
    """A rank's watchdog is dead: what it runs stays open in its dump, and its host waits for ever."""
    rank = rng.randrange(plan.world)
    program = plan.programs[rank]
    stops = [n for n, op in enumerate(program[:-4]) if op.host_waits and n > len(program) // 3]
    if not stops:
        return None
    stop = rng.choice(stops)
    first = max(stop - rng.randint(2, 6), 0)
    if any(op.p2p or op.op == "broadcast" for op in program[first : stop + 1]):
        return None
    fault = Fault("stale", {"stale"}, (rank,))
    fault.upset.blind[rank] = first
    return fault


def multi(plan: Plan, rng: Random) -> Fault | None:
    """Two ranks stop in two groups, neither of which needs the other."""
    apart = [(n, m) for n, g in enumerate(plan.groups) for m in plan.siblings(n) if n and n < m]
    if not apart:
        return None
    pair = rng.choice(apart)
    ranks = []
    for group in pair:
        rank = rng.choice(plan.groups[group].ranks)
        here = [n for n, op in enumerate(plan.programs[rank]) if op.group == group and not op.p2p]
        if not here:
            return None
        ranks.append(rank)
        del plan.programs[rank][here[len(here) * 2 // 3] :]
    return Fault("multi", {"not-joined"}, tuple(sorted(ranks)), independent=True)
