"""What the recorder costs a call: an all_reduce of four floats on the `fake` back end, where nothing else takes time.

    python -m tests.bench.overhead

Each way is measured in a process of its own, RUNS times CALLS calls below DEPTH frames; the best run counts.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

CALLS, RUNS, DEPTH = 5000, 9, 14
WAYS = {
    "off": "torch alone",
    "switched off": "recorder imported, not enabled",
    "none": "recorder, without stacks",
    "python": "recorder, with Python stacks (the default)",
}


def main() -> None:
    print(f"all_reduce on the fake back end, us a call (best of {RUNS} x {CALLS:,}, {DEPTH} frames deep)")
    base = 0.0
    for way, name in WAYS.items():
        done = subprocess.run(
            [sys.executable, "-m", "tests.bench.overhead", way], capture_output=True, text=True, check=True
        )
        cost = float(done.stdout)
        base = base or cost
        print(f"  {name:44} {cost:6.1f}   {cost - base:+6.1f}")


def measured(way: str) -> float:
    """Microseconds a call."""
    import torch
    import torch.distributed as dist
    from torch.testing._internal.distributed.fake_pg import FakeStore

    import recorder

    with tempfile.TemporaryDirectory() as folder:
        if way in ("none", "python"):
            recorder.enable(dump_prefix=f"{folder}/rank_", stack=way, quiet=True)
        dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=2)
        tensor = torch.ones(4)
        times = [_below(DEPTH, lambda: _timed(dist.all_reduce, tensor)) for _ in range(RUNS)]
        dist.destroy_process_group()
        recorder.disable()
    return min(times)


def _below(frames: int, run: Callable[[], float]) -> float:
    return run() if frames == 0 else _below(frames - 1, run)


def _timed(call: Any, tensor: Any) -> float:
    start = time.perf_counter()
    for _ in range(CALLS):
        call(tensor)
    return (time.perf_counter() - start) / CALLS * 1e6


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(measured(sys.argv[1]))
    else:
        main()
