"""Jobs in places that can't be written, that nobody listens to, or whose calls fail."""

from __future__ import annotations

import os
import resource
import signal
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

import recorder
from recorder import requests
from recorder.job import peers, switch
from tests.recorder.jobs.living import (
    call,
    enable,
    hosts_a_store,
    init,
    pickle_of,
    ready,
    wait_for,
)


def can_not_write(folder: Path, what: str) -> None:
    if what == "folder":
        (folder / "file").touch()
        enable(folder / "file" / "deeper")
    elif what == "ring":
        limit(100_000)
        enable(folder)
    elif what == "dump":
        enable(folder)
    elif what == "fault":
        (folder / "recorder" / "fault.r0.log").mkdir(parents=True)
        enable(folder)
    init(folder)
    call(3)
    if what == "dump":
        limit(2000)
        os.kill(os.getpid(), signal.SIGUSR2)
        time.sleep(0.4)
        call(3)
    work = dist.all_reduce(torch.ones(3), async_op=True)
    work.wait()
    dist.destroy_process_group()


def limit(size: int) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def has_no_stderr(folder: Path, how: str) -> None:
    if how == "closed":
        os.close(2)
    elif how == "python":
        sys.stderr.close()
    elif how == "none":
        sys.stderr = None
    elif how == "full":
        reader, writer = os.pipe()
        os.dup2(writer, 2)
        os.set_blocking(2, False)
        with suppress(BlockingIOError):
            while True:
                os.write(2, b"x" * 512)
        os.set_blocking(2, True)
    enable(folder)
    init(folder)
    call()
    os.kill(os.getpid(), signal.SIGUSR2)
    wait_for(folder / "rank_0", 5)
    call()
    if how == "full":
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(10)
    dist.destroy_process_group()


def loses_its_store(folder: Path, how: str) -> None:
    """The store's host is another process, which dies or freezes."""
    pid, port = hosts_a_store()
    store = dist.TCPStore("127.0.0.1", port, None, False, wait_for_workers=False)
    peers.STORE_S, peers.STALLED_S = 0.2, 1.0
    vars(requests)["interval"] = lambda world_size: 0.3
    enable(folder)
    init(folder, 0, 2, "fake", store)
    call(2)
    time.sleep(0.5)
    os.kill(pid, signal.SIGSTOP if how == "frozen" else signal.SIGKILL)
    time.sleep(0.5)
    call(2)
    request = folder / "recorder" / "dump.request"
    request.touch()
    wait_for(folder / "rank_0", 5)
    before = request.read_text()
    session = switch.session()
    assert session is not None
    call()
    session.dump("something went wrong")  # told by the file now
    end = time.monotonic() + 6
    while request.read_text() == before and time.monotonic() < end:
        time.sleep(0.05)
    assert "something went wrong" in request.read_text()
    print(pid, flush=True)


def shares_the_folder(folder: Path, name: str) -> None:
    """Two jobs that know nothing of each other."""
    enable(folder)
    init(folder, 0, 2, "fake")
    for _ in range(20):
        call()
        time.sleep(0.02)
    ready(folder, f"ready-{name}")
    wait_for(folder / ("ready-b" if name == "a" else "ready-a"))
    call()
    assert len(pickle_of(recorder.dump())["entries"]) == 21
    os.kill(os.getpid(), signal.SIGUSR2)
    time.sleep(0.3)
    dist.destroy_process_group()


def fails_twice(folder: Path) -> None:
    """An error that the job handles, more of it, and another one later."""
    enable(folder)
    init(folder)
    call(2)
    fail()
    wait_for(folder / "rank_0")
    first = pickle_of((folder / "rank_0").read_bytes())
    thread = threading.Thread(target=lambda: 1 // 0)
    thread.start()
    thread.join()
    time.sleep(0.3)
    again = pickle_of((folder / "rank_0").read_bytes())
    assert "failed" in again["recorder"]["reason"]
    assert [reason[:27] for reason in again["recorder"]["later_reasons"]] == ["uncaught ZeroDivisionError:"]
    assert again["entries"] == first["entries"]
    assert again["python_stacks"] == first["python_stacks"]
    assert again["recorder"]["dumped_ns"] == first["recorder"]["dumped_ns"]
    call(3)
    fail()
    time.sleep(0.4)
    second = pickle_of((folder / "rank_0").read_bytes())
    assert len(second["entries"]) == len(first["entries"]) + 4
    assert second["recorder"]["later_reasons"] == []
    dist.destroy_process_group()


def fail() -> None:
    """gloo refuses it."""
    with suppress(RuntimeError):
        dist.all_reduce(torch.ones(4), op=dist.ReduceOp.BAND)


def fails_all_the_time(folder: Path) -> None:
    """A job that handles errors of its calls must not spend its time on dumps; the last one isn't lost."""
    writes: list[Any] = []
    recorder.register_writer(lambda rank, data: writes.append(pickle_of(data)["recorder"]))
    enable(folder, quiet=True)
    init(folder)
    for number in range(60):
        call()
        fail()
        if number > 30:
            thread = threading.Thread(target=lambda: 1 // 0)
            thread.start()
            thread.join()
        time.sleep(0.02)
    time.sleep(0.3)
    assert 2 <= len(writes) <= 12, len(writes)
    recorder.register_writer(None)
    raise ValueError("in the end")


def writes_elsewhere(folder: Path) -> None:
    def broken(rank: int, data: bytes) -> None:
        raise KeyError("bucket")

    enable(folder)
    init(folder)
    call(2)
    recorder.register_writer(broken)
    ask_and_wait(folder / "rank_0")
    (folder / "rank_0").rename(folder / "by_fallback")
    for url in (f"file://{folder}/url/x_", "memory://bucket/x_"):
        writer = recorder.FsspecWriter(url)
        recorder.register_writer(writer)
        for _ in range(2):  # the second replaces the first
            os.kill(os.getpid(), signal.SIGUSR2)
            time.sleep(0.4)
            data = writer._system.cat(f"{writer._path}0")
            assert len(pickle_of(data)["entries"]) == 2
        assert len(writer._system.ls(writer._path.rpartition("/")[0])) == 1
    assert not (folder / "rank_0").exists()


def ask_and_wait(path: Path) -> None:
    os.kill(os.getpid(), signal.SIGUSR2)
    wait_for(path, 3)
