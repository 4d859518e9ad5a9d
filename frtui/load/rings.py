"""The recorder's ring files: what is left of a rank that wrote no dump, or none that can be read."""

from __future__ import annotations

import os
import zlib
from typing import Any

from frtui.load.errors import Unusable
from frtui.load.limits import Budget, length, text
from frtui.regular import open_regular

MAGIC = b"FRRING1\0"
"""As `recorder.ringfile` has it, which is imported only once a ring is there."""


MOST_FAULT = 1 << 20
"""Bytes of a fault file: a thread takes some hundred for a frame."""


HEADER, RECORDS = 4096, 1 << 18
"""Bytes at the beginning: with the last sign of life, and with all records of a ring of the usual length."""


def is_ring(head: bytes) -> bool:
    return head[:8] == MAGIC


def unpack(data: bytes, fault: str = "") -> object:
    """The dump in a ring, in torch's shape. Raises Unusable with the reason. `fault`: as `fault_beside` gives it."""
    try:
        from recorder import export, ringfile
    except ImportError:
        detail = "a ring of the recorder, and the package `recorder`, which reads it, is missing"
        raise Unusable("refused", detail) from None
    try:
        _check(ringfile.read(data), len(data))
        return export.dump_of_ring(data, fault)
    except Unusable:
        raise
    except Exception as error:  # a damaged ring may make them raise almost anything
        told = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
        raise Unusable("refused", text(f"damaged ring: {told[:200]}")) from None


def fault_beside(ring: str, rank: int) -> str:
    """What faulthandler wrote when the rank of the file `ring` crashed; empty where it did not, or left none."""
    from recorder.paths import fault_path

    try:
        with open_regular(fault_path(os.path.dirname(ring), rank)) as stream:
            stream.seek(max(0, os.fstat(stream.fileno()).st_size - MOST_FAULT))
            return stream.read(MOST_FAULT).decode("utf-8", "replace")
    except OSError:
        return ""


def state(path: str, most: int = HEADER) -> int:
    """Another number whenever the ring has changed: it has one size, and mapped memory leaves the time as it was.

    Looks at `most` bytes. Of a ring that can't be read: 0.
    """
    try:
        with open_regular(path) as stream:
            return zlib.crc32(stream.read(most))
    except OSError:
        return 0


def _check(contents: Any, size: int) -> None:
    """Raises Unusable where records name long texts again and again: each record's are written out."""
    from recorder import ringfile

    budget = Budget(size)
    stacks = {n: length(frames) for n, frames in contents.texts[ringfile.STACK].items()}
    names = {n: _repeated(signature) for n, signature in contents.texts[ringfile.SIGNATURE].items()}
    for record in contents.records:
        budget.spend(stacks.get(record.stack, 0) + names.get(record.signature, 0))


def _repeated(signature: object) -> int:
    """What each record copies, or looks through, of its signature."""
    if not isinstance(signature, dict):
        return 0
    more, name = signature.get("more"), signature.get("name")
    return sum(len(part) for part in (more, name) if isinstance(part, (dict, list, str)))
