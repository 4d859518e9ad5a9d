"""Writing to stdout without Python's buffer, which would complain once more at exit when the reader has left."""

from __future__ import annotations

import os
import sys


def write(text: str) -> None:
    """Raises OSError where stdout can't be written, BrokenPipeError where nobody reads it."""
    sys.stdout.flush()
    rest = memoryview(text.encode("utf-8", "surrogateescape"))
    while rest:
        rest = rest[os.write(sys.stdout.fileno(), rest) :]
