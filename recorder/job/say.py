"""One line on stderr: never an exception, and never a wait, whatever has become of it."""

from __future__ import annotations

import os
import select
import sys

from recorder.text import clean

_LONGEST = 4000
"""A pipe that is ready takes so many bytes without a wait (less than PIPE_BUF)."""


def say(text: str, rank: int | None = None) -> None:
    """Lost where nobody reads stderr any more: a full pipe must not stop the thread that writes dumps."""
    who = "recorder" if rank is None else f"recorder rank {rank}"
    line = f"[{who}] {clean(text)}"
    stream, replaced = sys.stderr, sys.stderr is not sys.__stderr__
    try:
        if stream is None:
            return
        if replaced:  # a notebook's, a test's
            stream.write(f"{line}\n")
            stream.flush()
            return
        descriptor = stream.fileno()
        if _has_room(descriptor):
            # Not through the file object, whose lock a thread holds that waits for a full pipe.
            os.write(descriptor, line.encode(errors="backslashreplace")[:_LONGEST] + b"\n")
    except Exception:  # closed, replaced by something odd, on a disk that is full
        pass


def _has_room(descriptor: int) -> bool:
    poll = select.poll()
    poll.register(descriptor, select.POLLOUT)
    return any(events & select.POLLOUT for _, events in poll.poll(0))
