"""A run of entries of one layout, as columns."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import Any, Callable

from frtui.load.errors import Odd
from frtui.load.layout import Field, Layout
from frtui.load.mould import Columns, Places
from frtui.load.moulds import Moulds
from frtui.load.source import Kinds, Row
from frtui.model import NONE

_MANY = 1024
"""Parts of entries that may differ before they must be a minority: each new one is read by the interpreter."""

_FIRST, _BLOCK = 32, 2048
"""Entries that are taken apart at once, at first and at most: until they are columns they take a kilobyte each."""


class Section:
    def __init__(self, layout: Layout, refs: Mapping[str, bytes], read: Callable[[bytes], Row]) -> None:
        """`refs`: how keys are fetched from the memo; `read`: what a part of an entry stands for."""
        self.layout = layout
        self.pattern = layout.pattern([refs[field.key] for field in layout.fields])
        self._groups = [_Numbers(g[0].key, g[0].floats) if g[0].own else _Shared(g, read) for g in layout.groups]
        number = [refs[field.key] for field in layout.fields[:1] if field.own and not field.optional]
        self._start = b"".join([b"}(", *number])
        """What all entries begin with."""
        shared = [group if isinstance(group, _Shared) else None for group in self._groups]
        self._moulds = Moulds(self.pattern, self._start, shared)
        self._count = 0
        self._length, self._run = 0, _FIRST
        """Bytes of the last entry in which something was new, and how many entries without that followed it."""

    def __len__(self) -> int:
        return self._count

    def add(self, places: Places, entry: bytes) -> None:
        """An entry in which something was new; `places` are those of the groups of `pattern`."""
        self._length = len(entry)
        self._take(1, self._moulds.one(places, entry[len(self._start) : -1]))

    def follow(self, data: bytes, at: int) -> int:
        """Take the entries in `data` from byte `at` on, as far as nothing in them is new. Returns where that ends."""
        before, size = self._count, min(_FIRST, 2 * self._run)
        while self.pattern.match(data, at):
            entries = self._apart(data, at, size)
            count, columns = self._moulds.read(entries)
            self._take(count, columns)
            at += sum(map(len, islice(entries, count))) + count * (len(self._start) + 1)
            if count < len(entries) or not count:
                break
            size = min(4 * size, _BLOCK)
        self._run = max(self._count - before, 2)
        return at

    def _apart(self, data: bytes, at: int, size: int) -> list[bytes]:
        """About so many entries, without what all have. The last one is always left: nobody knows where it ends."""
        start = self._start
        if not data.startswith(start, at):
            return []
        return data[at + len(start) : at + (size + 2) * self._length].split(b"u" + start)[:-1]

    def _take(self, count: int, columns: Columns) -> None:
        self._count += count
        for group, column in zip(self._groups, columns):
            group.take([NONE] * count if column is None else column)

    def has(self, key: str) -> bool:
        for group, present in zip(self._groups, self._moulds.present):
            if isinstance(group, _Numbers) and group.key == key:
                return present
        return any(key in row for kinds in self._having({key}) for row in kinds.rows)

    def column(self, key: str) -> Sequence[Any]:
        for group in self._groups:
            if isinstance(group, _Numbers) and group.key == key:
                return group.values
        if not self._having({key}):
            return array("q", [NONE]) * self._count
        kinds = self.kinds((key,))
        values = [row.get(key, NONE) for row in kinds.rows]
        if all(type(value) is int for value in values):
            return kinds.each(values, "q")
        return list(map(values.__getitem__, kinds.codes))

    def kinds(self, keys: Sequence[str]) -> Kinds:
        parts = self._having(set(keys))
        if len(parts) == 1:
            return parts[0]
        if not parts:
            return Kinds(array("i", bytes(4 * self._count)), [{}] if self._count else [])
        table = _Numbered()
        codes = list(map(table.__getitem__, zip(*(part.codes for part in parts))))
        rows = [{k: v for part, code in zip(parts, both) for k, v in part.rows[code].items()} for both in table]
        return Kinds(codes, rows)

    def _having(self, keys: set[str]) -> list[Kinds]:
        return [group.kinds for group in self._groups if isinstance(group, _Shared) and not group.keys.isdisjoint(keys)]


class _Numbered(dict[tuple[int, ...], int]):
    """Numbers keys in the order in which they are first asked for."""

    def __missing__(self, key: tuple[int, ...]) -> int:
        self[key] = len(self)
        return len(self) - 1


class _Numbers:
    """A column of numbers of which most are different."""

    def __init__(self, key: str, floats: bool) -> None:
        self.key = key
        self.values: array[int] | array[float] = array("d" if floats else "q")

    def take(self, values: Sequence[Any]) -> None:
        self.values += array(self.values.typecode, values)  # thrice as quick as `extend`, which asks for each


class _Shared:
    """A part of the entries that many of them have alike."""

    def __init__(self, fields: Sequence[Field], read: Callable[[bytes], Row]) -> None:
        self.keys = {field.key for field in fields}
        self.codes: dict[bytes, int] = {}
        self.rows: list[Row] = []
        self._taken = array("i")
        self._read = read

    def meet(self, part: bytes) -> None:
        if part not in self.codes:
            self.rows.append(self._read(part))
            self.codes[part] = len(self.codes)

    def take(self, codes: Sequence[int]) -> None:
        self._taken += array("i", codes)
        if len(self.rows) > max(_MANY, len(self._taken) // 2):
            raise Odd

    @cached_property
    def kinds(self) -> Kinds:
        """In the order of their first entries: they were met by the lengths of those, and some perhaps in vain."""
        seen = list(dict.fromkeys(self._taken))
        if seen == list(range(len(self.rows))):
            return Kinds(self._taken, self.rows)
        place = {code: at for at, code in enumerate(seen)}
        return Kinds(array("i", list(map(place.__getitem__, self._taken))), [self.rows[code] for code in seen])
