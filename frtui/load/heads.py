"""Only the heads of the dumps: who is in which group and how far each rank got, before any entry is read.

In torch's files `pg_config` and `pg_status` stand before the entries (format 2.1 and newer). A few of the oldest
entries are read as well: they say which `pg_id` is which group. The data are cut after those and the open list and
dict closed, which makes a whole pickle of a few kilobytes. 1,024 heads take half a second.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, Callable

from frtui.load.assemble import Interned, assemble
from frtui.load.decode import whole_pickle
from frtui.load.discover import Listing
from frtui.load.errors import Cancelled, Unusable
from frtui.load.found import Found
from frtui.load.normalise import Dump, head
from frtui.model import Job
from frtui.regular import open_regular

_FIRST, _MOST = 1 << 13, 1 << 17
"""Bytes that are read of a file; more where its head is longer."""
_ENTRIES = 6
"""Groups that a rank has called by its sixth entry are nearly all that matter."""
# How the list of entries begins.
_LIST = re.compile(rb"X\x07\0\0\0entries(?:q.|r.{4})?\]\(", re.DOTALL)
_KEY = re.compile(rb"\}\(X(.)\0\0\0", re.DOTALL)
"""How the first entry begins: with a key that is written out and put into the memo."""
_PUT = re.compile(rb"q(.)|r(.{4})", re.DOTALL)
_CLOSED = b"eu."
"""The end of a list of entries, of a dump, and of a pickle."""


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
    return assemble(source, listing, files, dumps, Interned()) if dumps else None


def _head(file: Found) -> Dump | None:
    if file.compressed or file.ring or file.offset:
        return None
    size = _FIRST
    while size <= _MOST:
        raw = _leading(file.path, size)
        if raw is not None:
            return _trusted(raw, size)
        size *= 4
    return None


def _leading(path: str, size: int) -> dict[str, Any] | None:
    """The dump with its first entries; None where so many bytes of its file don't hold those."""
    try:
        with open_regular(path) as stream:
            data = stream.read(size)
        found = _LIST.search(data) if data[:4] == b"\x80\2}(" else None
        end = max(_ends(data, found.end()), default=0) if found else 0
        raw = whole_pickle(data[:end] + _CLOSED if end else data) if end or len(data) < size else None
    except (OSError, Unusable):
        return None
    return raw if isinstance(raw, dict) and isinstance(raw.get("entries"), list) else None


def _ends(data: bytes, start: int) -> Iterator[int]:
    """Where the first entries end: before one that begins with the same key, fetched from the memo."""
    key = _KEY.match(data, start)
    put = _PUT.match(data, key.end() + key.group(1)[0]) if key else None
    if put is None:
        return iter(())
    fetched = b"h" + put.group(1) if put.group(1) else b"j" + put.group(2)
    return (match.start() + 1 for match in islice(re.finditer(re.escape(b"u}(" + fetched), data), _ENTRIES))


def _trusted(raw: dict[str, Any], size: int) -> Dump | None:
    try:
        dump, backends = head(raw, size)
    except Exception:  # as `read` does; all of the file is read then, and what is wrong with it said
        return None
    counts = bool(dump.status) and bool(backends) and not backends & {"", "gloo"}
    return dump if counts and not dump.malformed else None
