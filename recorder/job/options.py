"""What was asked for, what the environment says, and the defaults, in this order."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass

from recorder.files import SIDE
from recorder.setup import settings
from recorder.setup.settings import DEFAULT_SIZE

STACKS = ("python", "none", "cpp")


@dataclass(frozen=True)
class Options:
    buffer_size: int = DEFAULT_SIZE
    """Calls that the ring holds."""
    dump_prefix: str = ""
    """Dumps are `<dump_prefix><rank>`; rings lie in the folder `recorder` beside them."""
    stack: str = "python"
    stuck_after: float | None = None
    """Seconds after which an open call is a hang; None: half of its group's timeout, at most five minutes."""
    when_stuck: bool = True
    """False: a hang alone makes no dump."""
    signals: tuple[str, ...] = ("USR2", "TERM")
    socket: bool = True
    quiet: bool = False
    problems: tuple[str, ...] = ()
    """What could not be used, to be said once the rank is known."""

    @property
    def folder(self) -> str:
        """Of the rings."""
        return os.path.join(os.path.dirname(os.path.abspath(self.dump_prefix)), SIDE)


def _release() -> settings.Release:
    try:
        return settings.parse_release(settings.installed_torch() or "")
    except settings.BadValue:  # a build of one's own, with another name or number
        return settings.NEWEST


def resolve(
    buffer_size: int | None,
    dump_prefix: str | None,
    stack: str | None,
    stuck_after: float | None,
    signals: tuple[str, ...],
    socket: bool,
    quiet: bool,
) -> Options:
    """Raises ValueError for what is no stack, no signal or no number of calls.

    A buffer size of 0 in the environment switches torch's own recorder off. It doesn't switch ours off, which
    somebody has asked for; `RECORDER=1` or not is its switch.
    """
    if stack not in (None, *STACKS):
        raise ValueError(f"stack={stack!r}: one of {', '.join(STACKS)}")
    if buffer_size is not None and buffer_size < 1:
        raise ValueError(f"buffer_size={buffer_size}: at least 1")
    for name in signals:
        if not hasattr(signal, f"SIG{name}"):
            raise ValueError(f"signals: there is no SIG{name} here")
    found = settings.from_environ(os.environ, _release())
    return Options(
        buffer_size=buffer_size or found.buffer_size or DEFAULT_SIZE,
        dump_prefix=dump_prefix or found.dump_prefix,
        stack=stack or ("cpp" if found.cpp_stack else "python"),
        stuck_after=stuck_after,
        when_stuck=found.dump_on_timeout or stuck_after is not None,
        signals=signals,
        socket=socket,
        quiet=quiet,
        problems=found.problems,
    )
