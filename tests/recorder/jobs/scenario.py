"""A job in which rank 1 does what the first argument says, after two all_reduces of all ranks."""

from __future__ import annotations

import ctypes
import datetime
import os
import signal
import sys
import time

import torch
import torch.distributed as dist

BAD = 1


def never_reach() -> None:
    time.sleep(60)


def hold_the_interpreter_lock() -> None:
    """A mutex that is locked twice: unlike a sleep, no signal ends the wait."""
    mutex, libc = ctypes.create_string_buffer(64), ctypes.PyDLL(None)
    libc.pthread_mutex_lock(mutex)
    libc.pthread_mutex_lock(mutex)


def misbehave(fault: str) -> None:
    if fault == "hang":
        never_reach()
    elif fault == "lock":
        hold_the_interpreter_lock()
    elif fault in ("exception", "apart"):
        raise ValueError("boom [/bold]\x1b[31m")
    elif fault == "exit":
        sys.exit(3)
    elif fault == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif fault == "crash":
        ctypes.string_at(0)
    elif fault == "term":
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(60)


def main(fault: str, timeout: float) -> None:
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=timeout))
    rank = dist.get_rank()
    tensor = torch.ones(3, 4)
    if fault == "early" and rank == BAD:
        never_reach()
    dist.all_reduce(tensor)
    dist.all_reduce(tensor)
    if rank == BAD:
        misbehave(fault)
    elif fault == "apart":  # no call waits for the one that fails
        never_reach()
    dist.all_reduce(torch.ones(8, 8 if fault == "size" and rank == BAD else 4))
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
