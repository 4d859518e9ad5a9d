"""Opening files that strangers made: torch lays FIFOs beside its dumps, and opening one waits for ever."""

from __future__ import annotations

import os
import stat
from typing import BinaryIO


class NotRegular(OSError):
    """A FIFO, socket, device or folder stands under the name."""


def open_regular(path: str) -> BinaryIO:
    """The file at `path`, without waiting and without becoming its terminal. Raises OSError, NotRegular among them.

    Looked at once more after it is open: what was a file when it was listed may be a FIFO by now.
    """
    flags = (getattr(os, name, 0) for name in ("O_NONBLOCK", "O_CLOEXEC", "O_NOCTTY", "O_BINARY"))
    descriptor = os.open(path, os.O_RDONLY | sum(flags))
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return open(descriptor, "rb")
    os.close(descriptor)
    raise NotRegular("a FIFO, socket, device or folder")
