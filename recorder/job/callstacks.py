"""Where a call is made from, as a number: the same stack is described once and found again by its code."""

from __future__ import annotations

import os
from typing import Any

from recorder.ring import Ring
from recorder.ringfile import STACK

MAX_FRAMES = 32
"""Walking them costs about 0.1 us each."""
_HERE = os.path.dirname(__file__)
_LAUNCHER = os.path.join(_HERE, "launch.py")
_KERNELS = os.path.join(_HERE, "interpose.py")


class CallStacks:
    """The stacks of one ring. `cpp`: with frames of C++, which takes milliseconds at the first sight of each."""

    def __init__(self, ring: Ring, cpp: bool) -> None:
        self._ring, self._cpp = ring, cpp
        self._made = 0
        self._numbers: dict[tuple[int, ...], int] = {}
        self._codes: dict[int, list[Any]] = {}
        """Kept alive: the keys are made of their addresses, since hashing code hashes all of its constants."""
        ring.on_renewal.append(self._keep)

    def _keep(self, kept: dict[int, set[int]]) -> None:
        """A program that makes new code in a loop must not fill the memory."""
        numbers = kept.get(STACK, set())
        self._numbers = {key: number for key, number in self._numbers.items() if number in numbers}
        self._codes = {number: codes for number, codes in self._codes.items() if number in numbers}

    def number(self, frame: Any) -> int:
        """Of the stack that ends in `frame`; 0 for one that the ring has no room for."""
        parts: list[int] = []
        add = parts.append
        innermost, left = frame, MAX_FRAMES
        while frame is not None and left:
            add(id(frame.f_code))
            add(frame.f_lasti)
            frame = frame.f_back
            left -= 1
        key = tuple(parts)
        known = self._numbers.get(key)
        return self._add(key, innermost) if known is None else known

    def _add(self, key: tuple[int, ...], frame: Any) -> int:
        frames, codes = [], []
        for _ in range(len(key) // 2):
            code = frame.f_code
            codes.append(code)
            frames.append((code.co_name, code.co_filename, frame.f_lineno or code.co_firstlineno))
            frame = frame.f_back
        if self._cpp:
            frames = _with_cpp() or frames
        launched = next((n for n, (_, file, _) in enumerate(frames) if file == _LAUNCHER), None)
        self._made = number = self._made + 1
        if not self._ring.text(STACK, number, frames[:launched]):
            return 0
        self._numbers[key], self._codes[number] = number, codes
        return number


def _with_cpp() -> list[tuple[str, str, int]]:
    """This thread's frames of Python and C++, innermost first, from the caller of the kernel on."""
    from torch._C._profiler import gather_traceback, symbolize_tracebacks

    (found,) = symbolize_tracebacks([gather_traceback(True, False, True)])
    frames = [(str(f["name"]), str(f["filename"]), int(f["line"])) for f in found]
    own = [n for n, (_, file, _) in enumerate(frames) if file == _KERNELS]
    return frames[own[-1] + 1 :] if own else frames
