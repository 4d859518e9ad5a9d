"""Pickles byte for byte as torch's C++ writer makes them (torch::jit::Pickler, protocol 2).

Python's own pickler memoises every list and dict; torch memoises strings, the dump itself, and frames that it meets
again. Readers that walk opcodes, cut files and speed measurements need the real thing.
"""

from __future__ import annotations

import struct
from collections import Counter
from typing import Any


def dumps(raw: Any) -> bytes:
    writer = _Writer(_frames(raw))
    writer.value(raw)
    if isinstance(raw, dict):
        writer.put("the dump")
    return b"\x80\x02" + b"".join(writer.out) + b"."


def _frames(raw: Any) -> Counter[object]:
    """How often each frame occurs."""
    rows = raw.get("entries", ()) if isinstance(raw, dict) else raw
    stacks = [row["frames"] for row in rows if isinstance(row, dict) and isinstance(row.get("frames"), list)]
    return Counter(_key(frame) for stack in stacks for frame in stack if _is_frame(frame))


def _is_frame(raw: Any) -> bool:
    return isinstance(raw, dict) and set(raw) == {"name", "filename", "line"}


def _key(frame: dict[str, Any]) -> object:
    return frame["name"], frame["filename"], frame["line"], "frame"


class _Writer:
    def __init__(self, frames: Counter[object]) -> None:
        self.out: list[bytes] = []
        self.memo: dict[object, int] = {}
        self.frames = frames

    def value(self, raw: Any) -> None:
        if raw is None or isinstance(raw, bool):
            self.out.append({None: b"N", True: b"\x88", False: b"\x89"}[raw])
        elif isinstance(raw, int):
            self.out.append(_integer(raw))
        elif isinstance(raw, float):
            self.out.append(b"G" + struct.pack(">d", raw))
        elif isinstance(raw, str):
            data = raw.encode("utf-8", "surrogatepass")
            self._shared(raw, b"X" + struct.pack("<I", len(data)) + data)
        elif isinstance(raw, tuple):
            for item in raw:
                self.value(item)
            self.out.append(bytes([0x84 + len(raw)]))
        elif isinstance(raw, list):
            self._list(raw)
        elif _is_frame(raw):
            self._frame(raw)
        else:
            self._dict(raw)

    def _list(self, raw: list[Any]) -> None:
        self.out.append(b"](")
        for item in raw:
            self.value(item)
        self.out.append(b"e")

    def _dict(self, raw: dict[Any, Any]) -> None:
        self.out.append(b"}(")
        for key, value in raw.items():
            self.value(key)
            self.value(value)
        self.out.append(b"u")

    def _frame(self, raw: dict[str, Any]) -> None:
        key = _key(raw)
        if not self._get(key):
            self._dict(raw)
            if self.frames[key] > 1:
                self.put(key)

    def _shared(self, key: object, data: bytes) -> None:
        if not self._get(key):
            self.out.append(data)
            self.put(key)

    def _get(self, key: object) -> bool:
        slot = self.memo.get(key)
        if slot is not None:
            self.out.append(b"h" + bytes([slot]) if slot < 256 else b"j" + struct.pack("<I", slot))
        return slot is not None

    def put(self, key: object) -> None:
        slot = self.memo[key] = len(self.memo)
        self.out.append(b"q" + bytes([slot]) if slot < 256 else b"r" + struct.pack("<I", slot))


def _integer(value: int) -> bytes:
    if 0 <= value < 1 << 8:
        return b"K" + bytes([value])
    if 0 <= value < 1 << 16:
        return b"M" + struct.pack("<H", value)
    if -(1 << 31) <= value < 1 << 31:
        return b"J" + struct.pack("<i", value)
    return b"\x8a\x08" + struct.pack("<q", value)
