"""Whole dumps of torch's C++ writer, read without making a dict of each entry.

An entry whose strings and frames are all in the memo has the bytes that `layout` describes, and so have those that
follow it: `moulds` reads them in bulk, in C, into numbers and one slice of bytes for each thing that entries have in
common. What a slice stands for is found out once, however many entries have it. An entry that holds something new is
written as if it did not (`rewrite`). What stands before and after the entries goes through the interpreter.

All this takes half the instructions of a match by one expression for each entry, and little more than what C code
takes to unpickle the entries alone. As nothing is unpickled by C code, nothing has to be walked through first. Whatever
torch would not write raises Odd and goes the general way: it may be a dump all the same.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import chain
from typing import Any

from frtui.load import layout
from frtui.load.errors import Odd, Unusable
from frtui.load.layout import Layout
from frtui.load.limits import check_containers
from frtui.load.rewrite import Torch
from frtui.load.section import Section
from frtui.load.source import Kinds, Row, is_entry

_ENTRIES = b"X\7\0\0\0entries"
_SLOW, _SECTIONS = 1 << 17, 8
"""Bytes of entries with something new before they must be less than half, and layouts that a dump may have."""


class Tiles:
    """The entries of one dump, as a `source.Source`."""

    def __init__(self, sections: Sequence[Section]) -> None:
        self._sections = sections

    def __len__(self) -> int:
        return sum(len(section) for section in self._sections)

    def has(self, key: str) -> bool:
        return any(section.has(key) for section in self._sections)

    def column(self, key: str) -> Sequence[Any]:
        """An array where entries have numbers of their own."""
        first, *more = (section.column(key) for section in self._sections)
        if isinstance(first, array) and all(isinstance(c, array) and c.typecode == first.typecode for c in more):
            joined = first[:]
            for column in more:
                joined.extend(column)
            return joined
        return [*first, *chain.from_iterable(more)]

    def kinds(self, keys: Sequence[str]) -> Kinds:
        if len(self._sections) == 1:
            return self._sections[0].kinds(keys)
        codes: array[int] = array("i")
        rows: list[Row] = []
        for section in self._sections:
            found = section.kinds(keys)
            codes.extend(array("i", map(len(rows).__add__, found.codes)))
            rows += found.rows
        return Kinds(codes, rows)


def read(data: bytes) -> object:
    """The object in `data`, as the general way makes it, but with Tiles for its entries. Raises Odd."""
    if data[:4] not in (b"\x80\2}(", b"\x80\2]("):
        raise Odd
    try:
        check_containers(data)  # what the general way refuses, it shall be asked about
        return _Reader(data).read()
    except (Unusable, IndexError, KeyError, TypeError, ValueError, AttributeError):
        raise Odd from None


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.machine = Torch(data)
        self.sections: list[Section] = []
        self.slow = 0
        """Bytes of the entries that were read one by one, at up to 2.5 times the cost of the general way."""

    def read(self) -> object:
        machine, entries = self.machine, self._head()
        depth = len(machine.levels)
        while self.data[machine.at : machine.at + 2] == b"}(":
            self._entry()
            machine.at = self.sections[-1].follow(self.data, machine.at)
        if machine.stack or len(machine.levels) != depth or machine.run() >= 0 or machine.levels or entries:
            raise Odd
        tiles = Tiles(self.sections or [Section(Layout(()), {}, machine.read)])
        (top,) = machine.stack
        if top is entries:
            return tiles
        if top.get("entries") is not entries:
            raise Odd
        return {**top, "entries": tiles}

    def _head(self) -> list[Any]:
        """Everything before the first entry. Returns the list of entries, still empty."""
        machine = self.machine
        if self.data[2:3] == b"}":
            machine.upto(max(0, self.data.find(_ENTRIES)))
            machine.step()
            machine.step()
            if len(machine.levels) != 1 or len(machine.stack) % 2 == 0 or machine.stack[-1] != "entries":
                raise Odd
        machine.step()
        entries: list[Any] = machine.stack[-1]
        machine.step()
        if entries != [] or self.data[machine.at - 2 : machine.at] != b"](":
            raise Odd
        return entries

    def _entry(self) -> None:
        """Read the entry here, in which something is new."""
        start = self.machine.at
        whole, shown = self.machine.entry()
        self.slow += self.machine.at - start
        if self.slow > max(_SLOW, len(self.data) // 2):
            raise Odd
        match = self.sections[-1].pattern.fullmatch(shown) if self.sections else None
        match = match or self._section(self.machine.read(whole[2:-1])).pattern.fullmatch(shown)
        if match is None:
            raise Odd
        self.sections[-1].add(match.regs[1:], whole)

    def _section(self, row: Row) -> Section:
        """A new one, from here on, for entries like `row` and all those before."""
        fields = layout.of(row)
        if self.sections:
            fields = self.sections[-1].layout.merged(fields)
        if len(self.sections) == _SECTIONS or not is_entry({f.key for f in fields.fields if not f.optional}):
            raise Odd
        self.sections.append(Section(fields, self.machine.refs(), self.machine.read))
        return self.sections[-1]
