"""Files: opening what strangers made, and writing what others may be reading."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


class NotRegular(OSError):
    """A FIFO, socket, device or folder stands under the name."""


def open_regular(path: str) -> BinaryIO:
    """The file at `path`, without waiting and without becoming its terminal. Raises OSError, NotRegular among them.

    torch lays FIFOs beside its dumps, and opening one waits for ever. Looked at once more after it is open: what was a
    file when it was listed may be a FIFO by now.
    """
    flags = (getattr(os, name, 0) for name in ("O_NONBLOCK", "O_CLOEXEC", "O_NOCTTY", "O_BINARY"))
    descriptor = os.open(path, os.O_RDONLY | sum(flags))
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return open(descriptor, "rb")
    os.close(descriptor)
    raise NotRegular("a FIFO, socket, device or folder")


@contextmanager
def replaced(path: Path) -> Iterator[BinaryIO]:
    """A new file that takes the place of `path` once it is whole: nobody ever reads half of it. Raises OSError.

    It has the permissions of the one that it replaces.
    """
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with open(handle, "wb") as file:
            yield file
        os.chmod(temporary, path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~_umask())
        os.replace(temporary, path)
    finally:
        Path(temporary).unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
