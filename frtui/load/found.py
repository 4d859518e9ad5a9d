"""One dump that was found, before it is opened."""

from __future__ import annotations

from typing import NamedTuple


class Found(NamedTuple):
    path: str
    """The file to open: the dump, or the archive that holds it."""
    name: str
    """For people: relative to the source, with the archive's member after it."""
    rank: int
    host: str
    folder: str
    """Folder inside the source, empty at its top; tells attempts and nodes apart."""
    mtime_ns: int
    offset: int
    """Where the dump starts inside `path` (after decompression, for a compressed archive)."""
    size: int
    compressed: bool = False
    """True when `path` is a compressed archive, which can only be read forwards."""
    ring: bool = False
    """The recorder's ring file, which stands in for a rank that left no dump in `folder`."""
