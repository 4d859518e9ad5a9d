"""The one list widget: a title, a cursor, lines that are drawn when they are seen."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.app import App
from textual.binding import BindingType
from textual.geometry import Region
from textual.message import Message
from textual.reactive import reactive
from textual.strip import Strip

from frtui.model import Frame
from frtui.text import clean
from frtui.tui import keys
from frtui.tui.steady import Unscrolled
from frtui.view.query import mark
from frtui.view.rows import Line, Rows, cut
from frtui.view.words import HERE, ascii_only

STYLES = {
    "ok": Style(color="green"),
    "bad": Style(color="red", bold=True),
    "warn": Style(color="yellow"),
    "dim": Style(dim=True),
    "bold": Style(bold=True),
    "find": Style(bold=True, underline=True, color="yellow"),
    "plain": Style(),
}
CURSOR, REST = Style(reverse=True), Style(bold=True)
SIDEWAYS = 16
WHEEL = 3


def safe(app: App[Any], text: str) -> str:
    """What may be written to the terminal: no control characters, and with `--ascii` nothing beyond ASCII."""
    return ascii_only(clean(text)) if app.has_class("-plain") else clean(text)


class LineList(Unscrolled, can_focus=True):
    BINDINGS: ClassVar[list[BindingType]] = keys.LIST

    cursor = reactive(0, repaint=False, init=False)

    @dataclass
    class Moved(Message):
        """The person moved the cursor."""

        list: LineList
        key: int

    @dataclass
    class Opened(Moved):
        """The person pressed Enter on a line, or clicked on the line of the cursor."""

        frame: Frame | None = None
        """That the line tells of."""

    def __init__(self, title: str = "", *, id: str, cursor: bool = True, onward: bool = False) -> None:  # noqa: A002
        """`cursor`: whether it can be focused; `onward`: whether → opens instead of scrolling sideways."""
        super().__init__(id=id)
        self.can_focus = cursor
        self.title, self.onward = title, onward
        self.rows, self.empty = Rows(), ""
        self.top = self.left = self._top_before = 0
        self.wanted: re.Pattern[str] | None = None
        """What `find` looked for last; it is highlighted."""
        self._drawn: dict[int, Strip] = {}
        """What stands on the screen, by line; and what was made to be drawn next."""
        self._made: dict[int, Strip] = {}
        self._fitted = self.size

    # Content

    def show(self, rows: Rows, key: int | None = None, title: str | None = None) -> None:
        """Shows other lines, with the cursor on the one with `key`; draws only what has changed."""
        rows.fit(self.size.width)
        self.rows, self.title = rows, self.title if title is None else title
        if key is None:
            self.top = self.left = 0
        elif rows.centred:
            self.top = len(rows)
        self.set_reactive(LineList.cursor, rows.position(key) if key is not None and len(rows) else 0)
        self.reveal()
        self.repaint()

    def stand_on(self, key: int) -> None:
        """As if the cursor had been on the line with `key` all along."""
        if len(self.rows):
            self.set_reactive(LineList.cursor, self.rows.position(key))
            self.reveal()
            self.repaint()

    @property
    def key(self) -> int | None:
        return self.rows.key(self.cursor) if len(self.rows) else None

    @property
    def page_height(self) -> int:
        return max(1, self.size.height - self.title_height)

    @property
    def title_height(self) -> int:
        """With the names of columns, where the lines have some."""
        return 1 + len(self.rows.head(self.size.width)) if self.can_focus else 0

    def reveal(self) -> None:
        """Jumps half a page when the cursor is out of sight: scrolling by one line repaints as much."""
        height, self._top_before = self.page_height, self.top
        if not self.top <= self.cursor < self.top + height:
            self.top = self.cursor - height // 2
        self.top = max(0, min(self.top, len(self.rows) - height))

    # Drawing

    def render_line(self, y: int) -> Strip:
        self._fit()
        strip = self._made.pop(y, None) or self._strip(y, self.size.width, self.title_height)
        self._drawn[y] = strip
        return strip

    def repaint(self) -> None:
        """Draws the lines that have changed. A pane that is hidden is drawn when it is shown again."""
        self._made.clear()
        if not self.display:
            self.refresh()
            return
        (width, height), above = self.size, self.title_height
        for y in range(height):
            strip = self._strip(y, width, above)
            if self._drawn.get(y) != strip:
                self._made[y] = strip
                self.refresh(Region(0, y, width, 1))

    def _fit(self) -> None:
        """After a change of size; Textual draws the widget before it tells of it, and would draw all of it again."""
        if self.size == self._fitted:
            return
        self._fitted, key = self.size, self.key
        self.top = self._top_before  # the lines stand as if the pane had had this size when they came
        self.rows.fit(self.size.width)
        self.set_reactive(LineList.cursor, self.rows.position(key) if key is not None and len(self.rows) else 0)
        self.reveal()
        self._made.clear()
        self._exchange_repaint_regions()  # those of the old size, which Textual would draw with the next change

    def _strip(self, y: int, width: int, above: int) -> Strip:
        """`above`: lines of the title and the names of columns."""
        if y < above:
            return self._title_strip(width) if y == 0 else self._head_strip(y - 1, width)
        i = self.top + y - above
        if i >= len(self.rows):
            first = i == 0 and self.empty
            return Strip([Segment(cut(self.empty, width), STYLES["dim"])] if first else []).adjust_cell_length(width)
        line = [(self._safe(text), role) for text, role in self.rows.line(i, width)]
        if self.wanted:
            line = mark(line, self.wanted)
        at_cursor = self.can_focus and i == self.cursor
        strip = self._cursor_strip(line) if at_cursor else Strip([Segment(t, STYLES[role]) for t, role in line if t])
        bar = CURSOR if at_cursor and self.has_focus else None
        shown = strip.crop(self.left, self.left + width).adjust_cell_length(width, bar)
        # Where a number or a name is cut, the rest of it must not pass for the whole.
        edge = strip.crop(self.left + width - 1, self.left + width + 1).text
        if len(edge) < 2 or " " in edge:
            return shown
        return Strip([*shown.crop(0, width - 1), Segment(self._safe("…"), bar or STYLES["dim"])], width)

    def _cursor_strip(self, line: Line) -> Strip:
        """In one style: reverse over coloured words would be a row of coloured bars."""
        text = "".join(part for part, _ in line)
        if self.has_focus:
            return Strip([Segment(text, CURSOR)])
        return Strip([Segment(self._safe(HERE) + text[1:] if text[:1] == " " else text, REST)])

    def _title_strip(self, width: int) -> Strip:
        size = len(self.rows)
        place = f" {self.cursor + 1:,}/{size:,} " if size > self.page_height else ""
        told = f" {self.title} "
        rule = "━" if self.has_focus else "─"
        told = cut(told, max(0, width - len(place) - 2))
        fill = Strip([Segment(rule + told)]).cell_length
        text = rule + told + rule * max(0, width - fill - len(place) - 1) + place + rule
        return Strip([Segment(self._safe(text), REST if self.has_focus else STYLES["plain"])]).adjust_cell_length(width)

    def _head_strip(self, n: int, width: int) -> Strip:
        strip = Strip([Segment(self._safe(text), STYLES[role]) for text, role in self.rows.head(width)[n]])
        return strip.crop(self.left, self.left + width).adjust_cell_length(width)

    def _safe(self, text: str) -> str:
        return safe(self.app, text)

    # Movement

    def validate_cursor(self, cursor: int) -> int:
        return max(0, min(cursor, len(self.rows) - 1))

    def watch_cursor(self, old: int, new: int) -> None:
        top = self.top
        self.reveal()
        if self.top != top:
            self.repaint()
        else:
            self._made.clear()
            for i in (old, new):
                self.refresh(Region(0, i - self.top + self.title_height, self.size.width, 1))
        if len(self.rows):
            self.post_message(self.Moved(self, self.rows.key(new)))

    def action_move(self, lines: int) -> None:
        self.cursor += lines

    def action_page(self, direction: int) -> None:
        self.cursor += direction * max(1, self.page_height - 1)

    def action_goto(self, line: int) -> None:
        self.cursor = line if line >= 0 else len(self.rows) - 1

    def action_sideways(self, direction: int) -> None:
        if self.onward and direction > 0:
            self.action_open()
        elif direction < 0 or self.left + self.size.width < self._longest():
            self.left = max(0, self.left + direction * SIDEWAYS)
            self.repaint()

    def _longest(self) -> int:
        seen = range(self.top, min(len(self.rows), self.top + self.page_height))
        return max((len("".join(text for text, _ in self.rows.line(i, self.size.width))) for i in seen), default=0)

    def action_open(self) -> None:
        if len(self.rows):
            self.post_message(self.Opened(self, self.rows.key(self.cursor), self.rows.frame(self.cursor)))

    # Events

    def on_resize(self) -> None:
        self._fit()
        self.repaint()

    def on_focus(self, event: events.Focus) -> None:
        self._focused(event, True)

    def on_blur(self, event: events.Blur) -> None:
        self._focused(event, False)

    def _focused(self, event: events.Event, has_focus: bool) -> None:
        event.prevent_default()  # Textual would draw all lines
        self.has_focus = has_focus
        self.repaint()

    def on_click(self, event: events.Click) -> None:
        i = self.top + event.y - self.title_height
        if event.y < self.title_height or i >= len(self.rows):
            return
        if i == self.cursor:
            self.action_open()
        else:
            self.cursor = i

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self.cursor += WHEEL

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self.cursor -= WHEEL
