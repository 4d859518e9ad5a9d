"""How soon the screen is there, in a real terminal, and what a key costs: part of `make bench`."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import NamedTuple

from tests.tui.terminal import Terminal

SIZES = ((80, 24), (200, 50))


class Screen(NamedTuple):
    frame: float
    """Seconds from the command to the first frame, with the ranks that are read so far."""
    verdict: float
    """To the verdict, when everything has been read and judged."""
    bytes: int
    """Of all that until the screen is at rest."""
    key: int
    """Bytes that `j` costs at once."""
    settled: int
    """Bytes of the panes that follow."""


def measure(folder: Path, size: tuple[int, int], verdict: bytes = b"not-joined") -> Screen:
    start = time.perf_counter()
    with Terminal(str(folder), size=size) as terminal:
        frame = _until(terminal, b"1 Findings", start)
        told = _until(terminal, verdict, start)
        terminal.settle()
        whole = len(terminal.seen)
        terminal.press(b"4g")
        os.write(terminal.fd, b"j")
        return Screen(frame, told, whole, terminal.burst(), terminal.settle())


def _until(terminal: Terminal, wanted: bytes, start: float) -> float:
    while wanted not in terminal.seen:
        if time.perf_counter() - start > 300:
            raise TimeoutError(wanted)
        terminal.read(0.005)
    return time.perf_counter() - start


def tell(folder: Path) -> None:
    for size in SIZES:
        made = measure(folder, size)
        print(
            f"  screen {size[0]}x{size[1]:<4}{made.frame:7.2f} s to the first frame, "
            f"{made.verdict:.2f} s to the verdict, {made.bytes / 1e3:.0f} KB; "
            f"j {made.key} bytes, {made.settled} when the panes follow"
        )
