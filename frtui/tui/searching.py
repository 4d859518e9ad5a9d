"""A list that can be searched and filtered, in slices between which the screen draws and takes keys."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator
from dataclasses import dataclass
from typing import Callable, TypeVar

from textual.message import Message

from frtui.tui.lines import LineList
from frtui.view import query
from frtui.view.fields import Values
from frtui.view.ordered import Picked
from frtui.view.rows import Rows

T = TypeVar("T")


def drain(steps: Iterator[T | None], done: Callable[[T | None], None]) -> Coroutine[None, None, None] | None:
    """Hands the first result to `done`: at once if the first slice has it, else by what is returned, for a worker.

    At once, because the next key may be here already.
    """
    try:
        found = next(steps)
    except StopIteration:
        found, steps = None, iter(())
    else:
        if found is None:
            return _drain(steps, done)
    done(found)
    return None


async def _drain(steps: Iterator[T | None], done: Callable[[T | None], None]) -> None:
    found = None
    for found in steps:
        if found is not None:
            break
        await asyncio.sleep(0)
    done(found)


class SearchList(LineList):
    filter = ""
    """What the person typed; stays when the pane shows other lines."""
    order = ""
    """What its lines are sorted by; empty: as they come."""

    @dataclass
    class Missed(Message):
        """Nothing was found."""

        text: str

    def offer(self, rows: Rows, key: int | None, title: str, values: Values) -> None:
        """Shows lines as `show` does, but only those that pass the filter."""
        self.workers.cancel_node(self)
        self.empty = ""
        if not self.filter:
            self.show(rows, key, title)
            return
        name, _, what = title.partition("  ")
        rows.fit(self.size.width)

        def done(kept: list[int] | None) -> None:
            self.empty = "nothing passes the filter; Esc clears it"
            picked = Picked(rows, kept or [])
            self.show(picked, key, f"{name}  filter: {self.filter} ({len(picked):,} of {len(rows):,})  {what}".rstrip())

        self._work(drain(query.pick(rows, query.line_test(rows, self.filter, values)), done))

    def _work(self, rest: Coroutine[None, None, None] | None) -> None:
        if rest is not None:
            self.run_worker(rest, exclusive=True)

    def find(self, text: str) -> None:
        """Highlights what matches and goes to the next match."""
        self.wanted = query.pattern(text) if text else None
        self.repaint()
        if text:
            self.find_again(1)

    def find_again(self, step: int) -> None:
        if self.wanted is None:
            self.post_message(self.Missed("nothing to find yet; / asks"))
            return
        found = query.search(self.rows, self.wanted, self.cursor, step)
        self._go(found, f"not found: {self.wanted.pattern}")

    def seek(self, test: query.Test, step: int, missed: str) -> None:
        """To the next line that passes a test of its key."""
        self._go(query.scan(len(self.rows), lambda i: test(self.rows.key(i)), self.cursor, step), missed)

    def _go(self, steps: Iterator[int | None], missed: str) -> None:
        start = self.cursor

        def done(found: int | None) -> None:
            if found is None:
                self.post_message(self.Missed(missed))
            elif self.cursor == start:  # not after the person has gone elsewhere
                self.cursor = found

        self._work(drain(steps, done))

    def clear_find(self) -> bool:
        """Whether there was something to clear."""
        self.workers.cancel_node(self)
        cleared, self.wanted = self.wanted is not None, None
        if cleared:
            self.repaint()
        return cleared
