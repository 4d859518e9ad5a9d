"""Real jobs on gloo with one fault each, for `test_gloo_jobs.py`: `python gloo_job.py FOLDER FAULT:PORT ...`.

torch is imported once and the ranks of all jobs are forked. In each a thread writes the recorder's buffer to
FOLDER/FAULT/ once the rank has made no call for a while; then the process waits to be killed.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable

import torch
import torch.distributed as dist

WORLD, BAD, AT, STEPS = 3, 1, 4, 8
QUIET_S = 2.0


def watch(path: str) -> None:
    take: Callable[[], bytes] = vars(torch._C._distributed_c10d)["_dump_fr_trace"]
    last, since = b"", time.monotonic()
    while not last or time.monotonic() - since < QUIET_S:
        time.sleep(0.1)
        dump = take()
        if dump != last:
            last, since = dump, time.monotonic()
    with open(path + ".tmp", "wb") as file:
        file.write(last)
    os.replace(path + ".tmp", path)


def step(fault: str, other: dist.ProcessGroup) -> None:
    """One training step; `fault` is empty on the ranks that do nothing wrong."""
    if fault == "idle":
        time.sleep(600)
    if fault == "exception":
        raise ValueError("this rank's batch is broken")
    if fault == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    gradient, scale = torch.ones(64), torch.ones(1)
    if fault != "skip":
        dist.all_reduce(gradient)
    if fault == "extra":
        dist.all_reduce(torch.ones(64))
    if fault == "order":
        dist.all_reduce(scale, group=other)
        dist.broadcast(gradient, src=0)
    else:
        dist.broadcast(gradient, src=0)
        dist.all_reduce(scale, group=other)


def rank_of_job(rank: int, fault: str, port: str, folder: str) -> None:
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(WORLD), MASTER_ADDR="127.0.0.1", MASTER_PORT=port)
    dist.init_process_group("gloo")
    other = dist.new_group(backend="gloo")
    path = os.path.join(folder, fault, f"nccl_trace_rank_{rank}")
    threading.Thread(target=watch, args=(path,), daemon=True).start()
    try:
        for n in range(STEPS):
            step(fault if (rank, n) == (BAD, AT) else "", other)
    finally:
        time.sleep(600)  # what is left of the process stays, so that the others go on waiting for it


def main(folder: str, jobs: list[str]) -> None:
    for job in jobs:
        for rank in range(WORLD):
            if os.fork() == 0:
                fault, port = job.split(":")
                rank_of_job(rank, fault, port, folder)
    time.sleep(600)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
