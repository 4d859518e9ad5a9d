"""Runs the programs of all ranks as hosts and devices do, until nothing moves.

A host makes its calls ahead of the device and stops where it waits for a result. A device runs the calls of a
group in order; a call that is not overlapped also holds up what was made after it. A collective finishes when
all members run it and their arguments fit, a send or recv when the other side runs its own.
"""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass, field
from math import prod
from random import Random

from tests.faults.program import Op, Plan, Shapes

MICROSECOND, SECOND = 1_000, 1_000_000_000
NEVER = 1 << 40


@dataclass
class Upset:
    """What is wrong with the machine rather than with a program."""

    stalled: set[tuple[int, int]] = field(default_factory=set)
    """(group, seq) of collectives that the network never finishes."""
    broken: set[int] = field(default_factory=set)
    """Groups whose communicator never comes up."""
    halted: dict[int, int] = field(default_factory=dict)
    """rank -> its device runs no call from this index on."""
    blind: dict[int, int] = field(default_factory=dict)
    """rank -> it does not notice the end of calls from this index on."""
    delays: dict[tuple[int, int], int] = field(default_factory=dict)
    """(rank, index) -> nanoseconds that the host is late."""


@dataclass
class Made:
    """A call that a host has made."""

    rank: int
    index: int
    op: Op
    seq: int
    p2p_seq: int
    op_id: int
    created: int
    after: list[Made]
    """What must finish before the device can start it."""
    slots: list[tuple[tuple[int, int, int], int]] = field(default_factory=list)
    """(channel, n-th in it) of each send and recv."""
    started: int | None = None
    finished: int | None = None


class Machine:
    """One run; `run` gives what every rank made."""

    def __init__(self, plan: Plan, rng: Random, upset: Upset, timeout: int) -> None:
        self.plan, self.rng, self.upset, self.timeout = plan, rng, upset, timeout
        self.made: list[list[Made]] = [[] for _ in plan.programs]
        self.waiting: list[list[Made]] = [[] for _ in plan.programs]
        self.clock = [rng.randint(0, 300) * MICROSECOND for _ in plan.programs]
        self.counts: dict[tuple[int, int, str], int] = defaultdict(int)
        self.arrived: dict[tuple[int, int], dict[int, Made]] = defaultdict(dict)
        self.ends: dict[tuple[tuple[int, int, int], int, str], tuple[Made, Op]] = {}
        self.slots: dict[tuple[int, int, int, str], int] = defaultdict(int)
        self.due = deque(range(plan.world))

    def run(self) -> list[list[Made]]:
        while self.due:
            rank = self.due.popleft()
            while self._host(rank) | self._device(rank):
                pass
        return self.made

    def finished(self) -> bool:
        """Every program ran to its end and every call finished."""
        return all(len(m) == len(p) for m, p in zip(self.made, self.plan.programs)) and all(
            made.finished is not None for rank in self.made for made in rank
        )

    def _host(self, rank: int) -> bool:
        moved = False
        program, made = self.plan.programs[rank], self.made[rank]
        while len(made) < len(program):
            if made and made[-1].op.host_waits:
                end, blind = made[-1].finished, made[-1].index >= self.upset.blind.get(rank, NEVER)
                if end is None or blind:
                    return moved
                self.clock[rank] = max(self.clock[rank], end)
            self._make(rank, program[len(made)])
            moved = True
        return moved

    def _make(self, rank: int, op: Op) -> None:
        made, index = self.made[rank], len(self.made[rank])
        self.clock[rank] += self.rng.randint(15, 60) * MICROSECOND + self.upset.delays.get((rank, index), 0)
        counter = (rank, op.group, "p2p" if op.p2p else "seq")
        self.counts[counter] += 1
        self.counts[rank, op.group, "id"] += max(1, len(op.parts))
        seq, p2p, number = (self.counts[rank, op.group, what] for what in ("seq", "p2p", "id"))
        new = Made(rank, index, op, seq, p2p if op.p2p else 0, number, self.clock[rank], self._before(made, op))
        for part in op.parts or ((op,) if op.p2p else ()):
            self._slot(new, part)
        made.append(new)
        self.waiting[rank].append(new)

    def _before(self, made: list[Made], op: Op) -> list[Made]:
        if op.joins:
            return [m for m in made if m.finished is None] + made[-1:]
        last = next((m for m in reversed(made) if m.op.group == op.group), None)
        main = next((m for m in reversed(made) if not m.op.overlap), None)
        return [m for m in (last, main) if m is not None]

    def _slot(self, made: Made, part: Op) -> None:
        pair = (made.rank, part.peer) if part.op == "send" else (part.peer, made.rank)
        channel = (part.group, *pair)
        key = (*channel, part.op)
        made.slots.append((channel, self.slots[key]))
        self.ends[channel, self.slots[key], part.op] = (made, part)
        self.slots[key] += 1

    def _device(self, rank: int) -> bool:
        started = [m for m in self.waiting[rank] if self._can_start(m)]
        for made in started:
            made.started = max([made.created, *(m.finished or 0 for m in made.after)])
            made.after = []
            self.waiting[rank].remove(made)
            self._p2p(made) if made.op.p2p else self._collective(made)
        return bool(started)

    def _can_start(self, made: Made) -> bool:
        halted = made.index >= self.upset.halted.get(made.rank, NEVER)
        return not halted and all(m.finished is not None for m in made.after)

    def _collective(self, made: Made) -> None:
        group, key = made.op.group, (made.op.group, made.seq)
        here = self.arrived[key]
        here[made.rank] = made
        members = self.plan.groups[group].ranks
        if len(here) < len(members) or key in self.upset.stalled or group in self.upset.broken:
            return
        calls = [here[r] for r in members]
        starts = [m.started or 0 for m in calls]
        if max(starts) - min(starts) < self.timeout and fits([m.op for m in calls]):
            self._finish(calls, max(starts))

    def _p2p(self, made: Made) -> None:
        """Finish what this start completes: the call itself, and the calls on its other sides."""
        for one in [made, *(m for m in self._others(made) if m is not None)]:
            others = self._others(one)
            if one.finished is None and one.started is not None and all(o and o.started is not None for o in others):
                self._finish([one], max([one.started, *(o.started or 0 for o in others if o)]))

    def _others(self, made: Made) -> list[Made | None]:
        """The call on the other side of each send and recv; None where it is missing or does not fit."""
        found: list[Made | None] = []
        for (channel, n), part in zip(made.slots, made.op.parts or (made.op,)):
            other = self.ends.get((channel, n, "recv" if part.op == "send" else "send"))
            ok = other and (part.inputs, part.dtype) == (other[1].inputs, other[1].dtype)
            found.append(other[0] if other and ok else None)
        return found

    def _finish(self, calls: list[Made], start: int) -> None:
        end = start + self.rng.randint(80, 900) * MICROSECOND
        for made in calls:
            made.finished = end
            self.due.append(made.rank)


def fits(calls: list[Op]) -> bool:
    """Whether the members' arguments make one collective."""
    if calls[0].op == "all_to_all" and all(c.op == "all_to_all" for c in calls):
        pairs = ((i, j) for i in range(len(calls)) for j in range(len(calls)))
        return all(calls[i].sends[j] == calls[j].takes[i] for i, j in pairs) and len({c.dtype for c in calls}) == 1
    return len({(c.op, _numels(c.inputs), _numels(c.outputs), c.dtype) for c in calls}) == 1


def _numels(shapes: Shapes) -> tuple[int, ...]:
    return tuple(prod(shape) for shape in shapes)
