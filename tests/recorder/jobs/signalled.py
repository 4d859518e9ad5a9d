"""Jobs that get signals, and have handlers of their own."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from pathlib import Path

import recorder
from recorder.job import switch
from tests.recorder.jobs.living import (
    call,
    enable,
    init,
    ready,
    stuck,
    wait_for,
)


def handles_signals(folder: Path, when: str) -> None:
    def handler(number: int, _: object) -> None:
        print("handled", number, flush=True)

    if when == "before":
        signal.signal(signal.SIGTERM, handler)
        signal.signal(signal.SIGUSR2, handler)
    enable(folder)
    init(folder)
    if when == "after":
        signal.signal(signal.SIGTERM, handler)
        signal.signal(signal.SIGUSR2, handler)
    call()
    for number in (signal.SIGUSR2, signal.SIGTERM, signal.SIGTERM):
        os.kill(os.getpid(), number)
        time.sleep(0.3)
    call()
    sys.exit(3)


def has_rare_signals(folder: Path) -> None:
    """Numbers that have no name, with handlers of the job's own."""
    enable(folder)
    init(folder)
    got: list[int] = []
    signal.signal(signal.SIGRTMIN + 3, lambda number, _: got.append(number))
    for _ in range(3):
        os.kill(os.getpid(), signal.SIGRTMIN + 3)
        time.sleep(0.15)
    assert got == [signal.SIGRTMIN + 3] * 3
    os.kill(os.getpid(), signal.SIGUSR2)
    wait_for(folder / "rank_0", 3)


def runs_asyncio(folder: Path, rank: str) -> None:
    """asyncio takes the wakeup descriptor and leaves it unset; after that the main thread gets stuck."""
    enable(folder)
    init(folder, int(rank), 2)
    call()
    got: list[str] = []

    async def main() -> None:
        loop, event = asyncio.get_running_loop(), asyncio.Event()
        loop.add_signal_handler(signal.SIGUSR1, event.set)
        os.kill(os.getpid(), signal.SIGUSR1)
        await asyncio.wait_for(event.wait(), 5)
        got.append("USR1")
        os.kill(os.getpid(), signal.SIGUSR2)
        for _ in range(100):
            if (folder / f"rank_{rank}").exists():
                break
            await asyncio.sleep(0.05)
        assert (folder / f"rank_{rank}").exists()

    asyncio.run(main())
    assert got == ["USR1"]
    stuck(folder, rank, False)


def is_asked_often(folder: Path) -> None:
    """Signals while a dump is being written."""
    writes: list[int] = []

    def slow(rank: int, data: bytes) -> None:
        time.sleep(0.2)
        writes.append(len(data))

    recorder.register_writer(slow)
    enable(folder)
    init(folder)
    for _ in range(300):
        os.kill(os.getpid(), signal.SIGUSR2)
        call()
    time.sleep(1.0)
    assert 2 <= len(writes) <= 10, writes
    recorder.register_writer(None)
    os.kill(os.getpid(), signal.SIGUSR2)
    wait_for(folder / "rank_0", 3)
    ready(folder)
    time.sleep(60)


def has_a_writer_that_hangs(folder: Path) -> None:
    from recorder.job import watch

    watch.GRACE_S = 0.5
    recorder.register_writer(lambda rank, data: time.sleep(60))
    enable(folder)
    init(folder)
    call()
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(30)


def raises_while_a_writer_hangs(folder: Path) -> None:
    switch._GRACE_S = switch._FLUSH_S = 0.5
    recorder.register_writer(lambda rank, data: time.sleep(60))
    enable(folder)
    init(folder)
    raise ValueError("boom")
