"""Dumps inside a tar archive, read where they lie: nothing is extracted."""

from __future__ import annotations

import gzip
import os
import tarfile
from collections.abc import Iterator
from typing import IO, cast

from frtui.load import names
from frtui.load.found import Found
from frtui.load.limits import text
from frtui.model import Problem
from frtui.text import clean

MAX_RATIO = 200
"""Bytes that a compressed byte may become. Dumps reach about 60; a bomb about 1,000."""

MAX_MEMBERS = 100_000
_MAX_NAME = 255
_MAX_HEADER = 1 << 13
_SPARE = 1 << 18
# A ring is mostly empty space for what is still to come, which packs far better than MAX_RATIO.
_RING, _RINGS = 4 << 20, 2 << 30

_SUFFIXES = (".tar", ".tar.gz", ".tgz")


def is_archive(path: str, size: int) -> bool:
    """By name; an archive that is named like a dump is left to the decoder, which refuses it."""
    return path.lower().endswith(_SUFFIXES) and size > 0


def members(path: str, name: str, info: os.stat_result, prefix: str | None, problems: list[Problem]) -> list[Found]:
    """The dumps in the archive at `path`. What is broken or not a dump goes to `problems`."""
    files: list[Found] = []
    compressed = not path.lower().endswith(".tar")
    limit, rings = info.st_size * (MAX_RATIO if compressed else 1) + (1 << 20), 0
    try:
        with gzip.open(path, "rb") if compressed else open(path, "rb") as stream:
            for member in _headers(cast("IO[bytes]", stream)):
                rings += min(member.size, _RING) if compressed and member.name.endswith(".frr") else 0
                # Where a plain archive is cut, its last member still gives the beginning of a dump.
                if member.offset_data + (member.size if compressed else 0) > limit + min(rings, _RINGS):
                    raise _Refused("claims more data than it can hold")
                found = _member(member, path, name, prefix, compressed)
                if isinstance(found, Problem):
                    problems.append(found)
                elif found is not None:
                    files.append(found)
    except _Refused as error:
        problems.append(Problem(clean(name), None, "refused", str(error)))
    except Exception as error:  # a damaged archive makes tarfile raise almost anything
        word = "truncated" if files else "unreadable"
        problems.append(Problem(clean(name), None, word, text(f"the archive breaks off: {error}")))
    return files


class _Refused(Exception):
    """The archive is hostile, and is not read further."""


class _Careful:
    """An archive for `tarfile`, which by itself reads headers of any claimed length.

    Large ones may be few: older Pythons look through them in quadratic time.
    """

    def __init__(self, stream: IO[bytes]) -> None:
        self.seek, self.tell = stream.seek, stream.tell
        self._stream, self._spare = stream, _SPARE

    def read(self, size: int) -> bytes:
        self._spare -= size if size > 1024 else 0
        if not 0 <= size <= _MAX_HEADER or self._spare < 0:
            raise _Refused("a header of absurd length")
        return self._stream.read(size)


def _headers(stream: IO[bytes]) -> Iterator[tarfile.TarInfo]:
    """Every member, forwards; a negative size would lead `tarfile` back to where it was."""
    tar = tarfile.TarFile(fileobj=cast("IO[bytes]", _Careful(stream)))
    last = -1
    for left in range(MAX_MEMBERS, -1, -1):
        member = tar.next()
        tar.members = []  # type: ignore[attr-defined]  # it would keep them all
        if member is None:
            return
        if member.offset <= last or member.size < 0:
            raise _Refused("a member of negative size")
        if not left:
            raise _Refused(f"more than {MAX_MEMBERS:,} members")
        last = member.offset
        yield member


def _member(
    member: tarfile.TarInfo, path: str, name: str, prefix: str | None, compressed: bool
) -> Found | Problem | None:
    inner = os.path.normpath(member.name).lstrip("/")
    shown = f"{name}/{inner}"
    if member.isdir():
        return None
    folder, _, base = inner.rpartition("/")
    # A sparse member may claim any size and a link has no data: torch writes plain files.
    plain = member.type in (tarfile.REGTYPE, tarfile.AREGTYPE) and not member.issparse() and len(base) <= _MAX_NAME
    if names.our_own(base[: _MAX_NAME + 1]):
        return None
    parsed = names.parse(base, prefix) if plain and not names.never_a_dump(base) else None
    if parsed is None:
        return Problem(text(shown), None, "skipped", "not a dump by its name or kind")
    outer = name.rpartition("/")[0]
    inside = "/".join(part for part in (outer, names.home(folder) if parsed.ring else folder) if part)
    mtime = int(member.mtime * 1e9) if 0 < member.mtime < 1 << 33 else 0
    at, size = member.offset_data, member.size
    return Found(path, shown, parsed.rank, parsed.host, inside, mtime, at, size, compressed, parsed.ring)
