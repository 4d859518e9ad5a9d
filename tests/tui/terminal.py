"""The program in a real pseudo-terminal: what it writes, byte by byte."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import sys
import termios
import time
from pathlib import Path


class Terminal:
    """`python -m frtui`, or another program in Python, in a terminal that answers as common ones do."""

    def __init__(
        self,
        *arguments: str,
        size: tuple[int, int] = (80, 24),
        environ: dict[str, str] | None = None,
        program: tuple[str, ...] = ("-m", "frtui"),
    ) -> None:
        self.seen = bytearray()
        unset = ("NO_COLOR", "TMUX", "SSH_CONNECTION")
        env = {name: value for name, value in os.environ.items() if name not in unset}
        env.update({"TERM": "xterm-256color", "COLORTERM": "truecolor", "LANG": "C.UTF-8", **(environ or {})})
        env["PYTHONPATH"] = str(Path(__file__).parents[2])
        shape = struct.pack("HHHH", size[1], size[0], 0, 0)
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, shape)
            os.execvpe(sys.executable, [sys.executable, *program, *arguments], env)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, shape)

    def resize(self, width: int, height: int) -> None:
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))

    def read(self, seconds: float) -> int:
        """Reads what comes within a time, and returns how much that was."""
        count, end = 0, time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if not select.select([self.fd], [], [], left)[0]:
                break
            try:
                data = os.read(self.fd, 65536)
            except OSError:  # the other side is gone
                break
            if not data:
                break
            self.seen += data
            count += len(data)
            if b"\x1b[?2026$p" in data:
                os.write(self.fd, b"\x1b[?2026;2$y")
        return count

    def burst(self) -> int:
        """What comes at once after a key, before the other panes follow."""
        select.select([self.fd], [], [], 5)
        return self.read(0.03)

    def settle(self, quiet: float = 0.5, most: float = 30) -> int:
        """Reads until nothing has come for a while."""
        count, end = 0, time.monotonic() + most
        while time.monotonic() < end:
            more = self.read(quiet)
            count += more
            if not more:
                break
        return count

    def until(self, wanted: bytes, most: float = 60) -> None:
        end = time.monotonic() + most
        while wanted not in self.seen and time.monotonic() < end:
            self.read(0.05)
        assert wanted in self.seen, bytes(self.seen[-2000:])

    def press(self, keys: bytes, quiet: float = 0.5) -> int:
        """Bytes that a key costs, with all that follows from it."""
        os.write(self.fd, keys)
        return self.settle(quiet)

    def end(self) -> int:
        """The exit code, once the program has ended by itself."""
        end = time.monotonic() + 30
        while time.monotonic() < end:
            self.read(0.05)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.pid = 0
                return os.waitstatus_to_exitcode(status)
        raise AssertionError("still running")

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        if self.pid:
            os.kill(self.pid, 9)
            os.waitpid(self.pid, 0)
        os.close(self.fd)
