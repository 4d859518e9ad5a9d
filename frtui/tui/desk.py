"""The five panes on the screen: where they are, which has the keys, which is zoomed."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.widget import Widget

from frtui.tui.lines import LineList
from frtui.tui.searching import SearchList
from frtui.tui.steady import Unscrolled
from frtui.view.select import NAMES


class Row(Horizontal, Unscrolled):
    """Side by side."""


class Column(Vertical, Unscrolled):
    """One below the other."""


class Desk(Column):
    zoomed = False
    _active = "findings"

    def compose(self) -> ComposeResult:
        yield SearchList("1 Findings", id="findings")
        yield LineList(id="summary", cursor=False)
        with Row(id="body"):
            with Column(id="side"):
                yield SearchList("2 Ranks", id="ranks", onward=True)
                yield SearchList("3 Groups", id="groups", onward=True)
            with Column(id="work"):
                yield SearchList("4 Calls", id="calls")
                yield SearchList("5 Call", id="call")

    def pane(self, name: str) -> SearchList:
        return self.query_one("#" + name, SearchList)

    @property
    def panes(self) -> list[SearchList]:
        return [self.pane(name) for name in NAMES]

    @property
    def summary(self) -> LineList:
        return self.query_one("#summary", LineList)

    @property
    def active(self) -> SearchList:
        """The pane that keys are for; while a prompt has them, the one that had them before."""
        return self.pane(self._active)

    def go_to(self, name: str) -> None:
        self._active = name
        if self.zoomed:
            self.zoom(True)
        # Not `focus()`, which waits for its turn: the next key may be here already.
        self.screen.set_focus(self.pane(name))

    def cycle(self, direction: int) -> None:
        self.go_to(NAMES[(NAMES.index(self._active) + direction) % len(NAMES)])

    def zoom(self, on: bool) -> None:
        """The active pane on the whole screen, or all of them."""
        self.zoomed = on
        shown: Sequence[str] = (self._active,) if on else NAMES
        for pane in self.panes:
            _show(pane, pane.id in shown)
        for box, held in (("side", NAMES[1:3]), ("work", NAMES[3:]), ("body", NAMES[1:])):
            _show(self.query_one("#" + box), any(name in shown for name in held))
        _show(self.summary, "findings" in shown)
        self.set_class(on, "-zoomed")

    def fit_head(self, findings: int, summary: int) -> None:
        """Gives the findings and their sentence the lines that they need."""
        self.pane("findings").styles.height = "1fr" if self.zoomed else 1 + findings
        self.summary.styles.height = summary


def _show(widget: Widget, on: bool) -> None:
    if widget.display != on:  # else all would be laid out anew when it is set for the first time
        widget.display = on
