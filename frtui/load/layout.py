"""How the bytes of an entry are laid out in a pickle that torch's C++ wrote, as a regular expression.

Inside of entries that writer memoises strings and frames and nothing else. After the first entries, all the others are
therefore of the same opcodes, down to the memo slots of their keys, and differ in the operands alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple, cast

from frtui.load.errors import Odd

_REF = rb"(?:h.|j...[^\xff])"  # the slots that end so are `rewrite`'s own
_INT = rb"(?:K.|M..|J.{4}|\x8a\x08.{8})"
# The bounds keep the matcher's stack small. What a match begins with says how it goes on, so that nothing is tried in
# many ways: alternatives that begin alike are two at most, the longer one first.
_PATTERNS = {
    "none": rb"N",
    "flag": rb"[\x88\x89]",
    "int": _INT,
    "float": rb"G.{8}",
    "pair": _REF + _REF + rb"\x86",
    "text": _REF,
    "texts": rb"\](?:\(" + _REF + rb"{0,1000}e)?",
    "sizes": rb"\](?:\((?:\](?:\(" + _INT + rb"{0,64}e)?){0,1000}e)?",
}
_OWN = {
    "record_id": "int",
    "seq_id": "int",
    "collective_seq_id": "int",
    "p2p_seq_id": "int",
    "op_id": "int",
    "time_created_ns": "int",
    "time_created_us": "int",
    "time_discovered_started_ns": "int",
    "time_discovered_completed_ns": "int",
    "duration_ms": "float",
}
"""Numbers that nearly every entry has for itself, and what they are when they are not None."""
_MOST = 200
"""Keys that an entry may have: an expression of thousands takes seconds to be compiled."""
_SHARED = {"retired", "is_p2p", "pg_id", "timeout_ms", "state", "process_group", "profiling_name", "frames", "error"}
_SHARED |= {"input_sizes", "output_sizes", "input_dtypes", "output_dtypes", "thread_id", "thread_name"}
"""What is never read as a number of its own, though it may be one."""


class Field(NamedTuple):
    """One key of the entries."""

    key: str
    types: frozenset[str]
    """Of `_PATTERNS`, that were seen."""
    optional: bool
    own: bool
    """A number to be read by itself; the others are alike in many entries, and kept as bytes until they are known."""

    @property
    def floats(self) -> bool:
        return "float" in self.types


class Layout:
    """The keys of entries in their order."""

    def __init__(self, fields: Sequence[Field]) -> None:
        if len(fields) > _MOST:
            raise Odd
        self.fields = tuple(fields)

    @cached_property
    def groups(self) -> list[tuple[Field, ...]]:
        """What each group of the expression holds: one number, or whatever stands between two of them."""
        groups: list[tuple[Field, ...]] = []
        for field in self.fields:
            if groups and not field.own and not groups[-1][-1].own:
                groups[-1] += (field,)
            else:
                groups.append((field,))
        return groups

    def pattern(self, refs: Iterable[bytes]) -> re.Pattern[bytes]:
        """`refs`: how each key is fetched from the memo."""
        parts = iter([_part(field, ref) for field, ref in zip(self.fields, refs)])
        whole = b""
        for group in self.groups:
            joined = b"".join(next(parts) for _ in group)
            whole += joined if group[0].own else b"(" + joined + b")"
        return re.compile(rb"\}\(" + whole + b"u", re.DOTALL)

    def merged(self, other: Layout) -> Layout:
        """One that fits the entries of both. Raises ValueError where their keys are not in one order."""
        mine, theirs = ([field.key for field in layout.fields] for layout in (self, other))
        keys, at = list(mine), 0
        for key in theirs:
            if key not in mine:
                keys.insert(at, key)
            at = keys.index(key, at) + 1  # ValueError, were it further up
        return Layout([_either(self._field(key), other._field(key)) for key in keys])

    def _field(self, key: str) -> Field | None:
        return next((field for field in self.fields if field.key == key), None)


def _either(one: Field | None, other: Field | None) -> Field:
    if one is None or other is None:
        return cast("Field", one or other)._replace(optional=True)
    return one._replace(types=one.types | other.types)


def _part(field: Field, ref: bytes) -> bytes:
    value = b"|".join(_PATTERNS[name] for name in _PATTERNS if name in field.types)
    value = b"(" + value + b")" if field.own else b"(?:" + value + b")"
    both = re.escape(ref) + value
    return b"(?:" + both + b")?" if field.optional else both


def of(row: Mapping[Any, Any]) -> Layout:
    """The layout of one entry."""
    return Layout([_field(key, value) for key, value in row.items()])


def _field(key: object, value: object) -> Field:
    if not isinstance(key, str):
        raise Odd
    found = type_of(key, value)
    if key in _OWN:
        if found not in ("none", _OWN[key]):
            raise Odd
        return Field(key, frozenset({"none", _OWN[key]}), False, True)
    return Field(key, frozenset({found}), False, found in ("int", "float") and key not in _SHARED)


def type_of(key: str, value: object) -> str:
    """The word of `_PATTERNS` for a value."""
    if isinstance(value, bool):
        return "flag"
    for kind, word in ((int, "int"), (float, "float"), (str, "text"), (type(None), "none")):
        if isinstance(value, kind):
            return word
    if isinstance(value, tuple) and len(value) == 2 and all(isinstance(item, str) for item in value):
        return "pair"
    if isinstance(value, list):
        if all(isinstance(item, list) for item in value) and (value or key.endswith("sizes")):
            return "sizes"
        if all(isinstance(item, (str, dict)) for item in value):
            return "texts"
    raise Odd
