"""Signals that reach the watch thread even while the main thread waits inside a collective.

Python runs its handlers only when the main thread gets back to Python, which a stuck one doesn't. The handler in C,
which always runs, writes the number of the signal to a file descriptor (`signal.set_wakeup_fd`): the watch thread
reads it there. The handlers in Python only keep a signal from killing the process before its dump is written.
"""

from __future__ import annotations

import functools
import os
import signal
import threading
from contextlib import suppress
from types import FrameType
from typing import Any, Callable

Handler = Any
"""What `signal.getsignal` returns: a function, SIG_DFL, SIG_IGN, or None for one that was set in C."""


class Signals:
    """Forwards `numbers` to a pipe, until `restore`. Made in another thread than the main one it forwards none."""

    def __init__(self, numbers: tuple[int, ...]) -> None:
        # Not sockets, which hold no more than some 200 writes of a byte: SIGTERM must find room behind other signals.
        self.read_end, self._write_end = os.pipe()
        for end in (self.read_end, self._write_end):
            os.set_blocking(end, False)
        self._previous: dict[int, Handler] = {}
        self._wakeup: _Wakeup | None = None
        self._numbers = numbers
        self._pid = os.getpid()
        self._set_default = _libc_signal()
        self._over = False
        if numbers and _in_main_thread():
            self._wakeup = _Wakeup(self._write_end)
            for number in numbers:
                # A handler of the job's own stays: the wakeup descriptor gets its signals as well.
                if _is_default(signal.getsignal(number)):
                    signal.signal(number, self._handle)
                    self._previous[number] = signal.SIG_DFL

    def wake(self, number: int = 0) -> None:
        """Let the watch thread look at once; 0 for no signal. From any thread, and from handlers."""
        with suppress(OSError):  # full: it will look anyway; closed: nobody is there any more
            os.write(self._write_end, bytes([number]))

    def received(self) -> list[int]:
        """The signals since the last call, in order. Those that belong to others are passed on."""
        try:
            numbers = [number for number in os.read(self.read_end, 1 << 16) if number]
        except OSError:
            return []
        if self._wakeup is not None and numbers:
            self._wakeup.pass_on(bytes(numbers))
        return numbers

    def ours(self, number: int) -> bool:
        """True where the process would have died of the signal, had we not caught it.

        Not where the job has set a handler since: what is to happen then is its business.
        """
        return number in self._previous and signal.getsignal(number) == self._handle

    def let_kill(self, number: int) -> None:
        """From now on the signal ends the process, as it would without us."""
        if self._set_default is None:
            os._exit(128 + number)
        self._set_default(number)

    def die_of(self, number: int) -> None:
        """Do what the signal was sent for: end the process, with the exit status that its parent expects."""
        self.let_kill(number)
        os.kill(os.getpid(), number)

    @property
    def guarded(self) -> tuple[int, ...]:
        """Signals that a child must not get between the fork and its first line of Python."""
        return self._numbers if self._wakeup is not None else ()

    def restore(self) -> None:
        """Put back what was there, where it is still ours.

        Python lets only the main thread do so. For another one the C library sets the default actions, of which Python
        hears nothing, and the wakeup descriptor stays.
        """
        self._over, in_main = True, _in_main_thread()
        for number, handler in self._previous.items():
            if signal.getsignal(number) == self._handle:
                if in_main:
                    signal.signal(number, handler)
                elif self._set_default is not None:
                    self._set_default(number)
        self._previous.clear()
        if self._wakeup is not None and in_main:
            self._wakeup.restore()
        elif self._wakeup is not None:
            self._wakeup.leave()

    def close(self) -> None:
        """Nothing may use this any more: the numbers of the descriptors will be others'."""
        ends = self.read_end, self._write_end
        self.read_end = self._write_end = -1
        if self._wakeup is None or not self._wakeup.left:  # else the handler in C still writes there
            for end in ends:
                os.close(end)

    def _handle(self, number: int, _: FrameType | None) -> None:
        if self._over:  # restored in another thread, or put back by a job that had noted it
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        # Whoever took the wakeup descriptor behind our back (uvloop, in C) leaves only this.
        if os.getpid() == self._pid and self._wakeup is not None and not self._wakeup.in_place():
            self.wake(number)


class _Wakeup:
    """The wakeup descriptor is one for the whole process, and asyncio wants it too, then leaves it unset.

    So whoever sets one while we are there gets the bytes from us, and ours stays in place.
    """

    def __init__(self, descriptor: int) -> None:
        self._ours, self._theirs = descriptor, signal.set_wakeup_fd(descriptor, warn_on_full_buffer=False)
        self.left = False
        """It could not be restored."""
        self._lock = threading.RLock()
        self._original = original = signal.set_wakeup_fd

        @functools.wraps(original)
        def set_wakeup_fd(fd: int, **options: Any) -> int:
            return self._set(fd, **options)

        self._wrapped = signal.set_wakeup_fd = set_wakeup_fd

    def pass_on(self, numbers: bytes) -> None:
        with self._lock, suppress(OSError):  # under the lock, lest the descriptor is closed and another has its number
            if self._theirs >= 0:
                os.write(self._theirs, numbers)

    def in_place(self) -> bool:
        """Whether the handler in C writes to ours. Makes it so again, unless it is someone else's. Main thread only."""
        current = self._original(self._ours, warn_on_full_buffer=False)
        if current not in (self._ours, -1):
            self._original(current)
        return current == self._ours

    def leave(self) -> None:
        """In another thread than the main one: what is written to ours goes to whoever else wants it, or nowhere."""
        if signal.set_wakeup_fd is self._wrapped:
            signal.set_wakeup_fd = self._original
        self.left = True
        with self._lock, suppress(OSError):  # closed by now
            if self._theirs >= 0:
                os.dup2(self._theirs, self._ours, inheritable=False)
        self._ours = -1

    def restore(self) -> None:
        if signal.set_wakeup_fd is self._wrapped:
            signal.set_wakeup_fd = self._original
        current = self._original(-1)
        if current != self._ours:  # somebody took it over, in C
            self._original(current)
        elif self._theirs >= 0:
            with suppress(OSError, ValueError):  # closed by now
                self._original(self._theirs)
        self._ours = -1

    def _set(self, fd: int, **options: Any) -> int:
        if self._ours < 0:
            return self._original(fd, **options)
        with self._lock:
            self._original(fd, **options)  # raises where `fd` is not fit for it
            self._original(self._ours, warn_on_full_buffer=False)
            before, self._theirs = self._theirs, fd
        return before


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def _is_default(handler: Handler) -> bool:
    """Also one of ours that another thread could not take back: it does nothing any more but the default."""
    owner = getattr(handler, "__self__", None)
    return bool(handler == signal.SIG_DFL or (isinstance(owner, Signals) and owner._over))


def _libc_signal() -> Callable[[int], None] | None:
    """Sets a signal's default action from any thread: signal.signal works in the main thread only, which may be stuck.

    Found beforehand: the loader has a lock, and the main thread may be stuck in there, too. None where there is none.
    """
    try:
        import ctypes

        function = ctypes.CDLL(None).signal
    except (ImportError, OSError, AttributeError):
        return None
    function.argtypes, function.restype = [ctypes.c_int, ctypes.c_void_p], ctypes.c_void_p
    return lambda number: function(number, None)


def around_fork(guarded: Callable[[], tuple[int, ...]], forget: Callable[[], None]) -> None:
    """Call `forget` in forked children: they share the descriptors, and a signal for one would reach the parent.

    Until then `guarded` signals wait: `Process.terminate()` may be faster than the child.
    """
    masks = threading.local()

    def before() -> None:
        masks.before = signal.pthread_sigmask(signal.SIG_BLOCK, guarded())

    def after() -> None:
        signal.pthread_sigmask(signal.SIG_SETMASK, masks.before)

    def in_child() -> None:
        try:
            forget()
        finally:
            after()

    os.register_at_fork(before=before, after_in_parent=after, after_in_child=in_child)
