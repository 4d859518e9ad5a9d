"""One page: every key, made from the bindings, and what the marks mean."""

from __future__ import annotations

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.screen import ModalScreen
from textual.widgets import Static

from frtui.tui import keys
from frtui.tui.lines import safe
from frtui.tui.steady import outdated
from frtui.view.rows import cut, flow, pad
from frtui.view.words import LEGEND

KEY_WIDTH = 15
FILTERS = "* all must hold: text rank:2-5 seq:>80 state:open op:send group:tp slower:1s !x"

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

    def on_resize(self, event: events.Resize) -> None:
        if not outdated(self, event):
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
    lines = ["frtui keys (any key closes)"]
    for row in range(height):
        lines.append("".join(pad(item, column - 1) + " " for item in items[row::height]).rstrip())
    lines += [cut(FILTERS, width), *marks(width), *(cut(line, width) for line in PANES)]
    return "\n".join(lines)


def marks(width: int) -> list[str]:
    return flow((f"{mark} {told}" for mark, told in LEGEND), width)
