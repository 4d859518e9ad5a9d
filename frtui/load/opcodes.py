"""Is this pickle made of nothing but what torch and Python's own pickler write for plain data?

`pickle.loads` may not see anything else. Beside running code, a hostile pickle can ask it for gigabytes
(a memo index of 2**31, BYTEARRAY8) or for ever (a dict key of nested tuples doubles its hash time per
level), and C code can be neither limited nor interrupted. So the opcodes are walked first. Fixed-size ones
are matched in runs by a regular expression; see `make bench` for what it costs.
"""

from __future__ import annotations

import re
import struct
from collections import deque
from enum import Enum
from typing import NamedTuple

from frtui.load.errors import Unusable
from frtui.text import clean

MAX_STRING = 1 << 24
"""Bytes of one string; torch's longest are C++ symbol names of some thousand."""

_LONG1 = rb"\x8a(?:" + b"|".join(bytes([n]) + b"." * n for n in (8, *range(8), 9)) + rb")"
_FIXED = rb"[N\x88\x89(}\]ueas)]|K.|M..|" + _LONG1 + rb"|G.{8}|J.{4}|\x95.{8}"
_GETS = re.compile(rb"h(.)|j(.{4})|q.|r.{4}|\x94", re.DOTALL)


class _Runs:
    """Runs of opcodes of fixed size, in the dialect of one protocol. The bound keeps the matcher's stack small."""

    def __init__(self, put: bytes) -> None:
        # Also passes TUPLE2 of two things from the memo. Only for as long as no tuple is in the memo, so that
        # it can't be a tuple of tuples. Something is pushed next, so nothing can bring it back to the top.
        self.fast = re.compile(rb"(?:h.(?:h.\x86(?=[Xhju]))?|" + _FIXED + rb"|" + put + rb"|j.{4}){0,2000}", re.DOTALL)
        # With tuples in the memo: what comes from there is neither stored again nor filled. Group 1 is the
        # last row of what only fetches and stores.
        get = rb"(?:h.|j.{4})(?![qr\x94(])"
        self.careful = re.compile(rb"(?:" + _FIXED + rb"|((?:" + get + rb"|" + put + rb")+)){0,2000}", re.DOTALL)


_RUNS = {2: _Runs(rb"q.|r..[\0-\x0f]\0"), 4: _Runs(rb"\x94")}
"""By protocol: 2 and 3 name the memo slot, with a small number; from 4 on it is the next one."""
_MEMOIZE = re.compile(rb"(?:" + _FIXED + rb"|h.|j.{4})*\x94", re.DOTALL)
# Bytes of the operand, for every opcode that may occur; None: a string, with its length in front.
OPERAND: dict[int, int] = {
    **dict.fromkeys(b"N\x88\x89(}]ueas).\x85\x86\x87t\x94", 0),
    **dict.fromkeys(b"Khq", 1),
    ord("M"): 2,
    **dict.fromkeys(b"Jjr", 4),
    **dict.fromkeys(b"G\x95", 8),
}
STRING_LENGTH = {0x8C: (1, "<B"), ord("X"): (4, "<I"), 0x8D: (8, "<Q")}
"""SHORT_BINUNICODE, BINUNICODE, BINUNICODE8: bytes of the length and how to unpack it."""


class Shape(Enum):
    PLAIN = "safe for pickle.loads"
    CUT = "the data end before STOP"
    UNUSUAL = "harmless opcodes in an unusual order: for the slow and careful interpreter"


class Walked(NamedTuple):
    shape: Shape
    position: int
    """Where the walk ended: after STOP, or at the opcode that is cut."""


def walk(data: bytes) -> Walked:
    """Walk the opcodes of a pickle. Raises Unusable("refused") for one that plain data never need."""
    if data[:1] != b"\x80" or not b"\0" <= data[1:2] <= b"\x05":
        raise Unusable("not-a-dump", "no pickle, JSON or gzip: unknown first bytes")
    return _Walk(data).run()


class _Walk:
    """State of one walk.

    The only tuples let through are pairs of no tuples, like `process_group`. `trail` holds the last runs (start, end)
    and strings (None), from which `_row` says how many of the last pushes are known to be no tuples; `tuples` says
    which memo slots hold one.
    """

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 2
        self.implicit = data[1] >= 4
        self.runs = _RUNS[4 if self.implicit else 2]
        self.memoized = 0
        self.tuples: set[int] = set()
        self.trail: deque[tuple[int, int] | None] = deque(maxlen=4)

    def run(self) -> Walked:
        data, size = self.data, len(self.data)
        while self.at < size:
            code = data[self.at]
            if code in STRING_LENGTH:
                start, length = string_at(data, self.at, code)
                if length < 0 or start + length > size:
                    return Walked(Shape.CUT, self.at)
                self.at = start + length
                self.trail.append(None)
            elif code == 0x2E:
                return Walked(Shape.PLAIN, self.at + 1)
            elif not (self._run() or code == 0x86 and self._pair() or code == 0x72 and self._long_put()):
                return Walked(self._stopped(code), self.at)
        return Walked(Shape.CUT, self.at)

    def _run(self) -> bool:
        """Pass a run of opcodes of fixed size; False when there is none here."""
        runs = self.runs.careful if self.tuples else self.runs.fast
        end = runs.match(self.data, self.at).end()  # type: ignore[union-attr]  # the empty run matches
        if end == self.at:
            return False
        if self.implicit:
            self.memoized += len(_MEMOIZE.findall(self.data, self.at, end))
        self.trail.append((self.at, end))
        self.at = end
        return True

    def _row(self) -> int:
        row = 0
        for run in self.trail:
            row = row + 1 if run is None else self._row_after(*run, row)
        return row

    def _row_after(self, start: int, end: int, row: int) -> int:
        match = self.runs.careful.match(self.data, start, end)
        if match is None or match.end() != end or match.end(1) != end:
            return 0
        if match.start(1) != start:
            row = 0
        for short, long in _GETS.findall(match.group(1)):
            slot = short or long
            if slot:
                row = 0 if int.from_bytes(slot, "little") in self.tuples else row + 1
        return row

    def _pair(self) -> bool:
        """Pass TUPLE2 of two things that are no tuples, and its memo slot."""
        if self._row() < 2:
            return False
        at = self.at + 1
        code = self.data[at : at + 1]
        if code == b"\x94" and self.implicit:
            self.tuples.add(self.memoized)
            self.memoized += 1
            at += 1
        elif code in (b"q", b"r") and not self.implicit:
            width = 1 if code == b"q" else 4
            self.tuples.add(int.from_bytes(self.data[at + 1 : at + 1 + width], "little"))
            at += 1 + width
        if self.data[at : at + 1] in (b"(", b"q", b"r", b"\x94"):  # could store the tuple where it isn't seen
            return False
        self.at = at
        self.trail.clear()
        return True

    def _long_put(self) -> bool:
        """Pass LONG_BINPUT of a large slot: C allots memory for every slot below."""
        slot = self.data[self.at + 1 : self.at + 5]
        if self.implicit or len(slot) < 4 or int.from_bytes(slot, "little") > len(self.data):
            return False
        self.at += 5
        return True

    def _stopped(self, code: int) -> Shape:
        """Why the opcode here could not be passed."""
        if code == 0x8A:
            rest = self.data[self.at + 1 : self.at + 2]
            return Shape.UNUSUAL if rest and self.at + 2 + rest[0] <= len(self.data) else Shape.CUT
        if code not in OPERAND:
            raise refusal(self.data, self.at)
        return Shape.UNUSUAL if self.at + 1 + OPERAND[code] <= len(self.data) else Shape.CUT


def string_at(data: bytes, at: int, code: int) -> tuple[int, int]:
    """(start, length) of the string whose opcode stands at `at`; length -1 when its length is cut.

    Raises Unusable("refused") when the length is absurd.
    """
    width, code_of_length = STRING_LENGTH[code]
    start = at + 1 + width
    if start > len(data):
        return start, -1
    (length,) = struct.unpack(code_of_length, data[at + 1 : start])
    if length > MAX_STRING:
        raise Unusable("refused", f"claims a string of {length:,} bytes at byte {at:,}")
    return start, length


def refusal(data: bytes, at: int) -> Unusable:
    """The reason why the opcode at `at` is not allowed."""
    import pickletools  # 10 ms, for a file that is refused

    known = {op.code: op for op in pickletools.opcodes}.get(chr(data[at]))
    if known is None:
        return Unusable("refused", f"damaged: no pickle opcode at byte {at:,}")
    if data[at : at + 1] in b"ci\x93":
        named = b" ".join(data[at + 1 : at + 200].split(b"\n")[:2]).decode("latin-1") if data[at] != 0x93 else ""
        what = f"names a global {clean(named)}".rstrip()
        return Unusable("refused", f"{what} at byte {at:,}, which can run code; torch's dumps never do")
    return Unusable("refused", f"opcode {known.name} at byte {at:,}, which torch's dumps never have")
