"""Lines of text with roles, made one at a time: a pane of two million lines keeps none of them."""

from __future__ import annotations

import textwrap
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import Callable

from frtui.model import Frame

Span = tuple[str, str]
"""Text and its role: `ok`, `bad`, `warn`, `dim`, `bold` or `plain`."""
Line = list[Span]


class FrameLine(list[Span]):
    """A line that tells of a stack's frame, whose source Enter shows."""

    def __init__(self, spans: Line, frame: Frame) -> None:
        super().__init__(spans)
        self.frame = frame


class FoldedLine(list[Span]):
    """A line in place of others, which are copied instead of it."""

    def __init__(self, spans: Line, hidden: list[str]) -> None:
        super().__init__(spans)
        self.hidden = hidden


FULL = 500
"""A width at which every column is shown; what find, filter and copy look at."""


class Rows:
    """What one pane shows: a length and a way to say one line. Each line has a key that outlives filters."""

    centred = False
    """The line of the cursor belongs in the middle, for what is around it."""

    def fit(self, width: int) -> None:
        """Told before `len` when the pane has a new width; pages wrap to it."""

    def __len__(self) -> int:
        return 0

    def line(self, i: int, width: int) -> Line:
        raise IndexError(i)

    def key(self, i: int) -> int:
        return i

    def position(self, key: int) -> int:
        """The line with `key`, or the nearest one that comes after it."""
        return max(0, min(key, len(self) - 1))

    def text(self, i: int) -> str:
        return plain(self.line(i, FULL)).rstrip()

    def copied(self, i: int) -> str:
        """What is copied of the line."""
        return self.text(i).strip()

    def whole(self) -> list[str]:
        """The text of every line."""
        return [self.text(i) for i in range(len(self))]

    def frame(self, i: int) -> Frame | None:
        """The frame that the line tells of."""
        return None

    def head(self, width: int) -> list[Line]:
        """What stays on top while the lines below it scroll: the names of columns."""
        return []


class Keyed(Rows):
    """One line for each of `keys`, which are ascending integers: ranks, groups, rows of a ring."""

    def __init__(self, keys: Sequence[int], say: Callable[[int, int], Line]) -> None:
        self.keys, self.say = keys, say

    def __len__(self) -> int:
        return len(self.keys)

    def line(self, i: int, width: int) -> Line:
        return self.say(self.keys[i], width)

    def key(self, i: int) -> int:
        return self.keys[i]

    def position(self, key: int) -> int:
        return max(0, min(bisect_left(self.keys, key), len(self.keys) - 1))


class Page(Rows):
    """A text that is laid out for the width of its pane. Its n-th frame has the key -1 - n, however lines break."""

    def __init__(self, make: Callable[[int], list[Line]]) -> None:
        self.make, self.width = make, -1
        self.lines: list[Line] = []
        self._wide: list[Line] | None = None

    def fit(self, width: int) -> None:
        if width != self.width:
            self.width, self.lines = width, self.make(width)

    def __len__(self) -> int:
        return len(self.lines)

    def line(self, i: int, width: int) -> Line:
        return self.lines[i]

    def key(self, i: int) -> int:
        return -sum(isinstance(line, FrameLine) for line in self.lines[: i + 1]) if self.frame(i) else i

    def position(self, key: int) -> int:
        if key >= 0:
            return super().position(key)
        frames = [i for i, line in enumerate(self.lines) if isinstance(line, FrameLine)]
        return frames[min(-1 - key, len(frames) - 1)] if frames else 0

    def text(self, i: int) -> str:
        """A line may be cut to the pane's width: the whole of it where the wide page has as many lines."""
        wide = self.wide()
        return plain((wide if len(wide) == len(self.lines) else self.lines)[i]).rstrip()

    def copied(self, i: int) -> str:
        line = self.lines[i] if i < len(self.lines) else None
        return "\n".join(line.hidden) if isinstance(line, FoldedLine) else super().copied(i)

    def whole(self) -> list[str]:
        return [plain(line).rstrip() for line in self.wide()]

    def wide(self) -> list[Line]:
        """The page where there is room for all of every line."""
        if self._wide is None:
            self._wide = self.make(FULL)
        return self._wide

    def frame(self, i: int) -> Frame | None:
        line = self.lines[i] if i < len(self.lines) else None
        return line.frame if isinstance(line, FrameLine) else None


class Linked(Page):
    """A page some of whose lines lead to a call. `make` notes them in `links` while it lays the page out."""

    def __init__(self, make: Callable[[int], list[Line]]) -> None:
        self.links: dict[int, tuple[int, int, int]] = {}
        """By line: its key, 0 or more, and the (rank, row) of the call that Enter opens."""
        super().__init__(make)

    def key(self, i: int) -> int:
        return self.links[i][0] if i in self.links else -1 - i

    def position(self, key: int) -> int:
        return next((i for i, link in self.links.items() if link[0] == key), max(0, -1 - key))

    def wide(self) -> list[Line]:
        """`make` notes the links of the page that it lays out: those of the page that is shown stay."""
        links = dict(self.links)
        wide = super().wide()
        self.links.clear()
        self.links.update(links)
        return wide

    def call_of(self, key: int) -> tuple[int, int] | None:
        if self.width < 0:
            self.fit(FULL)
        return next(((rank, row) for known, rank, row in self.links.values() if known == key), None)


def plain(line: Line) -> str:
    return "".join(text for text, _ in line)


def cells(text: str) -> int:
    """Columns that `text` takes on a terminal."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def cut(text: str, width: int) -> str:
    """`text` in at most `width` columns; what is left out at its end shows as `…`."""
    if cells(text) <= width:
        return text
    while text and cells(text) > width - 1:
        text = text[: min(len(text) - 1, width)]
    return text + "…" if width > 0 else ""


def cut_left(text: str, width: int) -> str:
    """As `cut`, but keeps the end: of a path the file and line, of a group its number."""
    if cells(text) <= width:
        return text
    while text and cells(text) > width - 1:
        text = text[max(1, len(text) - width) :]
    return "…" + text if width > 0 else ""


def pad(text: str, width: int) -> str:
    """`text` in exactly `width` columns."""
    text = cut(text, width)
    return text + " " * (width - cells(text))


def wrap(text: str, width: int) -> list[str]:
    """`text` in lines of at most `width` columns, broken at spaces where there are any."""
    width = max(8, width)
    return textwrap.wrap(text, width if cells(text) == len(text) else width // 2, break_on_hyphens=False) or [""]


def flow(items: Iterable[str], width: int) -> list[str]:
    """Items in lines of at most `width` columns, none of them broken."""
    lines = [""]
    for item in items:
        if lines[-1] and cells(lines[-1]) + 2 + cells(item) > width:
            lines.append("")
        lines[-1] += ("  " if lines[-1] else "") + item
    return lines


LABEL = 8
"""Columns of a label before its text."""


def labelled(label: str, text: str, width: int, role: str = "plain", indent: int = LABEL) -> list[Line]:
    """`text` wrapped beside a label: `why     rank 2 has …`."""
    lines = wrap(text, width - indent)
    return [[((label if n == 0 else "").ljust(indent), "dim"), (part, role)] for n, part in enumerate(lines)]
