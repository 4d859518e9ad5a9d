"""Jobs of any size as torch writes them: tensor parallel in eights, data parallel across, one rank idle."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests import torch_pickle
from tests.dumps import dump, entry, frames

TENSOR = 8
IDLE = 3
LATE = 10
"""So many calls before the others' last, about, the idle rank has stopped."""
LOOP = 3
"""Calls of one turn of the training loop."""
_TP, _DP = ("@tp", "tp"), ("@dp", "dp")
_TP_RANKS, _DP_RANKS = [-1], [-2]


def write_job(folder: Path, world: int, entries: int) -> int:
    """Rank 3 stops before the others, which wait for it. Returns the bytes written, one file a rank.

    Its own tensor group waits at once, the others in the next call over dp, where each meets a rank of that group. All
    ranks that stop at one place run the same program: their dumps differ in the names and the members of their groups.
    """
    stop = (entries - LATE) // LOOP * LOOP
    made = {
        "idle": _dump(stop, stop),
        "beside": _dump(entries, stop),
        "others": _dump(entries, stop + 2),
    }
    total = 0
    for rank in range(world):
        data = made["idle" if rank == IDLE else "beside" if rank < TENSOR else "others"]
        for old, new in _names(rank, world).items():
            data = data.replace(_text(old), _text(new))
        (folder / f"nccl_trace_rank_{rank}").write_bytes(data)
        total += len(data)
    return total


def _dump(made: int, finished: int) -> bytes:
    rows = list(_calls(made))
    for row in rows[finished:]:
        row.update(state="scheduled", retired=False)
    return torch_pickle.dumps(dump(rows, pg_config={_TP: _TP_RANKS, _DP: _DP_RANKS}))


def _calls(count: int) -> Iterator[dict[str, Any]]:
    """A training loop: two layers that reduce over tp, then the gradients over dp."""
    stacks = {line: frames(("/job/train.py", line)) for line in (40, 52, 77)}
    seqs = {_TP: 0, _DP: 0}
    for number in range(count):
        group, line, size = ((_TP, 40, 4096), (_TP, 52, 4096), (_DP, 77, 1 << 20))[number % LOOP]
        seqs[group] += 1
        made = entry(seqs[group], sizes=[[size]], group=group, site=None, state="completed")
        # One list for all calls of a line, as torch's dumps share the frames of equal stacks.
        made["frames"] = stacks[line]
        yield made


def _names(rank: int, world: int) -> dict[str, str]:
    first = rank // TENSOR * TENSOR
    return {
        _TP[0]: str(1 + rank // TENSOR),
        _DP[0]: str(10_001 + rank % TENSOR),
        str(_TP_RANKS): str([*range(first, first + TENSOR)]),
        str(_DP_RANKS): str([*range(rank % TENSOR, world, TENSOR)]),
    }


def _text(value: str) -> bytes:
    """A string as torch pickles it where it first occurs."""
    return b"X" + len(value).to_bytes(4, "little") + value.encode()


if __name__ == "__main__":
    print(write_job(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))
