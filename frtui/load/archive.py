"""Dumps inside a tar archive, read where they lie: nothing is extracted."""

from __future__ import annotations

import os
import tarfile
import zlib

from frtui.load import names
from frtui.load.found import Found
from frtui.model import Problem
from frtui.text import clean

MAX_RATIO = 200
"""Bytes that a compressed byte may become. Dumps reach about 60; a bomb about 1,000."""

_SUFFIXES = (".tar", ".tar.gz", ".tgz")
_BROKEN = (tarfile.TarError, OSError, EOFError, zlib.error, ValueError)


def is_archive(path: str, size: int) -> bool:
    """By name; an archive that is named like a dump is left to the decoder, which refuses it."""
    return path.lower().endswith(_SUFFIXES) and size > 0


def members(path: str, name: str, info: os.stat_result, prefix: str | None, problems: list[Problem]) -> list[Found]:
    """The dumps in the archive at `path`. What is broken or not a dump goes to `problems`."""
    files: list[Found] = []
    compressed = not path.lower().endswith(".tar")
    limit = info.st_size * (MAX_RATIO if compressed else 1) + (1 << 20)
    try:
        with tarfile.open(path, "r:gz" if compressed else "r:") as tar:
            for member in tar:
                if member.offset_data > limit:
                    problems.append(Problem(clean(name), None, "refused", "claims more data than it can hold"))
                    break
                found = _member(member, path, name, prefix, compressed)
                if isinstance(found, Problem):
                    problems.append(found)
                elif found is not None:
                    files.append(found)
    except _BROKEN as error:
        word = "truncated" if files else "unreadable"
        problems.append(Problem(clean(name), None, word, clean(f"the archive breaks off: {error}")))
    return files


def _member(
    member: tarfile.TarInfo, path: str, name: str, prefix: str | None, compressed: bool
) -> Found | Problem | None:
    inner = os.path.normpath(member.name).lstrip("/")
    shown = f"{name}/{inner}"
    if member.isdir():
        return None
    folder, _, base = inner.rpartition("/")
    # A sparse member may claim any size and a link has no data: torch writes plain files.
    plain = member.type in (tarfile.REGTYPE, tarfile.AREGTYPE) and not member.issparse()
    parsed = names.parse(base, prefix) if plain and not names.never_a_dump(base) else None
    if parsed is None:
        return Problem(clean(shown), None, "skipped", "not a dump by its name or kind")
    outer = name.rpartition("/")[0]
    inside = "/".join(part for part in (outer, folder) if part)
    mtime = int(member.mtime * 1e9) if 0 < member.mtime < 1 << 33 else 0
    return Found(path, shown, parsed.rank, parsed.host, inside, mtime, member.offset_data, member.size, compressed)
