"""The main screen: what each key does to the selection, and the panes brought in line with it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.widgets import Static

from frtui.tui import keys
from frtui.tui.help import Help
from frtui.tui.reading import Reading
from frtui.tui.searching import SearchList
from frtui.tui.seeking import Seeking
from frtui.tui.taking import Taking
from frtui.view.select import CALL, TOPICS


class Main(Reading, Seeking, Taking):
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-medium"), (160, "-wide")]
    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = keys.SCREEN

    def compose(self) -> ComposeResult:
        yield Static(f"frtui  {self.loader.source}", id="job", markup=False)
        yield self.loader
        yield self.desk
        yield self.prompt
        yield self.hints

    def on_mount(self) -> None:
        self.desk.go_to("findings")
        self.loader.follow(self.watching)
        self.loader.start()

    # Keys: panes

    def action_pane(self, name: str) -> None:
        self.settle()  # the next key is for what the other pane shows then
        self.desk.go_to(name)

    def action_cycle(self, direction: int) -> None:
        if not self.prompt.display:
            self.settle()
            self.desk.cycle(direction)

    def action_zoom(self) -> None:
        self.desk.zoom(not self.desk.zoomed)
        self.fit_head()

    def action_back(self) -> None:
        """One step out: prompt, find, filter, loading, zoom, then to where one came from."""
        if self.prompt.display:
            self.close_prompt()
        elif self.clear(self.desk.panes) or not self.panes:
            return
        elif self.desk.zoomed and self.trail.now.topic not in TOPICS:
            self.action_zoom()
        else:
            told = self.trail.now.topic in TOPICS
            self.follow(self.trail.back())
            if told and self.trail.now.topic not in TOPICS:
                self.desk.go_to(self._left)
                self.desk.pane("call").stand_on(self._line)

    def clear(self, panes: Iterable[SearchList]) -> bool:
        """Whether there was a find, a filter or a loader at work that one may step out of."""
        if any([pane.clear_find() for pane in panes]):
            return True
        for pane in panes:
            if pane.filter:
                pane.filter = ""
                self.fill()
                return True
        if self.loader.quiet:  # nobody asked for it
            return False
        self.loader.stop()
        return self.loader.busy

    # Keys: the job

    def action_finding(self, direction: int) -> None:
        self.settle()
        if self.panes and self.panes.findings:
            now = self.trail.now.finding
            to = self.panes.on_finding(0 if now is None else (now + direction) % len(self.panes.findings))
            self.follow(self.trail.go(to))

    def action_turning(self, direction: int) -> None:
        self.settle()
        if self.panes:
            self.desk.go_to("calls")
            test = self.panes.turning(self.trail.now)
            self.desk.pane("calls").seek(test, direction, "no further open or differing call")

    def action_topic(self, name: str) -> None:
        """Pane 5 tells of something else; the same key leads back."""
        self.settle()
        now = self.trail.now
        if now.topic == name:
            self.action_back()
        elif self.panes:
            to = replace(now, topic=name, unfolded=False)
            if self.panes.topic(to) is None:
                self.say(self.panes.why_not(to))
            else:
                self.follow(self.trail.turn(to) if now.topic in TOPICS else self.trail.go(to))

    def action_unfold(self) -> None:
        self.settle()
        now = self.trail.now
        stays = self.panes is not None and self.panes.unfolds(now)
        self.follow(self.trail.turn(replace(now, unfolded=not now.unfolded, topic=now.topic if stays else CALL)))

    def action_redraw(self) -> None:
        self.app.refresh(repaint=True, layout=True)

    def action_help(self) -> None:
        self.app.push_screen(Help())
