"""Where faulthandler writes the Python stacks of a rank that crashes, or that an observer asks."""

from __future__ import annotations

import faulthandler
import os
import sys
from contextlib import suppress
from typing import TextIO

from recorder.stacks import STACKS_SIGNAL


class FaultFile:
    """Not `faulthandler.dump_traceback_later`: every forked child of a process that armed it hangs when it exits."""

    def __init__(self, path: str) -> None:
        """Raises OSError."""
        with suppress(FileNotFoundError):
            os.unlink(path)  # another process may still write into the one that is there
        self._file: TextIO | None = open(path, "a")  # noqa: SIM115 - it stays open
        self._crash: TextIO | None = None
        if not faulthandler.is_enabled():  # a job that has its own keeps it
            self._crash = open(path, "a")  # noqa: SIM115
            faulthandler.enable(self._crash)
        if STACKS_SIGNAL:
            faulthandler.register(STACKS_SIGNAL, self._file, all_threads=True, chain=False)

    def close(self) -> None:
        if self._file is None:
            return
        if STACKS_SIGNAL:
            faulthandler.unregister(STACKS_SIGNAL)
        if self._crash is not None:
            # faulthandler holds its file. Where it doesn't hold ours, the job has enabled it again for its own.
            if sys.getrefcount(self._crash) > 2:
                faulthandler.disable()
            self._crash.close()
        self._file.close()
        self._file = self._crash = None
