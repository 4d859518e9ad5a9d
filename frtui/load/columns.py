"""Values of untrusted entries as columns and interned tables."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from frtui.load.limits import Budget, length, lengths, text
from frtui.load.source import Row, Source
from frtui.model import NONE, Frame, Shape, Signature, Stack
from frtui.text import clean

# c10::ScalarType in order; early builds wrote its number instead of its name (pytorch #126581).
# fmt: off
_SCALAR_TYPES = (
    "Byte", "Char", "Short", "Int", "Long", "Half", "Float", "Double", "ComplexHalf", "ComplexFloat", "ComplexDouble",
    "Bool", "QInt8", "QUInt8", "QInt32", "BFloat16", "QUInt4x2", "QUInt2x4", "Bits1x8", "Bits2x4", "Bits4x2", "Bits8",
    "Bits16", "Float8_e5m2", "Float8_e4m3fn", "Float8_e5m2fnuz", "Float8_e4m3fnuz", "UInt16", "UInt32", "UInt64",
)
# fmt: on
SIGNATURE_KEYS = ("profiling_name", "input_sizes", "output_sizes", "input_dtypes", "output_dtypes", "root_rank")
_MAX_DIMENSIONS = 64
_INT64 = 1 << 63


class Faults:
    """How many values could not be used, and what the first one was."""

    def __init__(self) -> None:
        self.count = 0
        self.first = ""

    def add(self, what: str) -> None:
        self.count += 1
        self.first = self.first or what


def integers(source: Source, key: str, faults: Faults) -> array[int]:
    """One integer column; NONE where the key is absent, None, or of no use."""
    values = source.column(key)
    if isinstance(values, array):
        return values
    try:
        return array("q", values)
    except (TypeError, OverflowError):
        return array("q", [integer(value, key, faults) for value in values])


def times(source: Source, key: str, faults: Faults) -> array[int]:
    """Nanoseconds since the epoch; JSON dumps say 0 for None."""
    values = source.column(key)
    if isinstance(values, array) and 0 not in values:
        return values
    try:
        return array("q", [value or NONE for value in values])
    except (TypeError, OverflowError):
        return array("q", [integer(value, key, faults) or NONE for value in values])


def floats(source: Source, key: str, faults: Faults) -> array[float]:
    if not source.has(key):
        return array("d", [NONE]) * len(source)
    values = source.column(key)
    try:
        column = array("d", values)
        usable = sum(map(abs, column)) < _INT64  # False where one is not finite
    except (TypeError, OverflowError):
        usable = False
    return column if usable else array("d", [number(value, key, faults) for value in values])


def flags(source: Source, key: str) -> array[int]:
    """1 where the value is true; a user's dump had 0 for False (pytorch #166095)."""
    kinds = source.kinds((key,))
    return kinds.each((1 if row.get(key) is True or row.get(key) == 1 else 0 for row in kinds.rows), "b")


def integer(value: object, key: str, faults: Faults) -> int:
    if value is None:
        return NONE
    if isinstance(value, str) and len(value) < 20 and value[value[:1] == "-" :].isdecimal():
        value = int(value)
    if isinstance(value, int) and -_INT64 <= value < _INT64:
        return int(value)
    faults.add(f"{key} is {_shown(value)}")
    return NONE


def number(value: object, key: str, faults: Faults) -> float:
    if value is None:
        return NONE
    if isinstance(value, (int, float)) and abs(value) < _INT64:
        return float(value)
    faults.add(f"{key} is {_shown(value)}")
    return NONE


def _shown(value: object) -> str:
    """Never the value of a container: it may be endless."""
    if isinstance(value, str):
        value = value[:40]
    return clean(repr(value)[:40]) if isinstance(value, (str, float)) else f"of type {type(value).__name__}"


class Signatures:
    """Interned signatures of one dump."""

    def __init__(self, faults: Faults, budget: Budget) -> None:
        self.table: dict[Signature, int] = {}
        self._by_raw: dict[tuple[object, ...], int] = {}
        self._faults, self._budget = faults, budget

    def of(self, row: Row, count: int) -> int:
        """Index of the signature of as many entries. Equal raw values are recognised without looking inside."""
        get = row.get
        ins, outs = get("input_sizes", ()), get("output_sizes", ())
        ins_types, outs_types = get("input_dtypes", ()), get("output_dtypes", ())
        self._budget.spend(count * (lengths(ins) + lengths(outs) + length(ins_types) + length(outs_types)))
        try:
            key = (
                get("profiling_name"),
                tuple(map(tuple, ins)),
                tuple(map(tuple, outs)),
                tuple(ins_types),
                tuple(outs_types),
                get("root_rank"),
            )
            index = self._by_raw.get(key)
        except TypeError:
            return self.add(self._make(row))
        if index is None:
            index = self._by_raw[key] = self.add(self._make(row))
        return index

    def add(self, signature: Signature) -> int:
        return self.table.setdefault(signature, len(self.table))

    def _make(self, row: Row) -> Signature:
        backend, op, src, dst = operation(row.get("profiling_name"), self._faults)
        return Signature(
            op,
            backend,
            self._shapes(row, "input_sizes"),
            self._shapes(row, "output_sizes"),
            self._dtypes(row, "input_dtypes"),
            self._dtypes(row, "output_dtypes"),
            src,
            dst,
            integer(row.get("root_rank"), "root_rank", self._faults),
        )

    def _shapes(self, row: Row, key: str) -> tuple[Shape, ...]:
        value = row.get(key)
        shapes = [_shape(v) for v in value] if isinstance(value, (list, tuple)) else [] if value is None else [None]
        if None in shapes:
            self._faults.add(f"{key} is no list of sizes")
        return tuple(shape for shape in shapes if shape is not None)

    def _dtypes(self, row: Row, key: str) -> tuple[str, ...]:
        value = row.get(key)
        if value is None:
            return ()
        if isinstance(value, (list, tuple)) and all(isinstance(v, (str, int)) for v in value):
            return tuple(_dtype(v) for v in value)
        self._faults.add(f"{key} is no list of names")
        return ()


def _shape(value: object) -> Shape | None:
    if not isinstance(value, (list, tuple)) or len(value) > _MAX_DIMENSIONS:
        return None
    return tuple(map(int, value)) if all(isinstance(v, int) and abs(v) < _INT64 for v in value) else None


def _dtype(value: str | int) -> str:
    if isinstance(value, str):
        return text(value)
    return _SCALAR_TYPES[value] if 0 <= value < len(_SCALAR_TYPES) else f"dtype {value % 1000}"


def operation(value: object, faults: Faults) -> tuple[str, str, int, int]:
    """(backend, op, src, dst) of a `profiling_name`; dump version 1.6 wrote a list of them.

    `nccl:send 0->1` is a send by 0, `nccl:recv 1<-0` a receive by 1 from 0, `recv 1<-?` one from anybody.
    """
    if isinstance(value, (list, tuple)):
        value = next(iter(value), None)
    if not isinstance(value, str):
        faults.add("profiling_name is missing" if value is None else f"profiling_name is {_shown(value)}")
        return "", "?", NONE, NONE
    value = text(value)
    backend, colon, op = value.partition(":")
    if not colon:
        backend, op = "", value
    op, src, dst = _peers(op)
    return backend, op or "?", src, dst


def _peers(op: str) -> tuple[str, int, int]:
    word, _, peers = op.partition(" ")
    for arrow, forward in (("->", True), ("<-", False)):
        left, found, right = peers.partition(arrow)
        if found:
            a, b = _peer(left), _peer(right)
            return (word, a, b) if forward else (word, b, a)
    return op, NONE, NONE


def _peer(text: str) -> int:
    text = text.strip()
    return int(text) if text.isdecimal() and len(text) <= 9 else NONE


class Stacks:
    """Interned stacks of one dump. torch shares frame dicts between entries; so do we, by their id."""

    def __init__(self, faults: Faults, budget: Budget) -> None:
        self.table: dict[Stack, int] = {}
        self._by_ids: dict[tuple[int, ...], int] = {}
        self._frames: dict[int, Frame | None] = {}
        self._faults, self._budget = faults, budget

    def of(self, row: Row, count: int = 1) -> int:
        """Index of the stack of as many entries; NONE without one. Ids are safe: the caller holds all rows alive."""
        frames = row.get("frames")
        if not frames:
            return NONE
        if not isinstance(frames, (list, tuple)):
            self._faults.add("frames is no list")
            return NONE
        self._budget.spend(count * len(frames))
        ids = tuple(map(id, frames))
        index = self._by_ids.get(ids)
        if index is None:
            index = self._by_ids[ids] = self._add(frames)
        return index

    def _add(self, frames: Sequence[object]) -> int:
        stack = tuple(frame for frame in map(self._frame, frames) if frame is not None)
        return self.table.setdefault(stack, len(self.table)) if stack else NONE

    def _frame(self, raw: object) -> Frame | None:
        if id(raw) not in self._frames:
            self._frames[id(raw)] = self._make(raw)
        return self._frames[id(raw)]

    def _make(self, raw: object) -> Frame | None:
        if not isinstance(raw, dict):
            self._faults.add(f"a frame is {_shown(raw)}")
            return None
        name, filename = (v if isinstance(v, str) else "??" for v in (raw.get("name"), raw.get("filename")))
        return Frame(text(name), text(filename), max(integer(raw.get("line"), "line", self._faults), 0))
