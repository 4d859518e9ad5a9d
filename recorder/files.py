"""Dumps on disk: written whole or not at all, and none at the cost of a richer one.

Several write the file of one rank: torch when a collective times out, the watch thread, an uncaught exception, and
whoever reads the ring after the process has died. The last of them often knows least (no stacks), so each new dump
is compared with what is there, and what would be lost goes to the sub-folder `recorder/`: `later1.r0.pkl~` is a poorer
dump of rank 0, `earlier1.r0.pkl~` one that was replaced. torch's analyzer opens every file whose name contains the
prefix, in sub-folders too (`components/loader.py` of `torch.distributed.flight_recorder`): no such name contains it.
"""

from __future__ import annotations

import errno
import io
import itertools
import os
import pickle
import re
import stat
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Union

from recorder.regular import open_regular
from recorder.richness import holds, is_poorer

__all__ = ["SIDE", "is_poorer", "loads", "write_atomically", "write_dump"]

Path = Union[str, "os.PathLike[str]"]

SIDE = "recorder"
"""The sub-folder for all that is no dump of the analyzer's."""
MAX_COMPARED = 256 << 20
"""Bytes of an old dump that a hung process still parses; a larger one is moved aside unread."""

_LOCK = threading.Lock()
_PATIENCE_S = 10.0


def loads(data: bytes) -> dict[str, Any]:
    """The dump in a pickle's bytes; nothing in it can run. Raises ValueError with the reason when it is none."""
    try:
        dump = _NoGlobals(io.BytesIO(data)).load()
    except Exception as error:  # damaged bytes make the C code raise almost anything
        raise ValueError(f"no dump: {type(error).__name__}: {str(error)[:80]}") from None
    if not isinstance(dump, dict):
        raise ValueError(f"no dump: a {type(dump).__name__}")
    return dump


class _NoGlobals(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> object:
        raise ValueError(f"names a global {module}.{name}, which can run code")


def write_dump(path: Path, dump: Mapping[str, Any]) -> str:
    """Write `dump` to `path`, or beside it when what is there is richer. Returns where it went.

    What it replaces is moved to the sub-folder when the new dump doesn't hold all of it. Raises OSError that names
    the path and the reason; then nothing is lost, and nothing half written is left.
    """
    path = os.fspath(path)
    temporary = _write_temporary(path, pickle.dumps(dict(dump), 2))
    with _removed_on_failure(temporary, path), _one_at_a_time():
        target, old = path, _old(path)
        if isinstance(old, dict) and is_poorer(dump, old):
            target = _beside(path, "later")
        elif old is not None and (isinstance(old, bytes) or not holds(dump, old)):
            os.replace(path, _beside(path, "earlier"))
        os.replace(temporary, target)
    return target


def write_atomically(path: Path, data: bytes) -> None:
    """Write `data` under a temporary name and rename it to `path`; makes the folder.

    Without fsync: it has to outlive the process, not the machine. Raises OSError that names the path and the reason.
    """
    path = os.fspath(path)
    temporary = _write_temporary(path, data)
    with _removed_on_failure(temporary, path):
        _regular(path)
        os.replace(temporary, path)


def _old(path: str) -> dict[str, Any] | bytes | None:
    """The dump at `path`; bytes when it is none, or too large to look into; None when nothing, or nothing in it."""
    size = _regular(path)
    if not size:
        return None
    if size > MAX_COMPARED:
        return b""
    with open_regular(path) as file:
        data = file.read()
    try:
        return loads(data)
    except ValueError:
        return data


def _regular(path: str) -> int:
    """The size of the file at `path`, 0 without one. Raises OSError for a FIFO or a device: those aren't replaced."""
    try:
        info = os.stat(path)
    except FileNotFoundError:
        return 0
    if not stat.S_ISREG(info.st_mode):
        raise FileExistsError(errno.EEXIST, "there is something that is no regular file", path)
    return info.st_size


def _beside(path: str, word: str) -> str:
    """A new name in the sub-folder, with the digits that end `path`; it ends in none itself, and `~` says: no dump."""
    folder, name = os.path.split(path)
    digits = re.search(r"\d*$", name)
    rank = digits.group() if digits else ""
    side = os.path.join(folder, SIDE)
    os.makedirs(side, exist_ok=True)
    names = (os.path.join(side, f"{word}{n}.r{rank}.pkl~") for n in itertools.count(1))
    return next(name for name in names if not os.path.lexists(name))


def _write_temporary(path: str, data: bytes) -> str:
    """A new file in the folder of `path`; its name has nothing of the dump's, which the analyzer would open."""
    temporary = os.path.join(os.path.dirname(path), f".{os.urandom(8).hex()}.tmp")
    with _removed_on_failure(temporary, path):
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        with open(temporary, "xb") as file:
            file.write(data)
    return temporary


@contextmanager
def _removed_on_failure(temporary: str, path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        _remove(temporary)
        reason = f"the dump can't be written: {error.strerror or error}"
        raise OSError(error.errno, reason, path) from error
    except BaseException:
        _remove(temporary)
        raise


def _remove(path: str) -> None:
    with suppress(OSError):  # it was never made, or the disk is gone: the first error tells more
        os.unlink(path)


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    """Two threads must not both find the place empty. With a limit: a child may be forked while the lock is held."""
    held = _LOCK.acquire(timeout=_PATIENCE_S)
    try:
        yield
    finally:
        if held:
            _LOCK.release()
