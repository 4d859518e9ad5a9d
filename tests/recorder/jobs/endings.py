"""Jobs that end in every way, and jobs with children.

A job that finds something wrong ends by an AssertionError, which its test finds in its exit code.
"""

from __future__ import annotations

import atexit
import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader

from recorder import ringfile
from recorder.job import peers, switch
from tests.recorder.jobs.living import (
    call,
    calls_in_ring,
    enable,
    hosts_a_store,
    init,
    no_dump,
)


def ends(folder: Path, how: str, recorded: str) -> None:
    """With and without the recorder it must end in the same way."""
    if recorded == "recorded":
        enable(folder)
    atexit.register(print, "the job's own atexit")
    init(folder)
    call(3)
    if how == "destroyed":
        dist.destroy_process_group()
    elif how == "exit":
        sys.exit(7)
    elif how == "os-exit":
        os._exit(5)
    elif how == "exception":
        raise ValueError("boom")
    elif how == "exception-after-destroy":
        dist.destroy_process_group()
        time.sleep(0.3)
        raise ValueError("boom")
    elif how == "finally-exception":
        hidden()
    elif how == "bad-exception":
        raise Unprintable
    elif how == "interrupt":
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(5)
    elif how == "thread-exception":
        thread = threading.Thread(target=lambda: 1 // 0)
        thread.start()
        thread.join()
        call()
    elif how == "term":
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(5)
    elif how == "term-after-destroy":
        dist.destroy_process_group()
        time.sleep(0.3)
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(5)
    elif how == "abort":
        os.abort()


def hidden() -> None:
    try:
        1 // 0  # noqa: B018
    finally:
        try:
            raise KeyError("on the way")
        except KeyError:
            raise RuntimeError("boom")  # noqa: B904


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


def leaves_while_it_asks_the_store(folder: Path) -> None:
    """A thread that comes back from C++ into an interpreter that ends would abort the process."""
    peers.STORE_S = 0.001
    host, port = hosts_a_store()
    pids = []
    for number in range(6):
        (folder / str(number)).mkdir()
        pids.append(os.fork())
        if not pids[-1]:
            store = dist.TCPStore("127.0.0.1", port, None, False, wait_for_workers=False)
            enable(folder / str(number))
            init(folder, 0, 2, "fake", store)
            call(number)
            time.sleep(0.1)
            sys.exit(0)
    assert [os.waitpid(pid, 0)[1] for pid in pids] == [0] * 6
    os.kill(host, signal.SIGKILL)


class Numbers:
    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> int:
        assert switch.session() is None
        return index


def loads_data(folder: Path, method: str) -> None:
    enable(folder)
    init(folder)
    loader = DataLoader(Numbers(), batch_size=2, num_workers=1, multiprocessing_context=method)
    for _ in range(1 if method == "spawn" else 3):
        assert sum(int(batch.sum()) for batch in loader) == 28
        call()
    no_dump(folder)
    dist.destroy_process_group()


def sleep() -> None:
    time.sleep(60)


def has_children(folder: Path) -> None:
    enable(folder)
    init(folder)
    call()
    pid = os.fork()
    if not pid:
        with suppress(SystemExit):
            sys.exit(0)
        os._exit(len([t for t in threading.enumerate() if t.name.startswith("recorder")]))
    assert os.waitpid(pid, 0)[1] == 0
    pid = os.fork()
    if not pid:
        os.execv(sys.executable, [sys.executable, "-c", "import os; os.kill(os.getpid(), 15)"])
    assert os.waitpid(pid, 0)[1] == signal.SIGTERM
    for number in range(60):
        child = multiprocessing.get_context("fork").Process(target=sleep)
        child.start()
        if number % 2:
            time.sleep(0.002)
        child.terminate()
        child.join()
        assert child.exitcode == -signal.SIGTERM
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map(abs, [-1, -2]) == [1, 2]
    call()
    no_dump(folder)
    assert [record.collective_seq for record in calls_in_ring(folder)] == [1, 2]


def has_other_children(folder: Path, method: str) -> None:
    enable(folder)
    init(folder)
    context: Any = multiprocessing.get_context(method)
    child = context.Process(target=time.sleep, args=(60,))
    child.start()
    child.terminate()
    child.join()
    assert child.exitcode == -signal.SIGTERM
    call()
    no_dump(folder)


def forks_ranks(folder: Path) -> None:
    """The recorder is on before the fork, the group is made after it."""
    enable(folder)
    pids = [os.fork()]
    rank = 1 if pids == [0] else 0
    init(folder, rank, 2)
    call(2)
    ring = ringfile.read((folder / "recorder" / f"ring.r{rank}.frr").read_bytes())
    assert ring.header.pid == os.getpid()
    assert len(ring.records) == 2
    dist.destroy_process_group()
    if rank == 0:
        assert os.waitpid(pids[0], 0)[1] == 0


def child_has_own_group(folder: Path) -> None:
    """A forked child of a rank leaves its parent's group, and is recorded in one of its own."""
    enable(folder)
    init(folder, 0, 2, "fake")
    call(3)
    pid = os.fork()
    if not pid:
        dist.destroy_process_group()
        init(folder, 1, 2, "fake")
        call(2)
        assert [record.collective_seq for record in calls_in_ring(folder, 1)] == [1, 2]
        sys.exit(0)
    assert os.waitpid(pid, 0)[1] == 0
    call()
    assert [record.collective_seq for record in calls_in_ring(folder)] == [1, 2, 3, 4]


def spawned(rank: int, folder: Path) -> None:
    enable(folder)
    init(folder, rank, 2)
    call(3)
    dist.destroy_process_group()


def fails(rank: int, folder: Path) -> None:
    enable(folder)
    init(folder, rank, 1, "fake")
    call(3)
    raise ValueError("boom")


def dumped_failure(folder: Path) -> None:
    found = pickle.loads((folder / "rank_0").read_bytes())["exception"]
    assert (found["type"], found["message"], found["frames"][0]["name"]) == ("ValueError", "boom", "fails")


def spawned_rank_raises(folder: Path) -> None:
    """`torch.multiprocessing.spawn` catches what its ranks raise."""
    try:
        torch.multiprocessing.spawn(fails, (folder,), nprocs=1)
    except torch.multiprocessing.ProcessRaisedException:
        dumped_failure(folder)
    else:
        raise AssertionError


def process_raises(folder: Path, method: str) -> None:
    """So does `multiprocessing`, which prints it."""
    context: Any = multiprocessing.get_context(method)
    child = context.Process(target=fails, args=(0, folder))
    child.start()
    child.join()
    assert child.exitcode == 1
    dumped_failure(folder)


def spawns_ranks(folder: Path) -> None:
    torch.multiprocessing.spawn(spawned, (folder,), nprocs=2)
    for rank in (0, 1):
        assert [record.collective_seq for record in calls_in_ring(folder, rank)] == [1, 2, 3]
