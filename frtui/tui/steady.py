"""Screens and widgets that do once what Textual does twice, or for ever.

A screen that is laid out anew tells itself of its size by a message. Where the terminal changes twice in quick
succession, as while a window is dragged, two sizes are under way; each lays the screen out anew, and tells of it again,
without end. Textual has no guard against that: it would draw for ever. `outdated` is one.
"""

from __future__ import annotations

from typing import Any

from textual import events
from textual.command import CommandPalette
from textual.geometry import Size
from textual.reactive import Reactive
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Input


def outdated(screen: Screen[Any], event: events.Resize) -> bool:
    """Whether the terminal has another size by now; then the screen does nothing about this one."""
    if event.size == screen.app.size:
        return False
    event.prevent_default()
    return True


class Unscrolled(Widget):
    """A widget without scroll bars. Textual lays out and draws all again when a size changes, for the sake of these."""

    virtual_size: Reactive[Size] = Reactive(Size(0, 0), layout=False, repaint=False)


class Palette(CommandPalette):
    def on_mount(self) -> None:
        self.query_one(Input).cursor_blink = False  # it would write while nobody types

    def on_resize(self, event: events.Resize) -> None:
        outdated(self, event)
