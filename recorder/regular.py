"""Opening files that others may have made: whatever stands there in place of one, nobody waits for it."""

from __future__ import annotations

import os
import stat
from typing import BinaryIO


def open_regular(path: str) -> BinaryIO:
    """For reading. Raises OSError, also where it is a FIFO, which would be waited for, or a device."""
    file = os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY), "rb")
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError("no regular file")
    return file
