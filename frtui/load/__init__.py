"""Files -> Job."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Callable, NamedTuple

from frtui.load.assemble import Interned, assemble
from frtui.load.discover import Listing, discover
from frtui.load.errors import Cancelled, LoadError
from frtui.load.found import Found
from frtui.load.normalise import Dump
from frtui.load.read import Result, read_all
from frtui.load.same_run import outdated, replace_outdated, take_out_old_rings, take_out_other_sizes
from frtui.model import Job, Problem
from frtui.text import clean

if TYPE_CHECKING:
    from concurrent.futures import Executor

__all__ = ["Cancelled", "Listing", "LoadError", "Progress", "find", "load", "load_heads"]

WORTH = 24 << 20
"""Bytes of dumps below which starting processes takes longer than they save."""

_WHERE = """\
PyTorch writes one dump per rank when a collective times out, if the recorder is on:
  torch 2.11 and newer: on by default
  torch 2.8 to 2.10:    TORCH_FR_BUFFER_SIZE=2000
  torch 2.2 to 2.7:     TORCH_NCCL_TRACE_BUFFER_SIZE=2000, before 2.7 also TORCH_NCCL_DUMP_ON_TIMEOUT=1
Files go to TORCH_FR_DUMP_TEMP_FILE (before 2.8: TORCH_NCCL_DEBUG_INFO_TEMP_FILE) plus the rank, by default
  torch 2.9 and newer:  ~/.cache/torch/comm_lib_trace_rank_ (from 2.11 $XDG_CACHE_HOME/torch/... if that is set)
  torch 2.7 and 2.8:    ~/.cache/torch/nccl_trace_rank_
  torch 2.2 to 2.6:     /tmp/nccl_trace_rank_
on each rank's own host: copy them into one folder.
The recorder that comes with frtui begins with the first process group: of a rank that ends before, see the log."""


class Progress(NamedTuple):
    """How far loading is, reported after every file."""

    files_done: int
    files_total: int
    bytes_done: int
    bytes_total: int
    rank: int | None
    """The rank just read; None when its file gave nothing."""
    entries: int
    """Entries of that rank."""


def load(
    source: str | Path,
    *,
    prefix: str | None = None,
    attempt: str | None = None,
    progress: Callable[[Progress], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
    executor: Executor | None = None,
    listing: Listing | None = None,
) -> Job:
    """Read every dump in `source`: a folder, one dump, or a tar archive of either.

    `prefix` keeps only files whose names have it before the rank; `attempt` picks one of several sub-folders that hold
    the same ranks (default: the newest). Files that can't be read are listed in `Job.problems`. `executor` runs what
    is done for each file (default: processes on this machine, where the files are large enough for them to pay).
    `listing`: what `find` gave for this source.

    Raises LoadError when nothing could be read, Cancelled when `cancelled()` was true between two files.
    """
    listing = listing or find(source, prefix, attempt, cancelled)
    collecting = gc.isenabled()
    gc.disable()  # millions of short-lived containers, none in cycles: collecting doubles the time
    try:
        with _executor(listing, executor) as pool:
            job, problems = _read_all(str(source), listing, progress, cancelled, pool)
    finally:
        if collecting:
            gc.enable()
    job.problems = tuple(problems)
    if not job.ranks:
        raise LoadError(_nothing_in(clean(str(source)), listing, problems), job.problems)
    return job


def find(
    source: str | Path,
    prefix: str | None = None,
    attempt: str | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> Listing:
    """Which files of `source` are dumps. Raises Cancelled, and LoadError where it can't be listed."""
    try:
        return discover(Path(source), prefix, attempt, cancelled)
    except KeyError as error:
        known = ", ".join(error.args[0])
        raise LoadError(f"{clean(str(source))} holds no attempt {attempt!r}; there are: {known or 'none'}") from None
    except OSError as error:
        raise LoadError(clean(f"cannot read {source}: {error.strerror or error}")) from None


def load_heads(
    source: str | Path,
    *,
    prefix: str | None = None,
    attempt: str | None = None,
    cancelled: Callable[[], bool] | None = None,
    least: int = 0,
) -> Job | None:
    """The groups and how far each rank got, without entries, in a moment; None where all must be read to know it.

    `least`: None, too, where the files have fewer bytes than this.

    Raises LoadError when there is nothing to read, and Cancelled.
    """
    from frtui.load.heads import heads

    listing = find(source, prefix, attempt, cancelled)
    if not listing.files:
        raise LoadError(_nothing_in(clean(str(source)), listing, list(listing.problems)), listing.problems)
    if sum(file.size for file in listing.files) < least:
        return None
    return heads(str(source), listing, cancelled)


@contextlib.contextmanager
def _executor(listing: Listing, given: Executor | None) -> Iterator[Executor | None]:
    """`given`, or processes of our own; None where reading here is as quick, or none can be started."""
    if given is not None or len(listing.files) < 2 or sum(file.size for file in listing.files) < WORTH:
        yield given
        return
    from frtui.load import workers  # not for small folders: what it imports takes as long as reading some of them

    workers.hand_back_memory()
    number = min(workers.count(), len(listing.files))
    try:
        own = workers.Workers(number) if number > 1 else None
    except OSError:
        own = None
    if own is None:
        yield None
        return
    whole = False
    try:
        yield own
        whole = True
    finally:
        own.shutdown(cancel_futures=not whole)


def _read_all(
    source: str,
    listing: Listing,
    progress: Callable[[Progress], None] | None,
    cancelled: Callable[[], bool] | None,
    executor: Executor | None,
) -> tuple[Job, list[Problem]]:
    problems = list(listing.problems)
    dumps: dict[int, Dump] = {}
    files: dict[int, Found] = {}
    interned = Interned()
    total = sum(file.size for file in listing.files)
    done = 0
    for n, (file, result) in enumerate(_results(listing, executor), 1):
        if cancelled is not None and cancelled():
            raise Cancelled
        problems += result.problems
        if result.dump is not None:
            interned.take(result.dump)
            dumps[file.rank], files[file.rank] = result.dump, file
        done += file.size
        if progress is not None:
            progress(_progress(n, max(n, len(listing.files)), done, max(done, total), result))
    old = _replace_old_dumps(listing, dumps, files, interned)
    old += take_out_other_sizes(dumps, files) + take_out_old_rings(dumps, files)
    problems = [_with_stand_in(problem, files) for problem in problems] + old
    return assemble(source, listing, files, dumps, interned), problems


def _results(listing: Listing, executor: Executor | None) -> Iterator[tuple[Found, Result]]:
    """Every file, and then the rings of ranks whose dumps gave nothing."""
    failed = set()
    for file, result in read_all(listing.files, executor):
        failed |= {file.rank} if result.dump is None else set()
        yield file, result
    yield from read_all(spare for spare in listing.spares if spare.rank in failed)


def _replace_old_dumps(
    listing: Listing, dumps: dict[int, Dump], files: dict[int, Found], interned: Interned
) -> list[Problem]:
    """Put the ring of this run in the place of a dump that an earlier run left under the same name."""
    problems = []
    late = outdated(dumps, files)
    for file, result in read_all(spare for spare in listing.spares if spare.rank in late):
        rank, ring = file.rank, result.dump
        problem = replace_outdated(dumps[rank], files[rank], ring, file) if ring is not None else None
        if ring is not None and problem is not None:
            interned.take(ring)
            dumps[rank], files[rank] = ring, file
            problems += [problem, *result.problems]
    return problems


def _with_stand_in(problem: Problem, files: dict[int, Found]) -> Problem:
    """Of a dump that could not be read, in whose place a ring was."""
    file = files.get(problem.rank) if problem.rank is not None else None
    if file is None or not file.ring or clean(file.name) == problem.file:
        return problem
    return problem._replace(detail=f"{problem.detail}; {clean(file.name)} was read in its place")


def _progress(n: int, files: int, done: int, total: int, result: Result) -> Progress:
    if result.dump is None:
        return Progress(n, files, done, total, None, 0)
    return Progress(n, files, done, total, result.rank, len(result.dump.entries))


def _nothing_in(source: str, listing: Listing, problems: list[Problem]) -> str:
    if listing.files:
        first = next((p for p in problems if p.problem not in ("skipped", "duplicate", "malformed")), problems[0])
        lead = f"none of {len(listing.files)} files in {source} could be read as a dump; {first.file}: {first.detail}"
    else:
        lead = f"no flight recorder dump in {source}"
    return f"{lead}\n{_WHERE}"
