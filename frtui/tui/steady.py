"""Screens that take the last size of the terminal only.

A screen that is laid out anew tells itself of its size by a message. Where the terminal changes twice in quick
succession, as while a window is dragged, two sizes are under way; each lays the screen out anew, and tells of it again,
without end. Textual has no guard against that: it would draw for ever.
"""

from __future__ import annotations

from typing import Any

from textual import events
from textual.command import CommandPalette
from textual.screen import Screen
from textual.widgets import Input


def outdated(screen: Screen[Any], event: events.Resize) -> bool:
    """Whether the terminal has another size by now; then the screen does nothing about this one."""
    if event.size == screen.app.size:
        return False
    event.prevent_default()
    return True


class Palette(CommandPalette):
    def on_mount(self) -> None:
        self.query_one(Input).cursor_blink = False  # it would write while nobody types

    def on_resize(self, event: events.Resize) -> None:
        outdated(self, event)
