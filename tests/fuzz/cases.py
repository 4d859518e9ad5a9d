"""One case: a folder in which something is wrong, made from a seed and a number, so that it can be made again."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

from frtui.load.normalise import normalise
from frtui.stored import path_of, write
from tests import torch_pickle
from tests.fuzz import mutate, seeds, whole
from tests.load.ways import same

RANKS = 3
NAME = "nccl_trace_rank_{}"
BOTH_WAYS = 6
"""Files of which only the fast and the general way are compared: that is quicker than all the rest."""


def run(seed: int, number: int, folder: Path) -> None:
    """Make the folder of a case and look at it. Raises where something does not hold."""
    chance = Random(f"{seed}/{number}")
    make = (_dumps, _dumps, _dumps, _dumps, _dumps, _dumps, _dumps, _index, _archive, _ring)[chance.randrange(10)]
    healthy = make(chance, folder)
    expected = {rank: list(normalise(seeds.raw(rank), 1 << 16).entries.seq) for rank in healthy}
    whole.check(folder, expected, chance)


def mutated(chance: Random) -> bytes:
    kind = chance.randrange(10)
    if kind < 4:
        return seeds.encode(chance, mutate.an_object(chance, seeds.objects(chance)))
    if kind < 7:
        return mutate.some_opcodes(chance, seeds.data(chance))
    if kind < 8:
        return mutate.some_bytes(chance, mutate.some_opcodes(chance, seeds.data(chance)), b"")
    return mutate.some_bytes(chance, seeds.data(chance), seeds.data(chance))


def _dumps(chance: Random, folder: Path) -> list[int]:
    """Files of which one or two are mutated. Returns the ranks of the others."""
    for _ in range(BOTH_WAYS):
        data = mutated(chance)
        (folder / "nothing.log").write_bytes(data)  # to be found where both ways disagree
        same(data)
    changed = chance.sample(range(RANKS), chance.choice([1, 1, 2]))
    for rank in range(RANKS):
        data = mutated(chance) if rank in changed else torch_pickle.dumps(seeds.raw(rank))
        (folder / NAME.format(rank)).write_bytes(data)
    return sorted({*range(RANKS)} - {*changed})


def _archive(chance: Random, folder: Path) -> list[int]:
    mode = chance.choice(["w", "w:gz"])
    members = {f"node/{NAME.format(rank)}": mutated(chance) for rank in (5, 6)}
    data = seeds.tarred({**members, **{NAME.format(7): torch_pickle.dumps(seeds.raw(0))}}, mode)
    (folder / ("x.tar" if mode == "w" else "x.tgz")).write_bytes(mutate.some_bytes(chance, data, seeds.data(chance)))
    (folder / "rank_0").write_bytes(torch_pickle.dumps(seeds.raw(0)))
    return []


def _ring(chance: Random, folder: Path) -> list[int]:
    (folder / "recorder").mkdir()
    for rank in range(2):
        data = mutate.some_bytes(chance, seeds.a_ring(), seeds.data(chance))
        (folder / "recorder" / f"ring.r{rank}.frr").write_bytes(data)
    (folder / "recorder" / "fault.r1.log").write_bytes(mutate.some_bytes(chance, seeds.FAULT, b"\x1b[31m" * 9))
    (folder / NAME.format(2)).write_bytes(torch_pickle.dumps(seeds.raw(2)))
    return [2]


def _index(chance: Random, folder: Path) -> list[int]:
    """Dumps as they should be, and an index that says something else of them."""
    for rank in range(RANKS):
        (folder / NAME.format(rank)).write_bytes(torch_pickle.dumps(seeds.raw(rank)))
    write(folder)
    path = path_of(folder)
    data = path.read_bytes()
    place = int.from_bytes(data[data.index(b"\n") + 1 :][:8], "little")
    if chance.random() < 0.25:
        path.write_bytes(mutate.some_bytes(chance, data, data))
    else:
        path.write_bytes(_columns(chance, data[:place]) + _head(chance, data[place:]))
    return []


def _columns(chance: Random, data: bytes) -> bytes:
    """Other bytes in some columns; where they end stays as it is."""
    changed = bytearray(data)
    for _ in range(chance.choice([0, 0, 1, 3, 30])):
        changed[chance.randrange(32, len(data))] = chance.choice([0, 1, 2, 0x7F, 0x80, 0xFF])
    return bytes(changed)


def _head(chance: Random, data: bytes) -> bytes:
    head: dict[str, Any] = json.loads(data)
    stamp = head.pop("stamp")
    for _ in range(chance.choice([1, 1, 3])):
        holder, key = mutate.place(chance, head)
        old = holder[key]
        new = mutate.nonsense(chance)
        if isinstance(old, str):
            new = chance.choice(mutate.EVIL)
        elif isinstance(old, int) and not isinstance(old, bool):
            new = chance.choice([*mutate.NUMBERS, old + 1, old - 1])
        elif isinstance(old, list) and chance.random() < 0.8:
            new = chance.choice([[], old + old, old[1:], old[:-1], old[::-1]])
        holder[key] = new
    return json.dumps({"stamp": stamp, **head}).encode() if isinstance(head, dict) else b""
