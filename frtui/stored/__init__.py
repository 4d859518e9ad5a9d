"""Opens a job: from the index that `frtui index` left beside the dumps, or else from the dumps themselves."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, NamedTuple

from frtui import __version__
from frtui.load import Listing, Progress, find, load, rings
from frtui.load.found import Found
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
            found, findings = file.read(path, _stamp(listing, prefix), sum(dump.size for dump in listing.files))
            found.source = clean(str(source))  # it may have been moved
            return Opened(found, findings)
        except file.Stale as stale:
            if _answers(stale.stamp, prefix, attempt):
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
    read = [_as_it_is(file, rings.RECORDS) for file in listing.files]
    spare = [_as_it_is(file, rings.HEADER) for file in listing.spares]
    return [__version__, prefix, listing.attempt, listing.attempts, read, spare, listing.problems]


def _as_it_is(file: Found, most: int) -> list[Any]:
    """`most`: bytes of a ring to look at. What is in an archive doesn't change alone."""
    ring = rings.state(file.path, most) if file.ring and not file.offset else 0
    return [file.name, file.rank, file.size, file.mtime_ns, file.offset, ring]


def _answers(stamp: Any, prefix: str | None, attempt: str | None) -> bool:
    """Whether an index with that stamp would be the one to use, were it of the dumps that there are."""
    _, of_prefix, of_attempt, *_ = stamp if isinstance(stamp, list) and len(stamp) > 2 else (None, None, None)
    return of_prefix == prefix and attempt in (None, of_attempt)
