"""Opens a job: from the index that `frtui index` left beside the dumps, or else from the dumps themselves."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, NamedTuple

from frtui import __version__
from frtui.load import Listing, Progress, find, load
from frtui.load.names import INDEX
from frtui.model import Job
from frtui.text import clean

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from frtui.engine.finding import Finding


class Opened(NamedTuple):
    job: Job
    findings: tuple[Finding, ...] | None
    """None: not judged yet."""
    note: str = ""
    """Why there is an index and it was not used."""


def path_of(source: str | Path) -> Path:
    """Where the index of a folder is, or of a dump or an archive."""
    source = Path(source)
    return source / INDEX if source.is_dir() else source.with_name(f"{source.name}.{INDEX}")


def open_job(
    source: str | Path,
    *,
    prefix: str | None = None,
    attempt: str | None = None,
    progress: Callable[[Progress], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
    executor: Executor | None = None,
) -> Opened:
    """As `load.load`, but from the index where there is one that still holds."""
    listing = find(source, prefix, attempt, cancelled)
    path, note = path_of(source), ""
    if path.exists():
        from frtui.stored import file, shapes

        try:
            found = file.read(path, _stamp(listing, prefix), sum(dump.size for dump in listing.files))
            if found is not None:
                return Opened(*found)
            note = f"{path.name} is of other dumps than there are now: they were read; `frtui index` makes it anew"
        except (OSError, shapes.Wrong) as error:
            note = f"{path.name} was not used: {getattr(error, 'strerror', None) or error}"
    job = load(source, listing=listing, progress=progress, cancelled=cancelled, executor=executor)
    return Opened(job, None, clean(note))


def write(
    source: str | Path,
    *,
    prefix: str | None = None,
    attempt: str | None = None,
    progress: Callable[[Progress], None] | None = None,
    executor: Executor | None = None,
) -> tuple[Job, Path, int]:
    """Read the dumps, judge them, and leave an index beside them. Returns the job, where it is, and its bytes.

    Raises LoadError, and OSError where it can't be written.
    """
    from frtui.engine import diagnose
    from frtui.stored import file

    listing = find(source, prefix, attempt)  # before they are read: what changes meanwhile makes it stale
    job = load(source, listing=listing, progress=progress, executor=executor)
    path = path_of(source)
    return job, path, file.write(path, _stamp(listing, prefix), job, tuple(diagnose(job)))


def _stamp(listing: Listing, prefix: str | None) -> list[Any]:
    """What the index was made of, and by which frtui, whose verdicts may be others."""
    files = [
        [file.name, file.rank, file.size, file.mtime_ns, file.offset] for file in (*listing.files, *listing.spares)
    ]
    return [__version__, prefix, listing.attempt, listing.attempts, files, listing.problems]
