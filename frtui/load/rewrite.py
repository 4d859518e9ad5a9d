"""What is new in an entry, made by the interpreter; and the entry, written as if nothing in it were.

torch writes a string or a frame where it first occurs, and fetches it from the memo from then on. In an entry with
something new the interpreter executes that alone; the rest of its bytes are copied.
"""

from __future__ import annotations

import re
from typing import Any

from frtui.load.errors import Odd
from frtui.load.machine import Machine
from frtui.load.source import Row

_LEFT_OUT = 0xFF << 24
"""From this slot on: what is not in the memo, where torch puts only what it could meet again."""
_PLACEHOLDER = b"j\0\0\0\0"
_SETITEMS = ord("u")
_PLAIN = rb"[N\x88\x89(\]e\x86]|K.|M..|J.{4}|\x8a\x08.{8}|G.{8}"
_OLD = re.compile(rb"(?:h.|j.{4}|" + _PLAIN + rb"){0,20000}", re.DOTALL)
"""Opcodes that make nothing that could be fetched later. The bound keeps the matcher's stack small."""
_FETCHED = re.compile(rb"h(.)|j(.{4})|}|" + _PLAIN, re.DOTALL)


class Torch(Machine):
    """The interpreter, for nothing but what torch writes: a memo of strings and dicts, filled in order."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self._known: dict[int, Any] = {}
        """The memo together with what was left out of it."""
        self._left_out = _LEFT_OUT

    def put(self, slot: int) -> None:
        if slot != len(self.memo) or not isinstance(self.stack[-1], (str, dict)):
            raise Odd
        self.memo[slot] = self._known[slot] = self.stack[-1]

    def frame(self) -> None:
        raise Odd

    def upto(self, at: int) -> None:
        while self.at < at and self.step():
            pass
        if self.at != at:
            raise Odd

    def entry(self) -> tuple[bytes, bytes]:
        """The entry here, with all that is new in it fetched; and the same to be looked at.

        That has placeholders where something is fetched that was never put: no file may do so by itself.
        """
        parts: list[bytes] = []
        shown: list[bytes] = []
        start, self.at = self.at, self.at + 2
        while self.data[self._skip_old()] != _SETITEMS:
            old = self.data[start : self.at]
            self._check_fetched(old)
            left_out = self._left_out
            parts += [old, self._new()]
            shown += [old, parts[-1] if self._left_out == left_out else _PLACEHOLDER]
            start = self.at
        self.at += 1
        last = self.data[start : self.at]
        return b"".join([*parts, last]), b"".join([*shown, last])

    def read(self, part: bytes) -> Row:
        """The keys and values in a part of an entry."""
        machine = Machine(b"}(" + part + b"u", 0)
        machine.memo = self._known
        machine.run()
        row: Row = machine.stack[0]
        return row

    def refs(self) -> dict[str, bytes]:
        """How each string is fetched."""
        return {item: _ref(slot) for slot, item in self._known.items() if isinstance(item, str)}

    def _skip_old(self) -> int:
        """Pass what can be copied."""
        self.at = _OLD.match(self.data, self.at).end()  # type: ignore[union-attr]  # the empty run matches
        return self.at

    def _check_fetched(self, old: bytes) -> None:
        """What this fetches has to be in the memo now, and not only after the entry."""
        slots = [int.from_bytes(short or long, "little") for short, long in _FETCHED.findall(old) if short or long]
        if max(slots, default=-1) >= len(self.memo):
            raise Odd

    def _new(self) -> bytes:
        """Make the string or the dict here, and say how it is fetched."""
        if self.data[self.at] == ord("}"):
            self._dict()
        else:
            self.step()
        item = self.stack[-1]
        if self.data[self.at] in b"qr":
            self.step()
            slot = len(self.memo) - 1
        else:
            slot, self._left_out = self._left_out, self._left_out + 1
            self._known[slot] = item
        if self.stack.pop() is not item or self.stack or not isinstance(item, (str, dict)):
            raise Odd
        return _ref(slot)

    def _dict(self) -> None:
        depth, code = len(self.levels), -1
        while code != _SETITEMS or len(self.levels) > depth:
            code = self.data[self.at]
            if not self.step():
                raise Odd


def _ref(slot: int) -> bytes:
    return b"h" + bytes([slot]) if slot < 256 else b"j" + slot.to_bytes(4, "little")
