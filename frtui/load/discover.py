"""Which files of a folder are dumps, of which rank, from which host, of which attempt.

Only regular files are opened, and few of them: torch makes FIFOs beside the dumps, and opening one waits for ever.
"""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Callable, NamedTuple

from frtui.load import archive, attempts, names
from frtui.load import read as reading
from frtui.load.errors import Cancelled
from frtui.load.found import Found
from frtui.model import Problem
from frtui.text import clean

MAX_DEPTH = 6
"""Folders below the source: job/attempt/node/... is deep; a home directory is deeper."""


class Listing(NamedTuple):
    files: tuple[Found, ...]
    """One a rank, by rank."""
    problems: tuple[Problem, ...]
    attempts: tuple[str, ...]
    """Oldest first; empty when no rank occurs twice."""
    attempt: str
    spares: tuple[Found, ...] = ()
    """The recorder's rings of ranks that have a dump: for when it can't be read."""


class _Candidate(NamedTuple):
    path: str
    name: str
    """Relative to the source, `/` between parts."""
    info: os.stat_result


def discover(
    source: Path, prefix: str | None, attempt: str | None, cancelled: Callable[[], bool] | None = None
) -> Listing:
    """List the dumps under `source` (a folder, a dump, or a tar archive).

    Raises OSError when `source` cannot be listed, `Cancelled`, and KeyError(names) for an unknown `attempt`.
    """
    problems: list[Problem] = []
    files: list[Found] = []
    alone = source.is_file()
    for candidate in _candidates(source, problems):
        if cancelled is not None and cancelled():
            raise Cancelled
        if archive.is_archive(candidate.path, candidate.info.st_size):
            files += archive.members(candidate.path, candidate.name, candidate.info, prefix, problems)
        else:
            _sort_in(candidate, prefix, alone, files, problems)
    chosen = attempts.choose(_without_impostors(files, problems), attempt)
    kept, spares = attempts.with_rings(chosen.files, problems)
    return Listing(tuple(kept), tuple(problems), chosen.names, chosen.name, tuple(spares))


def _candidates(source: Path, problems: list[Problem]) -> Iterator[_Candidate]:
    if source.is_dir():
        yield from _walk(str(source), "", set(), problems)
        return
    info = os.stat(source)
    if not stat.S_ISREG(info.st_mode):
        raise OSError(f"{source} is neither a folder nor a regular file")
    yield _Candidate(str(source), source.name, info)


def _walk(folder: str, inside: str, seen: set[tuple[int, int]], problems: list[Problem]) -> Iterator[_Candidate]:
    """Regular files below `folder`, in name order; links are followed, each folder is visited once."""
    here = os.stat(folder)
    if (here.st_dev, here.st_ino) in seen:
        return
    seen.add((here.st_dev, here.st_ino))
    for name in sorted(os.listdir(folder)):
        path, relative = os.path.join(folder, name), inside + name
        try:
            info = os.stat(path)
            if stat.S_ISDIR(info.st_mode):
                if not name.startswith(".") and inside.count("/") < MAX_DEPTH:
                    yield from _walk(path, relative + "/", seen, problems)
                continue
        except OSError as error:
            problems.append(Problem(clean(relative), None, "unreadable", clean(f"{error.strerror}; skipped")))
            continue
        if names.our_own(name):
            continue
        if stat.S_ISREG(info.st_mode):
            yield _Candidate(path, relative, info)
        else:
            problems.append(Problem(clean(relative), None, "skipped", "a FIFO, socket or device; never opened"))


def _sort_in(
    candidate: _Candidate, prefix: str | None, alone: bool, files: list[Found], problems: list[Problem]
) -> None:
    """Put one file under `files`, or say why not. The only file that was asked for is always tried."""
    folder, _, base = candidate.name.rpartition("/")
    name = None if names.never_a_dump(base) and not alone else names.parse(base, prefix)
    if alone:
        name = name or names.parse(base)
    if name is None and alone:
        name = names.Name(0, "")
        problems.append(Problem(clean(base), 0, "malformed", "the file name holds no rank; taken as rank 0"))
    if name is None:
        problems.append(Problem(clean(candidate.name), None, "skipped", _why_skipped(base, prefix)))
        return
    files.append(_found(candidate, folder, name))


def _found(candidate: _Candidate, folder: str, name: names.Name) -> Found:
    path, shown, info = candidate
    folder = names.home(folder) if name.ring else folder
    return Found(path, shown, name.rank, name.host, folder, info.st_mtime_ns, 0, info.st_size, ring=name.ring)


def _without_impostors(files: list[Found], problems: list[Problem]) -> list[Found]:
    """Drop what only looks like a rank's dump (`log.1`) where its folder holds another file for that rank."""
    copies = Counter((f.folder, f.rank) for f in files if not f.ring)
    kept = []
    for file in files:
        reason = reading.no_dump(file) if not file.ring and copies[file.folder, file.rank] > 1 else ""
        if reason:
            problems.append(Problem(clean(file.name), None, "not-a-dump", reason))
        else:
            kept.append(file)
    return kept


def _why_skipped(base: str, prefix: str | None) -> str:
    if names.never_a_dump(base):
        return "not a dump by its name; not opened"
    if prefix is not None and prefix not in base:
        return f"does not hold {clean(prefix)!r}"
    return "no rank in its name; rename it to end in its rank"
