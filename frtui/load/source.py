"""Where the values of entries come from: by column, and by kind where entries repeat each other.

`normalise` says what values mean, once for each source: `Rows` here, of whatever could be decoded, and `tiles.Tiles`,
which never makes a dict of an entry.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from itertools import repeat
from typing import Any, NamedTuple, Protocol

from frtui.model import NONE

Row = Mapping[str, Any]


def is_entry(keys: Container[Any]) -> bool:
    """Anything else would pass for a call that nobody else has made and that never ends."""
    return ("profiling_name" in keys or "pg_id" in keys) and (
        "collective_seq_id" in keys or "seq_id" in keys or "p2p_seq_id" in keys
    )


class Kinds(NamedTuple):
    """Entries that are alike in some keys, put together as far as that is easily seen."""

    codes: Sequence[int]
    """By entry: index into `rows`."""
    rows: Sequence[Row]
    """A row of each kind, in the order in which the kinds first occur. Only the keys that were asked for count."""

    def each(self, values: Iterable[int], code: str) -> array[int]:
        """`values` are one by kind; the column by entry."""
        values = list(values)
        if len(self.codes) > len(values) and len(set(values)) == 1:
            return array(code, values[:1]) * len(self.codes)
        return array(code, values if isinstance(self.codes, range) else list(map(values.__getitem__, self.codes)))

    def counted(self) -> Iterable[tuple[Row, int]]:
        """Each row with the number of entries that are like it."""
        if isinstance(self.codes, range):
            return zip(self.rows, repeat(1))
        counts = Counter(self.codes)
        return ((row, counts[code]) for code, row in enumerate(self.rows))


class Source(Protocol):
    """The entries of one dump, oldest first."""

    def __len__(self) -> int: ...

    def has(self, key: str) -> bool:
        """Has any entry this key?"""

    def column(self, key: str) -> Sequence[Any]:
        """The value of every entry; NONE where the key is absent."""

    def kinds(self, keys: Sequence[str]) -> Kinds:
        """The entries by their values of `keys`."""


class Rows:
    """Entries that are dicts, each its own kind."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def has(self, key: str) -> bool:
        return any(key in row for row in self._rows)

    def column(self, key: str) -> Sequence[Any]:
        return [row.get(key, NONE) for row in self._rows]

    def kinds(self, keys: Sequence[str]) -> Kinds:
        return Kinds(range(len(self._rows)), self._rows)
