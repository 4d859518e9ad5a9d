"""What a command costs: seconds, and the memory of all its processes together."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import NamedTuple

EVERY = 0.02
"""Seconds between two looks at the memory."""


class Cost(NamedTuple):
    seconds: float
    megabytes: float
    """The most that all processes had at one time, with what they share counted for each."""
    code: int


def measured(*arguments: str) -> Cost:
    """Of one run of `python ARGUMENTS`."""
    start = time.perf_counter()
    quiet = subprocess.DEVNULL
    process = subprocess.Popen([sys.executable, *arguments], stdout=quiet, stderr=quiet)
    peak = _Peak(process.pid)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    largest = usage.ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)
    return Cost(seconds, max(peak.stop(), largest), process.returncode)


def typical(costs: list[Cost]) -> Cost:
    return Cost(median(c.seconds for c in costs), median(c.megabytes for c in costs), costs[0].code)


class _Peak:
    """Looks at a process and its descendants from a thread. Only Linux tells; elsewhere it finds nothing."""

    def __init__(self, pid: int) -> None:
        self._pid, self._most = pid, 0.0
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()

    def stop(self) -> float:
        self._end.set()
        self._thread.join()
        return self._most

    def _watch(self) -> None:
        page = os.sysconf("SC_PAGE_SIZE") / 1e6
        while not self._end.wait(EVERY):
            pages = sum(_resident(pid) for pid in _family(self._pid))
            self._most = max(self._most, pages * page)


def _family(pid: int) -> Iterator[int]:
    yield pid
    try:
        threads = [Path(f"/proc/{pid}/task/{thread}/children") for thread in os.listdir(f"/proc/{pid}/task")]
        children = [int(child) for thread in threads for child in thread.read_text().split()]
    except OSError:  # it has ended meanwhile
        return
    for child in children:
        yield from _family(child)


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0
