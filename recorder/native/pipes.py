"""NCCL's dump pipe: make ranks on this host write their dumps now, from outside and without a signal.

With TORCH_NCCL_DEBUG_INFO_PIPE_FILE and a buffer, NCCL's first process group makes the FIFO `<value><rank>.pipe`, and
its monitor thread looks into it every TORCH_NCCL_COORD_CHECK_MILSEC (1 s): any byte makes it dump as on a timeout, and
the job goes on (`DumpPipe` in torch's ProcessGroupNCCL.cpp; TORCH_NCCL_TRACE_BUFFER_SIZE has to be set by that name).
XPU's and Ascend's back ends do the same. Nobody reads the pipe of a rank that died, and opening it would wait for
ever, so it is opened without waiting. NCCL itself has not been run with this, for want of GPUs.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple, Optional, Union

from recorder.setup import settings

Path = Union[str, "os.PathLike[str]"]
Stamp = Optional[tuple[int, int, int]]
"""(inode, size, mtime) of a dump; None where there is none."""

DUMPED, SILENT, NO_READER, NO_PIPE, REFUSED = "dumped", "silent", "no reader", "no pipe", "refused"
POLL_S = 0.05

_RELEASES = ((2, 11), (2, 9), (2, 7), (2, 2))
"""Each writes elsewhere than the one before it."""


class Reply(NamedTuple):
    """What became of one rank."""

    rank: int
    state: str
    """One of DUMPED, SILENT, NO_READER, NO_PIPE, REFUSED."""
    detail: str
    """The dump, or the reason why there is none."""


def trigger(
    pipes: Path,
    ranks: Collection[int] | None = None,
    timeout: float = 5.0,
    *,
    dumps: Sequence[str] | None = None,
    progress: Callable[[Reply], object] = lambda reply: None,
) -> list[Reply]:
    """Ask ranks for their dumps and wait until these are written whole; a reply for each rank, by rank.

    `pipes` is the prefix of the pipes or their folder; `ranks` are all that have one there, unless given. `dumps` are
    the prefixes under which torch may write (`stems` names those of this environment). `progress` is called with each
    reply as soon as it is known. Never waits longer than `timeout` seconds; raises OSError when the folder can't be
    listed.
    """
    replies: list[Reply] = []

    def tell(reply: Reply) -> None:
        replies.append(reply)
        progress(reply)

    waiting: dict[int, dict[str, Stamp]] = {}
    for rank, (pipe, stem) in sorted(_pipes(pipes, ranks).items()):
        # Many jobs give the dumps the pipes' prefix.
        files = [f"{prefix}{rank}" for prefix in ([stem, *stems(os.environ)] if dumps is None else dumps)]
        before = {file: _stamp(file) for file in dict.fromkeys(files)}
        refused = _ask(rank, pipe)
        if refused:
            tell(refused)
        else:
            waiting[rank] = before
    for reply in _wait(waiting, timeout):
        tell(reply)
    return sorted(replies)


def stems(environment: Mapping[str, str]) -> list[str]:
    """Where the ranks may write, if their environment is like `environment`: torch's variables, or else its defaults.

    The release that runs in the job isn't known here, so the defaults of all of them are named.
    """
    names = [name.text for name in settings.BY_KEY["dump_prefix"].names]
    given = [environment[name] for name in names if environment.get(name)]
    return given or [settings.default_prefix(release, environment) for release in _RELEASES]


def _pipes(pipes: Path, ranks: Collection[int] | None) -> dict[int, tuple[str, str]]:
    """By rank: the pipe, whether it is there or not, and its prefix. Of two in a folder the last by name counts."""
    given = os.fspath(pipes)
    inside = os.path.isdir(given)
    folder, start = (given, "") if inside else os.path.split(given)
    # In a folder the prefix is all before the last number; a given one may end in a digit itself.
    pattern = re.compile(r"(.*?)(\d+)\.pipe" if inside else rf"({re.escape(start)})(\d+)\.pipe", re.DOTALL)
    found: dict[int, tuple[str, str]] = {}
    for name in sorted(os.listdir(folder or ".")):
        if parts := pattern.fullmatch(name):
            found[int(parts.group(2))] = os.path.join(folder, name), os.path.join(folder, parts.group(1))
    if ranks is None:
        return found
    return {rank: found.get(rank, (os.path.join(folder, f"{start}{rank}.pipe"), given)) for rank in ranks}


def _ask(rank: int, pipe: str) -> Reply | None:
    """Put one byte into `pipe`; the reply when that can't be done."""
    try:
        descriptor = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        return _refusal(rank, pipe, error)
    try:
        if not stat.S_ISFIFO(os.fstat(descriptor).st_mode):
            return Reply(rank, REFUSED, f"{pipe} is no pipe; nothing was written")
        os.write(descriptor, b"1")
    except OSError as error:
        return _refusal(rank, pipe, error)
    finally:
        os.close(descriptor)
    return None


def _refusal(rank: int, pipe: str, error: OSError) -> Reply:
    if error.errno in (errno.ENXIO, errno.EPIPE):
        return Reply(rank, NO_READER, f"no process reads {pipe}: the rank has ended, or is of an earlier job")
    if error.errno == errno.ENOENT:
        return Reply(rank, NO_PIPE, f"there is no {pipe}: another host's rank, or the pipe is off")
    if error.errno == errno.EAGAIN:
        return Reply(rank, REFUSED, f"{pipe} is full: its process is there but no longer reads it")
    return Reply(rank, REFUSED, f"{pipe}: {error.strerror}")


def _wait(waiting: dict[int, dict[str, Stamp]], timeout: float) -> Iterator[Reply]:
    """A reply for each rank as its dump comes, and for the rest once the time is over."""
    deadline = time.monotonic() + timeout
    seen: dict[str, Stamp] = {}
    left = dict(waiting)
    while left and time.monotonic() < deadline:
        time.sleep(POLL_S)
        for rank, before in waiting.items():
            stamps = {file: _stamp(file) for file in before}
            # torch writes in place: a file is whole once it no longer grows and ends as a pickle does.
            whole = [f for f, s in stamps.items() if s != before[f] and s == seen.get(f) and _ends(f)]
            if whole and rank in left:
                del left[rank]
                yield Reply(rank, DUMPED, whole[0])
            seen.update(stamps)
    for rank, before in left.items():
        begun = [file for file, old in before.items() if _stamp(file) != old]
        why = f"{begun[0]} is not whole" if begun else f"nothing came as {' or '.join(before)}"
        yield Reply(rank, SILENT, f"asked, but after {timeout:g} s {why}")


def _stamp(path: str) -> Stamp:
    try:
        info = os.stat(path)
    except OSError:
        return None
    return info.st_ino, info.st_size, info.st_mtime_ns


def _ends(path: str) -> bool:
    """True when the file ends with the last byte of a pickle."""
    with suppress(OSError), open(path, "rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"."
    return False
