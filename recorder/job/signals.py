"""Signals that reach the watch thread even while the main thread waits inside a collective.

Python runs its handlers only when the main thread gets back to Python, which a stuck one doesn't. The handler in C,
which always runs, writes the number of the signal to a file descriptor (`signal.set_wakeup_fd`): the watch thread
reads it there. The handlers in Python only keep a signal from killing the process before its dump is written.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import socket
import threading
from contextlib import suppress
from types import FrameType
from typing import Any, Callable, TextIO

from recorder.stacks import STACKS_SIGNAL

Handler = Any
"""What `signal.getsignal` returns: a function, SIG_DFL, SIG_IGN, or None for one that was set in C."""


class Signals:
    """Forwards `numbers` to a socket, until `restore`. Only the main thread may make one."""

    def __init__(self, numbers: tuple[int, ...]) -> None:
        """Raises ValueError outside the main thread."""
        self.read_end, self._write_end = socket.socketpair()
        for end in (self.read_end, self._write_end):
            end.setblocking(False)
        self._previous: dict[int, Handler] = {}
        self._previous_wakeup = -1
        self._pid = os.getpid()
        if numbers and threading.current_thread() is threading.main_thread():
            self._previous_wakeup = signal.set_wakeup_fd(self._write_end.fileno(), warn_on_full_buffer=False)
            for number in numbers:
                # A handler of the job's own stays: the wakeup descriptor gets its signals as well.
                if signal.getsignal(number) == signal.SIG_DFL:
                    self._previous[number] = signal.signal(number, self._handle)

    def wake(self, number: int = 0) -> None:
        """Let the watch thread look at once; 0 for no signal. From any thread, and from handlers."""
        with suppress(OSError):  # full: it will look anyway; closed: nobody is there any more
            self._write_end.send(bytes([number]))

    def received(self) -> list[int]:
        """The signals since the last call, in order. Those that belong to others are passed on."""
        try:
            numbers = self.read_end.recv(256)
        except OSError:
            return []
        if self._previous_wakeup >= 0:
            with suppress(OSError):
                os.write(self._previous_wakeup, bytes(n for n in numbers if n))
        return [number for number in numbers if number]

    def ours(self, number: int) -> bool:
        """True where the process would have died of the signal, had we not caught it."""
        return number in self._previous

    def die_of(self, number: int) -> None:
        """Do what the signal was sent for: end the process, with the exit status that its parent expects."""
        _default_action(number)
        os.kill(os.getpid(), number)

    def restore(self) -> None:
        """Put back what was there, where it is still ours."""
        if threading.current_thread() is threading.main_thread():
            for number, handler in self._previous.items():
                if signal.getsignal(number) == self._handle:
                    signal.signal(number, handler)
            _unset_wakeup(self._write_end.fileno(), self._previous_wakeup)
        self._previous.clear()

    def close(self) -> None:
        self.read_end.close()
        self._write_end.close()

    def _handle(self, number: int, _: FrameType | None) -> None:
        # Another library (asyncio) may have taken the wakeup descriptor; a second byte does no harm.
        if os.getpid() == self._pid:
            self.wake(number)


def _unset_wakeup(ours: int, previous: int) -> None:
    current = signal.set_wakeup_fd(-1)
    if current != ours:  # somebody took it over
        signal.set_wakeup_fd(current)
    elif previous >= 0:
        signal.set_wakeup_fd(previous)


def _default_action(number: int) -> None:
    """signal.signal works in the main thread only, which may be stuck; libc's own works everywhere."""
    import ctypes

    ctypes.CDLL(None).signal(number, 0)


class FaultFile:
    """Where faulthandler writes the Python stacks of a rank that crashes, or that an observer asks.

    Not `faulthandler.dump_traceback_later`: every forked child of a process that armed it hangs when it exits.
    """

    def __init__(self, path: str) -> None:
        """Raises OSError."""
        self._file: TextIO | None = open(path, "w")  # noqa: SIM115 - it stays open
        self._enabled = not faulthandler.is_enabled()  # a job that has its own keeps it
        if self._enabled:
            faulthandler.enable(self._file)
        if STACKS_SIGNAL:
            faulthandler.register(STACKS_SIGNAL, self._file, all_threads=True, chain=False)

    def close(self) -> None:
        if self._file is None:
            return
        if STACKS_SIGNAL:
            faulthandler.unregister(STACKS_SIGNAL)
        if self._enabled:
            faulthandler.disable()
        self._file.close()
        self._file = None


def after_fork(forget: Callable[[], None]) -> None:
    """Call `forget` in forked children: they share the descriptors, and a signal for one would reach the parent."""
    os.register_at_fork(after_in_child=forget)
