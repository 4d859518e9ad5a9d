"""Programs of common parallel layouts. `make(name, world, rng)` is the way in.

Sizes, layers, buckets, group names and small irregularities (rank 0 logs from another line, an evaluation
every few steps, layers in a loop or unrolled) come from the seed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

from tests.faults import schedules
from tests.faults.program import Group, Op, Plan, Site

TRAIN, MODEL, OPTIM, DATA = "/job/train.py", "/job/model/layers.py", "/job/optim.py", "/job/moe.py"


class Writer:
    """Appends calls to the programs of a plan."""

    def __init__(self, layout: str, world: int, rng: Random) -> None:
        self.rng = rng
        self.hashed = rng.random() < 0.4
        self.looped = rng.random() < 0.6
        self.plan = Plan(layout, [Group("0", "default_pg", tuple(range(world)))], [[] for _ in range(world)])
        self.layers = rng.randint(2, 4)
        self.hidden = rng.choice([64, 128, 512, 4096])
        self.dtype = rng.choice(["BFloat16", "Half", "Float"])
        self.steps = rng.randint(4, 7)
        self.eval_every = rng.choice([2, 3, 100])
        self.rank0_line = rng.random() < 0.5

    def mesh(self, desc: str, members: Sequence[Sequence[int]]) -> dict[int, int]:
        """Make one group for each list of members; rank -> its group."""
        found = {}
        for ranks in members:
            number = len(self.plan.groups)
            name = hashlib.sha1(f"{desc}{list(ranks)}".encode()).hexdigest() if self.hashed else str(number)
            self.plan.groups.append(Group(name, desc, tuple(ranks)))
            found.update(dict.fromkeys(ranks, number))
        return found

    def line(self, file: str, base: int, layer: int = 0) -> Site:
        return file, base + (0 if self.looped else layer)

    def add(self, rank: int, op: Op) -> None:
        self.plan.programs[rank].append(op)

    def reduce(self, rank: int, group: int, numel: Sequence[int], site: Site, **more: Any) -> None:
        shape = (tuple(numel),)
        self.add(rank, Op(group, "all_reduce", site, shape, shape, **more))

    def gather(self, rank: int, group: int, shard: int, site: Site, **more: Any) -> None:
        width = len(self.plan.groups[group].ranks)
        self.add(rank, Op(group, "_all_gather_base", site, ((shard,),), ((shard * width,),), **more))

    def scatter(self, rank: int, group: int, shard: int, site: Site, **more: Any) -> None:
        width = len(self.plan.groups[group].ranks)
        self.add(rank, Op(group, "_reduce_scatter_base", site, ((shard * width,),), ((shard,),), **more))

    def loss(self, rank: int, step: int) -> None:
        """The end of a step: a scalar over the world that the host reads, sometimes an evaluation."""
        line = 93 if rank == 0 and self.rank0_line else 90
        self.reduce(rank, 0, (1,), (TRAIN, line), joins=True, host_waits=True)
        if step % self.eval_every == self.eval_every - 1:
            self.reduce(rank, 0, (2,), (TRAIN, 120), joins=True)
            one = ((1,),)
            self.add(rank, Op(0, "all_reduce_barrier", (TRAIN, 124), one, one, joins=True, host_waits=True))


def ddp(w: Writer) -> None:
    buckets = [w.rng.choice([1 << 20, 4096, 262144]) + w.rng.choice([0, 0, 64]) for _ in range(w.rng.randint(2, 5))]
    buffers = w.rng.random() < 0.5
    for rank in range(w.plan.world):
        for step in range(w.steps):
            if buffers:
                w.add(rank, Op(0, "broadcast", (TRAIN, 60), ((w.hidden,),), ((w.hidden,),)))
            for n, size in enumerate(buckets):
                w.reduce(rank, 0, (size,), w.line(TRAIN, 71, n), overlap=True)
            w.loss(rank, step)


def fsdp(w: Writer) -> None:
    shards = [w.hidden * w.rng.choice([8, 16, 24]) for _ in range(w.layers)]
    prefetch = w.rng.random() < 0.5
    for rank in range(w.plan.world):
        for step in range(w.steps):
            for n, shard in enumerate(shards):
                w.gather(rank, 0, shard, w.line(MODEL, 40, n), dtype=w.dtype, overlap=prefetch)
            for n, shard in reversed(list(enumerate(shards))):
                w.gather(rank, 0, shard, w.line(MODEL, 52, n), dtype=w.dtype, overlap=prefetch)
                w.scatter(rank, 0, shard, w.line(OPTIM, 31, n), overlap=True)
            w.loss(rank, step)


def tp_dp(w: Writer) -> None:
    world = w.plan.world
    width = w.rng.choice([n for n in (2, 4, 8) if world % n == 0 and n < world])
    tp = w.mesh("tp", [range(i, i + width) for i in range(0, world, width)])
    dp = w.mesh("dp", [range(i, world, width) for i in range(width)])
    overlap = w.rng.random() < 0.5
    for rank in range(world):
        for step in range(w.steps):
            _tensor(w, rank, tp[rank], forward=True)
            _tensor(w, rank, tp[rank], forward=False)
            for n in range(w.layers):
                w.reduce(rank, dp[rank], (w.hidden * 48 + n % 2,), w.line(OPTIM, 61, n), overlap=overlap)
            w.reduce(rank, tp[rank], (1,), (OPTIM, 80), joins=True)
            w.loss(rank, step)


def _tensor(w: Writer, rank: int, group: int, forward: bool) -> None:
    for n in range(w.layers):
        base = 30 if forward else 130
        w.reduce(rank, group, (4, w.hidden), w.line(MODEL, base, n), dtype=w.dtype)
        w.reduce(rank, group, (4, w.hidden), w.line(MODEL, base + 20, n), dtype=w.dtype)


def pipeline(w: Writer) -> None:
    """Tensor, pipeline and data parallel: stages as Megatron orders them."""
    world = w.plan.world
    width = w.rng.choice([n for n in (1, 2) if world // n >= 2 and world % n == 0])
    stages = w.rng.choice([n for n in (2, 4) if world % (width * n) == 0])
    block = world // stages
    tp = w.mesh("tp", [range(i, i + width) for i in range(0, world, width)]) if width > 1 else {}
    pp = w.mesh("pp", [range(i, world, block) for i in range(block)])
    dp = {}
    if block > width:
        dp = w.mesh("dp", [range(s * block + i, (s + 1) * block, width) for s in range(stages) for i in range(width)])
    batched, micro = w.rng.random() < 0.6, stages * w.rng.choice([1, 2])
    for rank in range(world):
        ring, stage = w.plan.groups[pp[rank]].ranks, rank // block
        before, after = (ring[stage - 1] if stage else -1), (ring[stage + 1] if stage < stages - 1 else -1)
        pipe = schedules.Pipe(pp[rank], before, after, ((4, w.hidden),), w.dtype)
        for step in range(w.steps):
            for made in schedules.one_f_one_b(pipe, stage, stages, micro) if batched else schedules.gpipe(pipe, micro):
                if isinstance(made, Op):
                    w.add(rank, made)
                elif tp:
                    _tensor(w, rank, tp[rank], forward=made == "forward")
            if dp:
                w.reduce(rank, dp[rank], (w.hidden * 64,), (OPTIM, 61))
            w.loss(rank, step)


def moe(w: Writer) -> None:
    """Experts: uneven all_to_all there and back in each layer, then gradients over the world."""
    world = w.plan.world
    width = w.rng.choice([n for n in (2, 4, 8) if world % n == 0 and n <= world])
    ep = w.mesh("ep", [range(i, i + width) for i in range(0, world, width)])
    routes = {}
    for rank in range(world):
        group = ep[rank]
        place = w.plan.groups[group].ranks.index(rank)
        for step in range(w.steps):
            for n in range(w.layers):
                key = (group, step, n)
                if key not in routes:
                    routes[key] = [[w.rng.randint(1, 30) for _ in range(width)] for _ in range(width)]
                there = routes[key]
                _to_all(w, rank, group, there[place], [row[place] for row in there], w.line(DATA, 40, n))
                _to_all(w, rank, group, [row[place] for row in there], there[place], w.line(DATA, 47, n))
            for n in range(w.layers):
                w.reduce(rank, 0, (w.hidden * 32,), w.line(OPTIM, 61, n), overlap=True)
            w.loss(rank, step)


def _to_all(w: Writer, rank: int, group: int, sends: Sequence[int], takes: Sequence[int], site: Site) -> None:
    shapes = [((sum(counts), w.hidden),) for counts in (sends, takes)]
    op = Op(group, "all_to_all", site, shapes[0], shapes[1], w.dtype, sends=tuple(sends), takes=tuple(takes))
    w.add(rank, op)


def hsdp(w: Writer) -> None:
    world = w.plan.world
    width = w.rng.choice([n for n in (2, 4, 8) if world % n == 0 and n < world])
    shard = w.mesh("mesh_shard", [range(i, i + width) for i in range(0, world, width)])
    replicate = w.mesh("mesh_replicate", [range(i, world, width) for i in range(width)])
    sizes = [w.hidden * w.rng.choice([8, 16, 24]) for _ in range(w.layers)]
    for rank in range(world):
        for step in range(w.steps):
            for n, size in enumerate(sizes):
                w.gather(rank, shard[rank], size, w.line(MODEL, 40, n), dtype=w.dtype)
            for n, size in reversed(list(enumerate(sizes))):
                w.gather(rank, shard[rank], size, w.line(MODEL, 52, n), dtype=w.dtype)
                w.scatter(rank, shard[rank], size, w.line(OPTIM, 31, n))
                w.reduce(rank, replicate[rank], (size,), w.line(OPTIM, 38, n))
            w.loss(rank, step)


def ring(w: Writer) -> None:
    """Context parallel: every layer passes its keys round a ring, in batches of one send and one recv."""
    world = w.plan.world
    width = w.rng.choice([n for n in (4, 8, 2) if world % n == 0])
    cp = w.mesh("cp", [range(i, i + width) for i in range(0, world, width)])
    for rank in range(world):
        group = cp[rank]
        members = w.plan.groups[group].ranks
        place = members.index(rank)
        after, before = members[(place + 1) % width], members[place - 1]
        shape = ((2, w.hidden),)
        for step in range(w.steps):
            for n in range(w.layers):
                for _ in range(min(width - 1, 3)):
                    site = w.line(MODEL, 70, n)
                    halves = [Op(group, "send", site, shape, shape, w.dtype, peer=after)]
                    halves.append(replace(halves[0], op="recv", peer=before))
                    w.add(rank, Op(group, "batch", site, parts=tuple(halves)))
                w.reduce(rank, group, (w.hidden * 3,), w.line(MODEL, 88, n))
            w.reduce(rank, 0, (w.hidden * 40,), (OPTIM, 61), overlap=True)
            w.loss(rank, step)


LAYOUTS = {"ddp": ddp, "fsdp": fsdp, "tp_dp": tp_dp, "pipeline": pipeline, "moe": moe, "hsdp": hsdp, "ring": ring}
SMALLEST = {"ddp": 2, "fsdp": 2, "tp_dp": 4, "pipeline": 4, "moe": 4, "hsdp": 4, "ring": 4}
WORLDS = (2, 3, 4, 4, 6, 8, 8, 8, 16, 16, 32, 64)


def make(name: str, rng: Random) -> Plan:
    """The healthy programs of a layout on some number of ranks."""
    fits = [n for n in WORLDS if n >= SMALLEST[name] and (SMALLEST[name] == 2 or n % 4 == 0)]
    writer = Writer(name, rng.choice(fits), rng)
    LAYOUTS[name](writer)
    return writer.plan
