"""One page: every key, made from the bindings, and what the marks mean."""

from __future__ import annotations

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.screen import ModalScreen
from textual.widgets import Static

from frtui.tui import keys
from frtui.tui.lines import safe
from frtui.view.rows import cut, pad
from frtui.view.words import LEGEND

KEY_WIDTH = 15
FILTERS = "* all words must hold: text rank:0-3 state:open op:all_reduce group:tp !not"

PANES = (
    "Ranks: number and group of each rank's first unfinished call, or its last.",
    "Groups: the earliest unfinished call, how many members made it, and who not.",
)


class Help(ModalScreen[None]):
    """Closed by any key."""

    def compose(self) -> ComposeResult:
        yield Static(id="help", markup=False)

    def on_mount(self) -> None:
        self.draw()

    def on_resize(self) -> None:
        self.draw()

    def draw(self) -> None:
        text = page(max(20, self.app.size.width))
        told = "\n".join(safe(self.app, line) for line in text.splitlines())
        self.query_one("#help", Static).update(Text(told))

    def on_key(self, event: events.Key) -> None:
        event.stop()
        event.prevent_default()
        self.dismiss()

    def on_click(self) -> None:
        self.dismiss()


def page(width: int) -> str:
    """In two columns where there is room for them."""
    items = [f"{pad(shown, KEY_WIDTH)} {told}" for shown, told in keys.families()]
    columns = 2 if width >= 76 else 1
    height = -(-len(items) // columns)
    column = width // columns
    lines = ["frtui keys (any key closes)", ""]
    for row in range(height):
        lines.append("".join(pad(item, column - 1) + " " for item in items[row::height]).rstrip())
    lines += ["", FILTERS, "", *marks(width), *(cut(line, width) for line in PANES)]
    return "\n".join(lines)


def marks(width: int) -> list[str]:
    items = [f"{mark} {told}" for mark, told in LEGEND]
    each = max(map(len, items)) + 2
    per_line = max(1, width // each)
    return ["".join(pad(item, each) for item in items[n : n + per_line]) for n in range(0, len(items), per_line)]
