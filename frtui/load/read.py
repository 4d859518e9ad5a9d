"""One file -> one rank's columns: the work that a process pool may do."""

from __future__ import annotations

import contextlib
import gzip
import itertools
import zlib
from collections import deque
from collections.abc import Iterable, Iterator
from typing import IO, TYPE_CHECKING, NamedTuple, cast

from frtui.load import rings, tiles
from frtui.load.decode import MAX_BYTES, check_start, interpret, unpack
from frtui.load.errors import Odd, Unusable
from frtui.load.found import Found
from frtui.load.normalise import NEWEST, Dump, newer, normalise
from frtui.model import NONE, Problem
from frtui.regular import NotRegular, open_regular
from frtui.text import clean

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future

AHEAD = 24
"""Files that are being read, or wait for those before them."""


class Result(NamedTuple):
    rank: int
    dump: Dump | None
    """None when the file gave nothing."""
    problems: list[Problem]


def read(file: Found, archive: IO[bytes] | None = None) -> Result:
    """Read, decode and normalise one dump. Never raises for what the file holds.

    `archive`: the unpacked stream of a compressed archive, for members in the order of their offsets.
    """
    name = clean(file.name)
    dump, cut = None, ""
    try:
        data = content(file, archive)
        data, ends = unpack(data)
        dump = None if ends else _as_tiles(data)
        if dump is None:
            fault = rings.fault_beside(file.path, file.rank) if file.ring and not file.offset else ""
            raw, cut, size = interpret(data, ends, fault)
            del data  # as large as the file, and what was made of it is larger
            dump = normalise(raw, size)
        dump.truncated = bool(cut)
        if cut and not (len(dump.entries) or dump.status):
            dump = None
    except Unusable as error:
        if not cut:
            return Result(file.rank, None, [Problem(name, file.rank, error.problem, clean(error.detail))])
    except (OSError, EOFError, zlib.error) as error:
        detail = clean(f"{getattr(error, 'strerror', None) or error}")
        return Result(file.rank, None, [Problem(name, file.rank, "unreadable", detail)])
    except Exception as error:  # a file that nobody thought of must not take the others with it
        detail = clean(f"frtui fails on it, which is a fault in frtui: {type(error).__name__}: {str(error)[:200]}")
        return Result(file.rank, None, [Problem(name, file.rank, "refused", detail)])
    return Result(file.rank, dump, _cut(file.rank, name, dump, cut) + _notes(file.rank, name, dump))


def _as_tiles(data: bytes) -> Dump | None:
    """The dump in `data`, the fast way; None where that can't tell, and the general one decides."""
    try:
        return normalise(tiles.read(data), len(data))
    except Odd:
        return None


def content(file: Found, archive: IO[bytes] | None = None) -> bytes:
    """The bytes of a dump. Raises OSError, and Unusable when the first of them, or their number, say no."""
    if file.size > MAX_BYTES:
        raise Unusable("refused", f"{file.size:,} bytes; dumps of up to {MAX_BYTES:,} are read")
    if file.compressed:
        if archive is None:
            raise OSError(f"cannot open {file.path}")
        return _read_from(archive, file)
    try:
        with open_regular(file.path) as stream:
            return _read_from(stream, file)
    except NotRegular as error:
        raise Unusable("skipped", str(error)) from None


def _read_from(stream: IO[bytes], file: Found) -> bytes:
    stream.seek(file.offset)
    head = stream.read(min(512, file.size))
    check_start(head)
    if file.size <= 512:
        return head
    stream.seek(file.offset)  # rather than join: a dump may be as large as half of the memory
    return stream.read(file.size)


def no_dump(file: Found) -> str:
    """Why the first bytes of `file` can't be a dump's; empty when they can. Members of archives pass."""
    try:
        if not file.compressed:
            content(file._replace(size=min(file.size, 512)))
    except Unusable as error:
        return error.detail
    except OSError as error:
        return clean(str(error.strerror or error))
    return ""


def read_all(files: Iterable[Found], executor: Executor | None = None) -> Iterator[tuple[Found, Result]]:
    """Read each file, in the processes of `executor` where there is one; yields them in a fixed order.

    Compressed archives, which can only be read forwards, are read here, once and in their order.
    """
    order = sorted(files, key=lambda f: (f.compressed, f.path if f.compressed else "", f.offset, f.rank))
    if executor is not None:
        yield from _read_with(executor, [file for file in order if not file.compressed])
        order = [file for file in order if file.compressed]
    for path, group in itertools.groupby(order, lambda f: f.path if f.compressed else ""):
        with contextlib.ExitStack() as stack:
            archive = None
            if path:
                with contextlib.suppress(OSError):
                    archive = stack.enter_context(gzip.open(path, "rb"))
            for file in group:
                yield file, read(file, cast("IO[bytes] | None", archive))


def _read_with(executor: Executor, files: list[Found]) -> Iterator[tuple[Found, Result]]:
    """So many at once that no process waits, and no more: what was read lies in memory until it is yielded."""
    waiting: deque[tuple[Found, Future[Result]]] = deque()
    for file in files:
        waiting.append((file, executor.submit(read, file)))
        if len(waiting) > AHEAD:
            yield _done(*waiting.popleft())
    while waiting:
        yield _done(*waiting.popleft())


def _done(file: Found, future: Future[Result]) -> tuple[Found, Result]:
    try:
        return file, future.result()
    except Exception as error:  # of the process or the way to it: what the file holds is in the result
        detail = clean(f"not read: {type(error).__name__}: {str(error)[:200]}")
        return file, Result(file.rank, None, [Problem(clean(file.name), file.rank, "unreadable", detail)])


def _cut(rank: int, name: str, dump: Dump | None, cut: str) -> list[Problem]:
    if not cut:
        return []
    count = len(dump.entries) if dump is not None else 0
    detail = f"{cut}; {count} leading entries recovered, the newest are missing"
    return [Problem(name, rank, "truncated", clean(detail), count)]


def _notes(rank: int, name: str, dump: Dump | None) -> list[Problem]:
    """What the user should know about a dump that was read."""
    problems: list[Problem] = []
    if dump is None:
        return problems
    if dump.malformed:
        detail = f"{dump.malformed} values or entries could not be used, the first: {dump.reason}"
        problems.append(Problem(name, rank, "malformed", detail))
    if dump.recorded.rank not in (NONE, rank):
        told = f"taken as rank {rank} by its name, but it was recorded by rank {dump.recorded.rank}"
        problems.append(Problem(name, rank, "malformed", told))
    if not len(dump.entries) and not dump.truncated and not dump.recorded.by:
        problems.append(Problem(name, rank, "no-entries", "recorded nothing; only pg_status speaks for this rank"))
    if newer(dump.version):
        known = ".".join(map(str, NEWEST))
        detail = f"version {dump.version} is newer than {known}, the newest known; read as far as it is alike"
        problems.append(Problem(name, rank, "newer-version", detail))
    return problems
