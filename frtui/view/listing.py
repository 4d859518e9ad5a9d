"""A page with a line for each of many ranks, made when it is seen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Callable

from frtui.view.rows import FULL, Line, Linked, plain


class Listing(Linked):
    """A page whose text is followed by one line for each key, made when it is seen; each leads to a call."""

    def __init__(
        self,
        make: Callable[[int], list[Line]],
        keys: Sequence[int],
        say: Callable[[int, int], Line],
        call: Callable[[int], tuple[int, int] | None],
    ) -> None:
        super().__init__(make)
        self.keys, self.say, self.call = keys, say, call

    def __len__(self) -> int:
        return len(self.lines) + len(self.keys)

    def line(self, i: int, width: int) -> Line:
        return self.lines[i] if i < len(self.lines) else self.say(self.keys[i - len(self.lines)], width)

    def text(self, i: int) -> str:
        return super().text(i) if i < len(self.lines) else plain(self.line(i, FULL)).rstrip()

    def whole(self) -> list[str]:
        return super().whole() + [plain(self.say(key, FULL)).rstrip() for key in self.keys]

    def key(self, i: int) -> int:
        return -1 - i if i < len(self.lines) else self.keys[i - len(self.lines)]

    def position(self, key: int) -> int:
        if key < 0:
            return max(0, min(-1 - key, len(self) - 1))
        return len(self.lines) + self.keys.index(key) if key in self.keys else 0

    def call_of(self, key: int) -> tuple[int, int] | None:
        return self.call(key)
