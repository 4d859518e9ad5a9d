"""What the jobs of `zygote` have in common."""

from __future__ import annotations

import datetime
import os
import time
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch.testing._internal.distributed.fake_pg import FakeStore

import recorder
from recorder import ringfile

MINUTE = datetime.timedelta(seconds=60)


def enable(folder: Path, **options: Any) -> None:
    recorder.enable(dump_prefix=f"{folder}/rank_", **options)


def init(folder: Path, rank: int = 0, world: int = 1, backend: str = "gloo", store: Any = None) -> None:
    if store is None:
        store = FakeStore() if backend == "fake" else dist.FileStore(f"{folder}/store", world)
    dist.init_process_group(backend, store=store, rank=rank, world_size=world, timeout=MINUTE)


def call(number: int = 1) -> None:
    for _ in range(number):
        dist.all_reduce(torch.ones(4))


def ready(folder: Path, name: str = "ready") -> None:
    (folder / name).touch()


def wait_for(path: Path, seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not path.exists():
        assert time.monotonic() < end, path
        time.sleep(0.02)


def calls_in_ring(folder: Path, rank: int = 0) -> list[ringfile.Record]:
    return ringfile.read((folder / "recorder" / f"ring.r{rank}.frr").read_bytes()).records


def pickle_of(data: bytes) -> Any:
    from recorder.files import loads

    return loads(data)


def no_dump(folder: Path) -> None:
    time.sleep(0.3)  # for the watch thread
    assert not list(folder.glob("rank_*"))


def stuck(folder: Path, rank: str, start: bool = True, **options: Any) -> None:
    """Rank 0 waits in gloo for rank 1, which sleeps."""
    if start:
        enable(folder, **options)
        init(folder, int(rank), 2)
    call()
    ready(folder, f"ready{rank}")
    if rank == "0":
        call()
    time.sleep(60)


def works(folder: Path, seconds: str) -> None:
    """A healthy job."""
    enable(folder)
    init(folder)
    end = time.monotonic() + float(seconds)
    ready(folder)
    while time.monotonic() < end:
        call()
        time.sleep(0.01)
    dist.destroy_process_group()


def hosts_a_store() -> tuple[int, int]:
    """Process and port."""
    reader, writer = os.pipe()
    pid = os.fork()
    if not pid:
        server = dist.TCPStore("127.0.0.1", 0, None, True, wait_for_workers=False)
        os.write(writer, str(server.port).encode())
        time.sleep(60)
        os._exit(0)
    return pid, int(os.read(reader, 10))
