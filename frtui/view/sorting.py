"""The orders in which Calls and Ranks can stand, beside their own: what is most on top, what is unknown last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Callable, NamedTuple

from frtui.view import durations, lags
from frtui.view.index import Index
from frtui.view.ordered import Order, Sorted
from frtui.view.ranks import newest_ns
from frtui.view.rows import Keyed, Line, Rows
from frtui.view.select import Selection
from frtui.view.standing import standings
from frtui.view.words import clock, span

DURATION, BEHIND, LAG, LAST = "duration", "calls behind", "lag", "last call"
ORDERS = {"calls": (DURATION, LAG), "ranks": (BEHIND, LAG, LAST)}
UNKNOWN = float("-inf")


class By(NamedTuple):
    """One order: how much each line has of what it is sorted by."""

    order: Order
    values: Sequence[float]
    say: Callable[[float], str]
    width: int
    note: str = ""
    """Said in the title."""


class Sorting:
    """Keeps the last order of each pane: it is asked for again whenever the cursor rests."""

    def __init__(self, index: Index) -> None:
        self.index = index
        self._kept: dict[str, tuple[object, By]] = {}

    def sort(self, pane: str, now: Selection, order: str, rows: Rows, title: str) -> tuple[Rows, str]:
        """The lines of a pane in another order, each with what it is sorted by, and the pane's title with it."""
        if not order or not isinstance(rows, Keyed):
            return rows, title
        by = self.by(pane, now, order, rows.keys)
        name, gap, what = title.partition("  ")
        kept = rows  # mypy: narrowed for the function below

        def say(key: int, width: int) -> Line:
            value = by.values[Keyed.position(kept, key)]
            told = by.say(value) if value != UNKNOWN else "?"
            return [(f" {told:>{by.width}} ", "plain"), *kept.say(key, width - by.width - 2)]

        return Sorted(rows.keys, say, by.order), f"{name} by {order}{by.note}{gap}{what}"

    def by(self, pane: str, now: Selection, order: str, keys: Sequence[int]) -> By:
        name = (order, now.rank, now.group) if pane == "calls" else (order,)
        if pane not in self._kept or self._kept[pane][0] != name:
            make = self.calls if pane == "calls" else self.ranks
            self._kept[pane] = (name, make(order, now, keys))
        return self._kept[pane][1]

    def calls(self, order: str, now: Selection, rows: Sequence[int]) -> By:
        assert now.rank is not None
        if order == LAG:
            return by(lags.of_calls(self.index, now.rank, rows), late, 9)
        e = self.index.job.ranks[now.rank].entries
        measured = durations.measures(e)
        return by(durations.took(e, rows, measured), span, 9, "" if measured else " (made to noticed end)")

    def ranks(self, order: str, now: Selection, ranks: Sequence[int]) -> By:
        if order == BEHIND:
            found = standings(self.index)
            return by([found.behind(rank) for rank in ranks], lambda calls: f"-{calls:.0f}" if calls else "0", 6)
        if order == LAG:
            known = lags.where_it_stands(self.index)
            return by([known.get(rank, UNKNOWN) for rank in ranks], late, 9)
        job = self.index.job
        newest = [newest_ns(job.ranks[rank]) if rank in job.ranks else -1 for rank in ranks]
        # The oldest first: who stopped before the others. A float would round nanoseconds, which the order keeps.
        return by([-at / 1e9 if at > 0 else UNKNOWN for at in newest], lambda at: clock(int(-at * 1e9)), 12)


def by(values: list[float], say: Callable[[float], str], width: int, note: str = "") -> By:
    order = Order(sorted(range(len(values)), key=values.__getitem__, reverse=True))
    return By(order, values, say, width, note)


def late(ms: float) -> str:
    return "+" + span(ms) if ms else "first"


def following(pane: str, order: str) -> str:
    """The next order of a pane; after the last one its own, which has no name."""
    orders = ("", *ORDERS.get(pane, ()))
    return orders[(orders.index(order) + 1) % len(orders)]
