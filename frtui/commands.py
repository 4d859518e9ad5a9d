"""What each command does. stdout is data, stderr is narration."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from frtui.exits import HANG, NO_HANG, UNREADABLE, USAGE
from frtui.regular import replaced
from frtui.text import clean

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from frtui.load import Progress
    from frtui.stored import Opened


class Failed(Exception):
    """Told in one line; `code` is the exit code."""

    def __init__(self, message: str, code: int = UNREADABLE) -> None:
        super().__init__(message)
        self.code = code


def run(options: argparse.Namespace) -> int:
    command = {
        "screen": screen,
        "report": report,
        "entries": entries,
        "export": export,
        "compare": compare,
        "demo": demo,
        "index": index,
        "env": env,
        "doctor": doctor,
    }[options.command]
    try:
        return command(options)
    except Failed as error:
        print(f"frtui: {error}", file=sys.stderr)
        return error.code


def screen(options: argparse.Namespace) -> int:
    reason = _no_screen()
    if reason:
        print(f"frtui: {reason}, so this is the text report", file=sys.stderr)
        whole = {"format": "text", "finding": None, "quick": False, "output": None}
        return report(argparse.Namespace(**{**vars(options), **whole}))
    from frtui import tui

    return tui.run(
        options.dir,
        prefix=options.prefix,
        attempt=options.attempt,
        watch=options.watch,
        mouse=not options.no_mouse,
        ascii=options.ascii,
        debug=options.debug,
    )


def demo(options: argparse.Namespace) -> int:
    from frtui.demo import ABOUT, folder

    if options.list:
        _write(None, [f"{name:10}{about}\n".encode() for name, about in ABOUT.items()])
        return NO_HANG
    if options.name not in ABOUT:
        raise Failed(f"no demo is called {clean(options.name)}; there are: {', '.join(ABOUT)}", USAGE)
    with folder(options.name) as path:
        return screen(argparse.Namespace(**{**vars(options), "dir": path, "watch": False}))


def report(options: argparse.Namespace) -> int:
    from frtui.engine import diagnose
    from frtui.report import found_hang, render

    if options.quick:
        return _quick(options)
    job, judged, _ = _open(options.dir, options)
    findings = diagnose(job) if judged is None else list(judged)
    only = None if options.finding is None else options.finding - 1
    if only is not None and not 0 <= only < len(findings):
        raise Failed(f"there is no finding {options.finding}; the job has {len(findings)}", USAGE)
    data = [render(job, findings, options.format, only)]
    as_ascii = options.ascii and options.format in ("text", "markdown")
    _write(options.output, _as_ascii(data) if as_ascii else data)
    return HANG if found_hang(findings) else NO_HANG


def _quick(options: argparse.Namespace) -> int:
    """Who is behind, before an entry is read. No verdict: a running job has ranks that are behind, too."""
    from frtui.engine.quick import quick, sentences
    from frtui.load import LoadError, load_heads

    if options.format != "text" or options.finding is not None:
        raise Failed("--quick knows no findings and prints text", USAGE)
    try:
        job = load_heads(options.dir, prefix=options.prefix, attempt=options.attempt)
    except LoadError as error:
        raise Failed(str(error)) from None
    if job is None:
        text = "PRELIMINARY: the heads of these files don't tell; read them whole\n"
    else:
        known = "\n".join(f"  {line}" for line in sentences(job, quick(job)) or ["nobody is behind: read them whole"])
        number = len(job.ranks)
        text = f"PRELIMINARY, from the heads of {number:,} file{'s' * (number > 1)}\n{known}\n"
    _write(options.output, _as_ascii([text.encode()]) if options.ascii else [text.encode()])
    return NO_HANG


def entries(options: argparse.Namespace) -> int:
    from frtui.entries import BadSelection, render

    job = _open(options.dir, options).job
    try:
        data = render(job, options.format, options.selected_ranks, options.pg_filters, options.stack)
    except BadSelection as error:
        raise Failed(str(error), USAGE) from None
    _write(options.output, _as_ascii(data) if options.ascii and options.format == "table" else data)
    return NO_HANG


def export(options: argparse.Namespace) -> int:
    from frtui.entries import BadSelection
    from frtui.export import Unavailable, render

    if options.output is None and sys.stdout.isatty():
        raise Failed("that is nothing for a terminal: -o FILE", USAGE)
    job = _open(options.dir, options).job
    try:
        data = render(job, options.format, options.selected_ranks, options.pg_filters)
    except (BadSelection, Unavailable) as error:
        raise Failed(str(error), USAGE) from None
    _write(options.output, _packed(data) if (options.output or "").endswith(".gz") else data)
    return NO_HANG


def _packed(chunks: Iterable[bytes]) -> Iterator[bytes]:
    import zlib

    packer = zlib.compressobj(wbits=31)  # gzip's own header
    for chunk in chunks:
        yield packer.compress(chunk)
    yield packer.flush()


def compare(options: argparse.Namespace) -> int:
    from frtui.engine import compare as snapshots
    from frtui.report import compare as told

    older, newer = (_open(source, options).job for source in (options.older, options.newer))
    try:
        compared = snapshots.compare(older, newer)
    except snapshots.NotOneJob as error:
        raise Failed(f"these can't be compared: {clean(str(error))}") from None
    data = [told.render(compared, options.format)]
    _write(options.output, _as_ascii(data) if options.ascii and options.format == "text" else data)
    return NO_HANG if told.moves(compared) else HANG


def env(options: argparse.Namespace) -> int:
    from recorder.setup import advice

    return _printed(advice.run, options)


def doctor(options: argparse.Namespace) -> int:
    from recorder.setup import doctor

    return _printed(doctor.run, options)


def _printed(run: Callable[[argparse.Namespace], int], options: argparse.Namespace) -> int:
    """`run` writes to stdout itself."""
    try:
        return run(options)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise Failed(f"cannot write to stdout: {error.strerror}") from None


def _no_screen() -> str:
    """Why no screen can be opened; empty where one can."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return "stdin and stdout are not both a terminal"
    return "TERM is dumb" if os.environ.get("TERM", "dumb") in ("dumb", "") else ""


def index(options: argparse.Namespace) -> int:
    from frtui import stored

    try:
        with _reading(options) as how:
            job, path, size = stored.write(options.dir, **how)
    except OSError as error:
        told = f"cannot write {stored.path_of(options.dir)}: {error.strerror or error}"
        raise Failed(clean(told)) from None
    held = f"{len(job.ranks):,} ranks, {job.n_entries:,} entries, {size / 1e6:,.1f} MB"
    print(f"wrote {clean(str(path))}: {held}", file=sys.stderr)
    return NO_HANG


def _open(source: str, options: argparse.Namespace) -> Opened:
    from frtui.stored import open_job

    with _reading(options) as how:
        opened = open_job(source, **how)
    if opened.note:
        print(f"frtui: {opened.note}", file=sys.stderr)
    return opened


@contextlib.contextmanager
def _reading(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """How a job is read: with which options, progress and executor."""
    from frtui.load import LoadError

    narrate = _narrate if sys.stderr.isatty() else None
    try:
        with _executor(options) as executor:
            yield {"prefix": options.prefix, "attempt": options.attempt, "progress": narrate, "executor": executor}
    except LoadError as error:
        raise Failed(str(error)) from None
    finally:
        if narrate:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _executor(options: argparse.Namespace) -> contextlib.AbstractContextManager[Executor | None]:
    """Where the files are read: on the cluster that was asked for, or as `load` sees fit."""
    if options.scheduler is None:
        return contextlib.nullcontext()
    from frtui.load.cluster import cluster

    return cluster(options.scheduler)


def _narrate(now: Progress) -> None:
    # Every file of a large job would be a thousand lines over a slow link.
    if now.files_done % max(1, now.files_total // 50) == 0:
        print(f"\r\x1b[Kreading {now.files_done} of {now.files_total} files", end="", file=sys.stderr, flush=True)


def _as_ascii(chunks: Iterable[bytes]) -> list[bytes]:
    from frtui.view.words import ascii_only

    return [ascii_only(chunk.decode()).encode() for chunk in chunks]


def _write(output: str | None, chunks: Iterable[bytes]) -> None:
    """To stdout, or as a whole to a file, so that nobody ever reads half a report."""
    path = Path(output) if output else None
    try:
        if path is None:
            _put(sys.stdout.fileno(), chunks)
        elif path.exists() and not path.is_file():  # /dev/stdout, a named pipe
            with open(path, "wb") as file:
                _put(file.fileno(), chunks)
        else:
            _replace(path, chunks)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise Failed(f"cannot write {clean(str(path or 'to stdout'))}: {error.strerror}") from None


def _put(handle: int, chunks: Iterable[bytes]) -> None:
    """Without Python's buffer, which would try again, and complain again, at exit."""
    for chunk in chunks:
        rest = memoryview(chunk)
        while rest:
            rest = rest[os.write(handle, rest) :]


def _replace(path: Path, chunks: Iterable[bytes]) -> None:
    """Writes beside `path` and renames, through a link to the file that it names."""
    path = path.resolve()
    with replaced(path) as file:
        file.writelines(chunks)
    print(f"wrote {clean(str(path))}", file=sys.stderr)
