"""40 children, one after the other, that call collectives until they are killed: `killed.py FOLDER CHILDREN CALLS`.

Prints a line for each child: its folder, and how many calls it had made when the signal was sent.
"""

from __future__ import annotations

import mmap
import os
import random
import signal
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch.testing._internal.distributed.fake_pg import FakeStore

import recorder

SLOTS = 500
SIZES = 13
"""Call number n is made with n % SIZES + 1 numbers; by its kind n % 3 it is another operation."""


def call_for_ever(counter: mmap.mmap) -> None:
    tensors = [torch.ones(size + 1) for size in range(SIZES)]
    outputs = [torch.ones(2 * (size + 1)) for size in range(SIZES)]
    number = 0
    while True:
        tensor = tensors[number % SIZES]
        if number % 3 == 0:
            dist.all_reduce(tensor)
        elif number % 3 == 1:
            dist.broadcast(tensor, 0)
        else:
            dist.all_gather_into_tensor(outputs[number % SIZES], tensor)
        number += 1
        counter[:8] = number.to_bytes(8, "little")


def child(folder: Path, counter: mmap.mmap) -> None:
    recorder.enable(buffer_size=SLOTS, dump_prefix=f"{folder}/rank_", quiet=True)
    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=2)
    call_for_ever(counter)


def main(folder: Path, children: int, calls: int) -> None:
    torch.set_num_threads(1)
    chance = random.Random(1)
    for number in range(children):
        counter = mmap.mmap(-1, 8)
        (folder / str(number)).mkdir()
        pid = os.fork()
        if pid == 0:
            child(folder / str(number), counter)
        while int.from_bytes(counter[:8], "little") < calls:
            time.sleep(0.005)
        time.sleep(chance.random() * 0.02)  # somewhere in a call
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        print(number, int.from_bytes(counter[:8], "little"), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
