"""How soon the screen is there, in a real terminal, and what keys cost: part of `make bench`."""

from __future__ import annotations

import os
import select
import time
from pathlib import Path
from typing import NamedTuple

from tests.tui.terminal import Terminal

SIZES = ((80, 24), (200, 50))
PRELIMINARY, VERDICT = b"preliminary", b"not-joined"
# Every view, from the pane of calls. Last what says something: seconds later the last line changes once more.
KEYS = "4jGg}xxaammttwwcc][2jGgss3j5j4zz{"
QUIET = 0.06
"""Seconds without a byte after which a key has been answered."""


class Screen(NamedTuple):
    frame: float
    """Seconds from the command to the first frame."""
    first: float | None
    """To what the heads of the files say; None where all was read as soon."""
    verdict: float
    """To the verdict, when everything has been read and judged."""
    bytes: int
    """Of all that until the screen is at rest."""
    key: int
    """Bytes that `j` costs at once."""
    settled: int
    """Bytes of the panes that follow."""
    slowest: str
    seconds: float
    """From that key to the last byte of its answer."""
    search: float
    """To the first match of a search in all calls of a rank, and of a filter."""
    filter: float


def measure(folder: Path, size: tuple[int, int]) -> Screen:
    start = time.perf_counter()
    with Terminal(str(folder), size=size) as terminal:
        frame = _until(terminal, b"1 Findings", start)
        times: dict[bytes, float] = {}
        verdict = _until(terminal, VERDICT, start, times)
        terminal.settle()
        whole = len(terminal.seen)
        terminal.press(b"4g")
        os.write(terminal.fd, b"j")
        key, settled = terminal.burst(), terminal.settle()
        answers = [(_answer(terminal, name.encode()), name) for name in KEYS]
        seconds, slowest = max(answers)
        terminal.press(b"4g")
        search = _answer(terminal, b"/dp\r")
        terminal.press(b"\x1b")
        filtered = _answer(terminal, b"fslower:1s !done\r")
        return Screen(frame, times.get(PRELIMINARY), verdict, whole, key, settled, slowest, seconds, search, filtered)


def _until(terminal: Terminal, wanted: bytes, start: float, times: dict[bytes, float] | None = None) -> float:
    """Seconds until that is on the screen; when the preliminary answer was goes into `times`."""
    while wanted not in terminal.seen:
        if time.perf_counter() - start > 300:
            raise TimeoutError(wanted)
        terminal.read(0.005)
        if times is not None and PRELIMINARY in terminal.seen:
            times.setdefault(PRELIMINARY, time.perf_counter() - start)
    return time.perf_counter() - start


def _answer(terminal: Terminal, keys: bytes) -> float:
    """Seconds from a key to the last byte of what it does at once; the other panes may follow later."""
    start = last = time.perf_counter()
    os.write(terminal.fd, keys)
    patience = 5.0
    while select.select([terminal.fd], [], [], patience)[0]:
        terminal.read(0.001)
        last, patience = time.perf_counter(), QUIET
    terminal.settle(0.3)
    return last - start


def tell(folder: Path) -> None:
    for size in SIZES:
        made = measure(folder, size)
        first = f"{made.first:.2f} s to the first answer, " if made.first else ""
        print(
            f"  screen {size[0]}x{size[1]:<4}{made.frame:6.2f} s to the first frame, {first}{made.verdict:.2f} s to "
            f"the verdict, {made.bytes / 1e3:.0f} KB; j {made.key} bytes, {made.settled} when the panes follow; "
            f"slowest key {made.slowest} {made.seconds * 1e3:.0f} ms; search {made.search * 1e3:.0f} ms, "
            f"filter {made.filter * 1e3:.0f} ms"
        )
