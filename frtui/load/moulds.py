"""Entries in bulk: `split` takes them apart, and those of one length are nearly always of one mould.

An expression, which would take longer than all of this, matches only what no mould knows yet.
"""

from __future__ import annotations

import contextlib
import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from itertools import chain, repeat
from operator import itemgetter
from typing import Any, NamedTuple

from frtui.load.errors import Odd
from frtui.load.mould import Columns, Mould, Part, Places
from frtui.model import NONE

_OF_A_LENGTH, _MOULDS = 16, 64
"""Most moulds for entries of one length; and how many a section may have before one needs 64 entries read for each."""
_OF_NEW = 512
"""How many may be made from entries with something new, of which nearly each has its own at first, before one needs 8
entries read for each."""


class _New(Exception):
    """Entry `at` has something that has to be read by itself."""

    def __init__(self, at: int) -> None:
        self.at = at


class _Cast(NamedTuple):
    """Entries of one mould: their places among all, and their columns."""

    where: Sequence[int]
    columns: Columns

    def before(self, end: int) -> _Cast:
        """Those of the first `end` entries of all."""
        count = bisect_left(self.where, end)
        if count == len(self.where):
            return self
        return _Cast(self.where[:count], [column and column[:count] for column in self.columns])


class Moulds:
    """All moulds of one layout."""

    def __init__(self, pattern: re.Pattern[bytes], start: bytes, parts: Sequence[Part | None]) -> None:
        """`pattern` is that of whole entries; here they come without `start` and their last byte, which all have.

        `parts`: one for each group of the pattern, None for a number.
        """
        self._start = start
        self.present = [False] * len(parts)
        """By group: whether any entry has it."""
        self._match = pattern.fullmatch
        self._parts = parts
        self._by_length: dict[int, list[Mould]] = defaultdict(list)
        self._made = self._made_of_new = self._read = 0

    def one(self, places: Places, entry: bytes) -> Columns:
        """The columns of an entry that is matched already, and may have something new."""
        moulds = self._by_length[len(entry)]
        mould = next((mould for mould in moulds if mould.places == places), None)
        if mould is None:
            if len(moulds) >= _OF_A_LENGTH or self._made_of_new >= max(_OF_NEW, self._read // 8):
                raise Odd
            mould = self._mould(places, entry)
            moulds.append(mould)
            self._made_of_new += 1
        self._read += 1
        mould.meet(entry)
        return mould.columns(mould.unpack(entry))

    def read(self, entries: Sequence[bytes]) -> tuple[int, Columns]:
        """How many of the first entries have nothing new, and their columns."""
        by_length: dict[int, list[int]] = defaultdict(list)
        for at, length in enumerate(map(len, entries)):
            by_length[length].append(at)
        casts: list[_Cast] = []
        count = len(entries)
        for length, where in by_length.items():
            while where:
                try:
                    casts += self._sorted(self._by_length[length], 0, where, [entries[at] for at in where])
                    break
                except _New as new:
                    count = min(count, new.at)
                    where = where[: bisect_left(where, new.at)]
        self._read += count
        return count, _in_order([cut for cast in casts if (cut := cast.before(count)).where])

    def _sorted(self, moulds: list[Mould], turn: int, where: Sequence[int], entries: Sequence[bytes]) -> list[_Cast]:
        """Entries of one length: those that are of the mould whose turn it is, and then the rest."""
        if not entries:
            return []
        if turn == len(moulds):
            moulds.append(self._found(entries[0], where[0], turn))
        mould, joined = moulds[turn], b"".join(entries)
        others = mould.strangers(entries, joined)
        if not others:
            fields = mould.unpack(joined)
            with contextlib.suppress(KeyError):
                return [_Cast(where, mould.columns(fields))]
            others = {row for row in mould.unknown(fields) if not self._met(mould, entries[row])}
        casts: list[_Cast] = []
        for skip, rows in enumerate((sorted({*range(len(entries))} - others), sorted(others))):
            casts += self._sorted(moulds, turn + skip, [where[row] for row in rows], [entries[row] for row in rows])
        return casts

    def _found(self, entry: bytes, at: int, turn: int) -> Mould:
        """A new mould. Raises _New when the entry, which is number `at`, can't have one."""
        places = self._places(entry)
        if places is None:
            raise _New(at)
        if turn >= _OF_A_LENGTH or self._made >= max(_MOULDS, self._read // 64):
            raise Odd
        mould = self._mould(places, entry)
        if not self._met(mould, entry):
            raise _New(at)
        self._made += 1
        return mould

    def _met(self, mould: Mould, entry: bytes) -> bool:
        """Whether the entry is of that mould, and nothing in it has yet to come into the memo."""
        if self._places(entry) != mould.places:
            return False
        try:
            mould.meet(entry)
        except KeyError:
            return False
        return True

    def _mould(self, places: Places, entry: bytes) -> Mould:
        self.present = [there or start >= 0 for there, (start, _) in zip(self.present, places)]
        return Mould(places, self._parts, entry, len(self._start))

    def _places(self, entry: bytes) -> Places | None:
        match = self._match(self._start + entry + b"u")
        return match.regs[1:] if match else None


def _in_order(casts: Sequence[_Cast]) -> Columns:
    if len(casts) < 2:
        return casts[0].columns if casts else []
    where = [*chain.from_iterable(cast.where for cast in casts)]
    order = [0] * len(where)
    for at, place in enumerate(where):
        order[place] = at
    pick = itemgetter(*order)

    def ordered(*columns: Sequence[Any] | None) -> Sequence[Any] | None:
        if not any(columns):
            return None
        parts = [repeat(NONE, len(cast.where)) if part is None else part for cast, part in zip(casts, columns)]
        values: Sequence[Any] = pick([*chain.from_iterable(parts)])
        return values

    return list(map(ordered, *(cast.columns for cast in casts)))
