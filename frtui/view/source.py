"""The source file of a stack's frame, where it is on this machine.

Its name comes from a stranger's dump: only regular files are opened, none of those in which the kernel shows itself,
and only the lines around the frame's are shown.
"""

from __future__ import annotations

import os
import stat
from io import StringIO
from itertools import islice

from frtui.model import Frame
from frtui.regular import open_regular
from frtui.text import clean
from frtui.view.rows import FrameLine, Line, Linked, wrap
from frtui.view.words import size

MOST = 2_000_000
"""Bytes that a source file may have."""
AROUND = 20
"""Lines that are shown before and after the frame's."""
TAB = 4
LONGEST = 2_000
"""Characters of a line that are shown."""
_KERNEL = ("/proc", "/dev", "/sys")


class NotHere(Exception):
    """Says why there is nothing to show."""


def locate(filename: str) -> str:
    """The absolute path of a regular file, found without opening anything. Raises NotHere."""
    if not filename or filename.startswith("<") or "\0" in filename:
        raise NotHere(f"{filename or 'nothing'} is not a file")
    path = os.path.abspath(filename)
    try:
        real = os.path.realpath(path)
        if any(real == folder or real.startswith(folder + "/") for folder in _KERNEL):
            raise NotHere(f"{filename} is no source file")
        mode = os.stat(real).st_mode
    except (FileNotFoundError, NotADirectoryError):
        raise NotHere(f"{filename} is not on this machine") from None
    except (OSError, ValueError) as error:
        raise NotHere(f"{filename} can't be read: {getattr(error, 'strerror', None) or error}") from None
    if not stat.S_ISREG(mode):
        raise NotHere(f"{filename} is a {'folder' if stat.S_ISDIR(mode) else 'device or pipe'} on this machine")
    return real


def read(filename: str) -> list[str]:
    """The lines of a source file. Raises NotHere."""
    path = locate(filename)
    try:
        with open_regular(path) as file:
            data = file.read(MOST + 1)
    except OSError as error:
        raise NotHere(f"{filename} can't be read: {error.strerror or error}") from None
    if len(data) > MOST:
        raise NotHere(f"{filename} has more than {size(MOST)}: too long for a source file")
    if b"\0" in data:
        raise NotHere(f"{filename} is not text")
    # Lines as Python counts them: not `splitlines`, which ends one at a form feed, too.
    return [line.rstrip("\n") for line in StringIO(data.decode("utf-8", "replace"), newline=None)]


def around(lines: list[str], number: int) -> list[tuple[int, str]]:
    """(number, text) of the lines around one, safe to print."""
    first = max(1, number - AROUND)
    shown = islice(lines, first - 1, number + AROUND)
    return [(n, clean(line[:LONGEST].expandtabs(TAB))) for n, line in enumerate(shown, first)]


class SourcePage(Linked):
    """The lines around a frame's; the cursor starts on that one. `o` opens the editor at any of them."""

    centred = True

    def __init__(self, frame: Frame) -> None:
        self.of = frame
        self.lines_of_file: list[str] | None = None
        super().__init__(self.lay_out)

    def lay_out(self, width: int) -> list[Line]:
        lines: list[Line] = [[(part, "bold")] for part in wrap(f"{self.of.place}  in {self.of.name}", width)]
        try:
            if self.lines_of_file is None:
                self.lines_of_file = read(self.of.filename)
        except NotHere as why:
            return lines + [[(part, "warn")] for part in wrap(str(why), width)]
        if not 0 < self.of.line <= len(self.lines_of_file):
            told = f"The file on this machine has {len(self.lines_of_file):,} lines: it isn't the one that the job ran."
            return lines + [[(part, "warn")] for part in wrap(told, width)]
        shown = around(self.lines_of_file, self.of.line)
        digits = len(str(shown[-1][0]))
        return [*lines, *(self.say(number, text, digits) for number, text in shown)]

    def say(self, number: int, text: str, digits: int) -> Line:
        here = number == self.of.line
        spans = [("▶ " if here else "  ", "bold"), (f"{number:>{digits}} ", "dim"), (text, "bold" if here else "plain")]
        return FrameLine(spans, self.of._replace(line=number))

    def position(self, key: int) -> int:
        """The frame's line, until the cursor is moved: lines have negative keys here."""
        if key < 0:
            return super().position(key)
        return next((i for i in range(len(self.lines)) if self.frame(i) == self.of), 0)
