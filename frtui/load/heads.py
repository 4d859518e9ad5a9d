"""Only the heads of the dumps: who is in which group and how far each rank got, before any entry is read.

In torch's files `pg_config` and `pg_status` stand before the entries (format 2.1 and newer). A few of the oldest
entries are read as well: they say which `pg_id` is which group. 1,024 heads take half a second.
"""

from __future__ import annotations

from typing import Callable

from frtui.load import tiles
from frtui.load.assemble import Interned, assemble
from frtui.load.discover import Listing
from frtui.load.errors import Cancelled, Odd, Unusable
from frtui.load.found import Found
from frtui.load.normalise import Dump, normalise
from frtui.model import Entries, Job
from frtui.regular import open_regular

_FIRST, _MOST = 1 << 13, 1 << 17
"""Bytes that are read of a file; more where its head is longer."""
_ENTRIES = 6
"""Groups that a rank has called by its sixth entry are nearly all that matter."""


def heads(source: str, listing: Listing, cancelled: Callable[[], bool] | None = None) -> Job | None:
    """The job without its entries; None where a file has no head that can be trusted, and all must be read.

    gloo counts sends and receives among the collectives (torch 2.13), so that its numbers tell nothing: ranks that
    make others differ. Raises Cancelled.
    """
    dumps: dict[int, Dump] = {}
    files: dict[int, Found] = {}
    for file in listing.files:
        if cancelled is not None and cancelled():
            raise Cancelled
        dump = _head(file)
        if dump is None:
            return None
        dumps[file.rank], files[file.rank] = dump, file
    if not dumps:
        return None
    interned = Interned()
    for dump in dumps.values():
        interned.take(dump)
        dump.entries, dump.calls = Entries(), dump.calls[:0]
    return assemble(source, listing, files, dumps, interned)


def _head(file: Found) -> Dump | None:
    if file.compressed or file.ring or file.offset:
        return None
    size = _FIRST
    while size <= _MOST:
        try:
            raw = tiles.leading(_start(file.path, size), _ENTRIES)
        except (OSError, Odd):
            size *= 4
            continue
        return _trusted(raw, size)
    return None


def _trusted(raw: dict[str, object], size: int) -> Dump | None:
    try:
        dump = normalise(raw, size)
    except Unusable:
        return None
    backends = {signature.backend for signature in dump.signatures}
    counts = bool(dump.status) and bool(backends) and not backends & {"", "gloo"}
    return dump if counts and not dump.malformed else None


def _start(path: str, size: int) -> bytes:
    """The first bytes of a file. Raises OSError."""
    with open_regular(path) as stream:
        return stream.read(size)
