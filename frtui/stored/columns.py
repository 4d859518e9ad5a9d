"""One column of entries in an index: what the head says of it, and its bytes, as few as there need be."""

from __future__ import annotations

import sys
from array import array
from typing import IO, Any

from frtui.stored.shapes import Wrong

SAME, ROWS, NARROW, WHOLE = "same", "rows", "narrow", "whole"
"""All values are one, which the head has; each is the number of its row; a byte each; as in memory."""

Told = list[Any]
"""One of those words, and with SAME the value."""
Limits = tuple[int, int]
"""The least value, and the first that is too much."""


def pack(column: array[Any], whole: bool) -> tuple[Told, bytes]:
    """`whole`: as it is, whatever it holds."""
    if whole or not column:
        return [WHOLE], column.tobytes()
    if column.count(column[0]) == len(column):
        return [SAME, column[0]], b""
    if column.typecode == "i" and column == rows(len(column)):
        return [ROWS], b""
    if column.typecode == "i" and min(column) >= 0 and max(column) < 256:
        return [NARROW], bytes(column.tolist())
    return [WHOLE], column.tobytes()


def unpack(file: IO[bytes], told: Told, code: str, count: int, limits: Limits | None) -> array[Any]:
    """Raises Wrong where a value is beyond the limits, and EOFError."""
    how = told[0]
    if how == ROWS and code == "i":
        if limits is not None and count > limits[1]:
            raise Wrong("an entry points to nothing")
        return rows(count)
    if how == SAME:
        (value,) = told[1:]
        one = array(code, [value])
        _check(one, limits)
        return one * count
    column = array(code)
    if how == NARROW and code == "i":
        column.frombytes(_widened(file.read(count), column.itemsize, limits))
    elif how == WHOLE:
        column.fromfile(file, count)
        _check(column, limits)
    if len(column) != count:
        raise Wrong("columns of different lengths")
    return column


def rows(count: int) -> array[int]:
    """The numbers of so many rows. Those that were counted before are copied, which takes next to no time."""
    if len(_counted) < count:
        _counted.extend(array("i", [*range(len(_counted), count)]))
    return _counted[:count]


_counted = array("i")


def _check(column: array[Any], limits: Limits | None) -> None:
    if limits is not None and len(column) and not (limits[0] <= min(column) and max(column) < limits[1]):
        raise Wrong("an entry points to nothing")


def _widened(values: bytes, size: int, limits: Limits | None) -> bytearray:
    """Integers of so many bytes. C code goes over the bytes here, and thirty times as fast as over integers."""
    if limits is not None and values.translate(None, bytes(range(max(limits[0], 0), min(limits[1], 256)))):
        raise Wrong("an entry points to nothing")
    wide = bytearray(len(values) * size)
    wide[0 if sys.byteorder == "little" else size - 1 :: size] = values
    return wide
