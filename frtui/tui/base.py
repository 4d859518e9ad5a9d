"""The state of the main screen, and the panes brought in line with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import events
from textual.reactive import Reactive
from textual.screen import Screen
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Static

from frtui.tui.desk import Desk
from frtui.tui.hints import Hints
from frtui.tui.lines import LineList, safe
from frtui.tui.loader import Loader, Reader
from frtui.tui.prompt import Prompt
from frtui.tui.steady import outdated
from frtui.view import reading
from frtui.view.select import NAMES, SOURCE, TOPICS, Trail

if TYPE_CHECKING:
    from frtui.view.panes import Panes

REST = 0.12
"""Seconds without a key after which the other panes follow the cursor."""
ROOMY = 120
"""Below this width a topic takes the whole screen."""


class Base(Screen[None]):
    """What every group of keys works on; see `screen.Main`."""

    focused: Reactive[Widget | None] = Reactive(None, repaint=False)
    """By default all is drawn again, where it is only two panes that look different."""

    def __init__(self, source: str, reader: Reader, *, watching: bool = False) -> None:
        """`watching`: the folder is followed from the beginning."""
        super().__init__()
        self.watching = watching
        self.loader = Loader(source, reader)
        self.desk, self.prompt, self.hints = Desk(id="desk"), Prompt(id="prompt"), Hints(id="hints")
        self.panes: Panes | None = None
        self.trail = Trail()
        self._left, self._line, self._zoomed = "call", 0, False
        """Before a topic was shown: the pane that had the keys, the line of pane 5 (its key), whether it was zoomed."""
        self._roomy = False
        """Whether there was room for all panes at the last size of the screen."""
        self._moving: LineList | None = None
        self._resting: Timer | None = None

    # The panes follow the selection

    def on_resize(self, event: events.Resize) -> None:
        if outdated(self, event):
            return
        roomy, self._roomy = self._roomy, self.size.width >= ROOMY
        if roomy != self._roomy and self.trail.now.topic in TOPICS:
            self.desk.zoom(not self._roomy or self._zoomed)
        self.call_after_refresh(self.fit_head)

    def fit_head(self) -> None:
        """The head of the screen grows with what it has to say, up to a third of the screen."""
        if self.panes:
            headline = "frtui  " + reading.headline(
                self.panes.job, self.size.width - 7, self.loader.watcher is not None
            )
            self.query_one("#job", Static).update(safe(self.app, headline))
            most = max(2, self.size.height // 6)
            notes = len(self.panes.pane("findings", self.trail.now).rows)
            self.desk.fit_head(min(max(1, notes), most), self.panes.sentences(self.size.width, most))

    def fill(self, but: str = "") -> None:
        for name in NAMES:
            if self.panes and name != but:
                widget = self.desk.pane(name)
                pane = self.panes.pane(name, self.trail.now, widget.order)
                widget.offer(pane.rows, pane.key, pane.title, self.panes.values(name, self.trail.now))
        if self.panes:
            self.desk.summary.show(self.panes.summary(self.trail.now, max(2, self.size.height // 6)))

    def on_line_list_moved(self, message: LineList.Moved) -> None:
        """The other panes follow when the cursor has come to rest, or when it moves in another pane."""
        if self._moving is not message.list:
            self.settle()
        self._moving = message.list
        if self._resting:
            self._resting.stop()
        self._resting = self.set_timer(REST, self.settle)

    def settle(self) -> None:
        if self._resting:
            self._resting.stop()
        widget, self._moving, self._resting = self._moving, None, None
        if widget is None:
            return
        widget.repaint()
        if self.panes and widget.key is not None:
            now = self.panes.rest(str(widget.id), widget.key, self.trail.now)
            if now != self.trail.now:
                self.follow(self.trail.roam(now), but=str(widget.id))

    def on_line_list_opened(self, message: LineList.Opened) -> None:
        if not self.panes:
            return
        name = str(message.list.id)
        self.settle()
        now, onward = self.panes.open(name, message.key, self.trail.now, message.frame)
        if self.desk.zoomed and onward != name:
            self.desk.zoom(False)
        self.desk.go_to(onward)
        further = now.topic == self.trail.now.topic == SOURCE  # another line of the same file is no place to go back to
        self.follow(self.trail.turn(now) if further else self.trail.go(now))

    def follow(self, trail: Trail, but: str = "") -> None:
        """To another selection. A topic takes the whole of a small screen while it is shown."""
        before, self.trail = self.trail.now, trail
        if trail.now.topic in TOPICS:
            if before.topic not in TOPICS:
                self._left, self._zoomed = str(self.desk.active.id), self.desk.zoomed
                self._line = self.desk.pane("call").key or 0
            self.desk.go_to("call")
            self.desk.zoom(self.size.width < ROOMY)
        elif before.topic in TOPICS:
            self.desk.zoom(self._zoomed)
        if trail.now != before:
            self.fill(but)

    def close_prompt(self) -> None:
        self.prompt.close()
        self.set_focus(self.desk.active)

    def on_prompt_answered(self, message: Prompt.Answered) -> None:
        self.close_prompt()
        message.then(message.text)

    def say(self, text: str, error: bool = False) -> None:
        self.hints.say(text, error)
