"""Times `frtui report`, torch's own analyzer on the same dumps, the screen, and the recorder's overhead: `make bench`.

Jobs of 64 and 256 ranks, tensor parallel in eights and data parallel across, 1,000 entries a rank, one rank idle. Each
is analysed RUNS times by both in turn and the best of each counts; memory is the peak of the largest process.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tests import first_screen, overhead, torch_pickle
from tests.dumps import dump, entry, frames

WORLDS = (64, 256)
ENTRIES = 1000
RUNS = 2
TENSOR = 8
STOP = ENTRIES - 10
FRTUI = ["-m", "frtui", "report"]
TORCH = ["-m", "torch.distributed.flight_recorder.fr_trace", "-p", "nccl_trace_rank_"]


class Cost(NamedTuple):
    seconds: float
    megabytes: float
    code: int


def calls(tp: tuple[str, str], dp: tuple[str, str]) -> Iterator[dict[str, Any]]:
    """A training loop: two layers that reduce over tp, then the gradients over dp."""
    stacks = {line: frames(("/job/train.py", line)) for line in (40, 52, 77)}
    seqs = {tp: 0, dp: 0}
    for number in range(ENTRIES):
        group, line, size = ((tp, 40, 4096), (tp, 52, 4096), (dp, 77, 1 << 20))[number % 3]
        seqs[group] += 1
        made = entry(seqs[group], sizes=[[size]], group=group, site=None, state="completed")
        # One list for all calls of a line, as torch's dumps share the frames of equal stacks.
        made["frames"] = stacks[line]
        yield made


def write_job(folder: Path, world: int) -> int:
    """Rank 3 stops 10 calls before the others, which wait for it. Returns the bytes written, which are torch's.

    Its own tensor group waits at once, the others in the next call over dp, where each meets a rank of that group.
    """
    total = 0
    for rank in range(world):
        tp, dp = (str(1 + rank // TENSOR), "tp"), (str(1001 + rank % TENSOR), "dp")
        first = rank // TENSOR * TENSOR
        config = {tp: range(first, first + TENSOR), dp: range(rank % TENSOR, world, TENSOR)}
        rows = list(calls(tp, dp))[: STOP if rank == 3 else ENTRIES]
        for row in rows[STOP if rank < TENSOR else STOP + 2 :]:
            row.update(state="scheduled", retired=False)
        data = torch_pickle.dumps(dump(rows, pg_config={name: list(ranks) for name, ranks in config.items()}))
        (folder / f"nccl_trace_rank_{rank}").write_bytes(data)
        total += len(data)
    return total


def measured(arguments: list[str], folder: Path) -> Cost:
    start = time.perf_counter()
    quiet = subprocess.DEVNULL
    process = subprocess.Popen([sys.executable, *arguments, str(folder)], stdout=quiet, stderr=quiet)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    per_megabyte = 1e6 if sys.platform == "darwin" else 1e3
    return Cost(time.perf_counter() - start, usage.ru_maxrss / per_megabyte, process.returncode)


def best(costs: list[Cost]) -> Cost:
    return Cost(min(c.seconds for c in costs), min(c.megabytes for c in costs), costs[0].code)


def compare(world: int, with_torch: bool) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        size = write_job(folder, world)
        print(f"{world} ranks, {ENTRIES:,} entries each, {size / 1e6:,.0f} MB")
        ours, theirs = [], []
        for _ in range(RUNS):
            ours.append(measured(FRTUI, folder))
            if with_torch:
                theirs.append(measured(TORCH, folder))
        mine = best(ours)
        print(f"  frtui report  {mine.seconds:7.2f} s {mine.megabytes:8.0f} MB   exit code {mine.code}")
        if theirs:
            other = best(theirs)
            print(f"  torchfrtrace  {other.seconds:7.2f} s {other.megabytes:8.0f} MB   exit code {other.code}")
            print(f"  ratio         {other.seconds / mine.seconds:7.1f}   {other.megabytes / mine.megabytes:8.1f}")
        first_screen.tell(folder)


def main() -> None:
    with_torch = importlib.util.find_spec("torch") is not None
    if not with_torch:
        print("torch is not installed: no comparison")
    for world in WORLDS:
        compare(world, with_torch)
    if with_torch:
        overhead.main()


if __name__ == "__main__":
    main()
