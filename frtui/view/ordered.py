"""Lines in another order than that of their keys, or only some of them; cursors find them by key all the same."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Callable

from frtui.model import Frame
from frtui.view.rows import Keyed, Line, Rows


class Order:
    """Another order of ascending keys: for each line, the place of its key among them."""

    def __init__(self, places: Sequence[int]) -> None:
        self.places = places
        self._lines: list[int] = []

    def line_of(self, place: int) -> int:
        if not self._lines and self.places:
            self._lines = [0] * len(self.places)
            for line, held in enumerate(self.places):
                self._lines[held] = line
        return self._lines[place] if self._lines else 0


class Sorted(Keyed):
    """The lines of `Keyed` in another order."""

    def __init__(self, keys: Sequence[int], say: Callable[[int, int], Line], order: Order) -> None:
        super().__init__(keys, say)
        self.order = order

    def line(self, i: int, width: int) -> Line:
        return super().line(self.order.places[i], width)

    def key(self, i: int) -> int:
        return super().key(self.order.places[i])

    def position(self, key: int) -> int:
        return self.order.line_of(super().position(key))


def by_class(keys: Sequence[int], kind: Callable[[int], int]) -> Order:
    """The lowest class on top; the order of the keys stays within each."""
    return Order(sorted(range(len(keys)), key=lambda place: kind(keys[place])))


class Picked(Rows):
    """Some lines of another pane: what a filter leaves."""

    def __init__(self, base: Rows, indices: Sequence[int]) -> None:
        self.base, self.indices = base, indices

    def fit(self, width: int) -> None:
        self.base.fit(width)

    def __len__(self) -> int:
        return len(self.indices)

    def line(self, i: int, width: int) -> Line:
        return self.base.line(self.indices[i], width)

    def key(self, i: int) -> int:
        return self.base.key(self.indices[i])

    def position(self, key: int) -> int:
        found = bisect_left(self.indices, self.base.position(key))
        return max(0, min(found, len(self.indices) - 1))

    def text(self, i: int) -> str:
        return self.base.text(self.indices[i])

    def copied(self, i: int) -> str:
        return self.base.copied(self.indices[i])

    def frame(self, i: int) -> Frame | None:
        return self.base.frame(self.indices[i])

    def head(self, width: int) -> list[Line]:
        return self.base.head(width)
