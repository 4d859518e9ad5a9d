"""Entries whose numbers stand at the same places, in the same widths: one format of `struct` reads all of them."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from operator import contains
from typing import Any, NamedTuple, Optional, Protocol

_CODES = {2: (1, "B"), 3: (2, "H"), 5: (4, "i"), 10: (8, "q"), 9: (8, "8s")}
"""By the bytes that a number takes together with its opcode: those without, and how `struct` reads them."""
_FLOAT = "8s"
"""Of the other byte order."""

Places = tuple[tuple[int, int], ...]
"""Where each group of the layout's expression stands in an entry; (-1, -1) for a number that is not there."""
Columns = list[Optional[Sequence[Any]]]
"""By group of the layout: a number, or a code, for each of some entries; None where none of them has a number."""


class Part(Protocol):
    """What many entries have alike."""

    codes: dict[bytes, int]
    """The numbers under which bytes of entries are known."""

    def meet(self, part: bytes) -> None:
        """Give these bytes a number. Raises KeyError when they fetch from the memo what is not there yet."""


class _Field(NamedTuple):
    """Of the format."""

    group: int
    code: str
    start: int
    end: int
    part: Part | None
    """None: a number."""


class Mould:
    def __init__(self, places: Places, parts: Sequence[Part | None], entry: bytes, skip: int) -> None:
        """For entries like this one, which lacks the first bytes. `parts`: one for each place, None for a number."""
        self.places = places
        self._size = len(entry)
        self._fields = list(_fields(places, parts, skip))
        layout, at = "<", 0
        fixed: list[int] = []
        for field in self._fields:
            layout += f"{field.start - at}x{field.code}"
            fixed += range(at, field.start)
            at = field.end
        fixed += range(at, self._size)
        self._struct = struct.Struct(f"{layout}{self._size - at}x")
        self._fixed = [(place, entry[place : place + 1]) for place in fixed]
        """Keys and opcodes: what all entries of this mould have in common."""

    def strangers(self, entries: Sequence[bytes], joined: bytes) -> set[int]:
        """Rows that have other bytes in fixed places. All entries have the length of this mould's."""
        count, size = len(entries), self._size
        wrong = [at for at, byte in self._fixed if joined[at::size] != byte * count]
        fixed = dict(self._fixed)
        return {row for at in wrong for row, entry in enumerate(entries) if entry[at : at + 1] != fixed[at]}

    def unpack(self, joined: bytes) -> list[Sequence[Any]]:
        """The fields of entries that stand one after the other."""
        return list(zip(*self._struct.iter_unpack(joined)))

    def unknown(self, fields: Sequence[Sequence[Any]]) -> Iterator[int]:
        """Rows with parts that have no number, when it is their turn: they may have got it from a row before."""
        known, parts = [], []
        for field, values in zip(self._fields, fields):
            if field.part is not None and not field.part.codes.keys() >= set(values):
                known.append(field.part.codes)
                parts.append(values)
        for row, values in enumerate(zip(*parts)):
            if not all(map(contains, known, values)):
                yield row

    def meet(self, entry: bytes) -> None:
        """Give the parts of an entry numbers. Raises KeyError as `Part.meet` does."""
        for field in self._fields:
            if field.part is not None:
                field.part.meet(entry[field.start : field.end])

    def columns(self, fields: Sequence[Sequence[Any]]) -> Columns:
        """By group of the layout. Raises KeyError when a part has no number."""
        columns: Columns = [None] * len(self.places)
        for field, values in zip(self._fields, fields):
            if field.part is not None:
                columns[field.group] = list(map(field.part.codes.__getitem__, values))
            elif field.code == _FLOAT:
                columns[field.group] = struct.unpack(f">{len(values)}d", b"".join(values))
            else:
                columns[field.group] = values
        return columns


def _fields(places: Places, parts: Sequence[Part | None], skip: int) -> Iterator[_Field]:
    for group, ((start, end), part) in enumerate(zip(places, parts)):
        if part is not None:
            yield _Field(group, f"{end - start}s", start - skip, end - skip, part)
        elif end - start in _CODES:  # else it is None, or not there
            operand, code = _CODES[end - start]
            yield _Field(group, code, end - operand - skip, end - skip, None)
