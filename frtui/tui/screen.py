"""The main screen: what each key does to the selection, and the panes brought in line with it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.screen import Screen
from textual.timer import Timer
from textual.widgets import Static

from frtui.tui import clipboard, keys
from frtui.tui.desk import Desk
from frtui.tui.help import Help
from frtui.tui.lines import LineList, safe
from frtui.tui.loader import Loader, Reader
from frtui.tui.prompt import Prompt
from frtui.tui.searching import SearchList
from frtui.view import reading
from frtui.view.rows import Rows
from frtui.view.select import CALL, NAMES, Trail
from frtui.view.topics import TOPICS

if TYPE_CHECKING:
    from frtui.view.panes import Panes

REST = 0.12
"""Seconds without a key after which the other panes follow the cursor."""
ROOMY = 120
"""Below this width a topic takes the whole screen."""


class Main(Screen[None]):
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-medium"), (160, "-wide")]
    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = keys.SCREEN

    def __init__(self, source: str, reader: Reader) -> None:
        super().__init__()
        self.loader = Loader(source, reader)
        self.desk, self.prompt = Desk(id="desk"), Prompt(id="prompt")
        self.panes: Panes | None = None
        self.trail = Trail()
        self._left = "call"
        """The pane that had the keys before a topic was shown."""
        self._moving: LineList | None = None
        self._resting: Timer | None = None

    def compose(self) -> ComposeResult:
        yield Static(f"frtui  {self.loader.source}", id="job", markup=False)
        yield self.loader
        yield self.desk
        yield self.prompt
        hints = (part for name, told in keys.footer() for part in ((name, "bold"), f" {told}  "))
        yield Static(Text.assemble(*hints), id="hints")

    def on_mount(self) -> None:
        self.desk.go_to("findings")
        self.loader.start()

    # Loading

    def on_loader_read(self, message: Loader.Read) -> None:
        self.loader.tell(message.now)
        if self.panes is None:
            self.desk.pane("ranks").show(message.ranks)

    def on_loader_loaded(self, message: Loader.Loaded) -> None:
        before, self.panes = self.panes, message.panes
        self.loader.done()
        self.trail = Trail(self.panes.again(before, self.trail.now) if before else self.panes.first())
        self.fit_head()
        # Laid out first: the panes get their lines once, at the width that they then have.
        self.call_after_refresh(self.fill)
        if before:
            self.say(f"read again: {len(self.panes.job.ranks)} ranks, {self.panes.job.n_entries:,} entries")

    def on_loader_failed(self, message: Loader.Failed) -> None:
        self.loader.done()
        if self.panes:
            self.say(message.reason.splitlines()[0], error=True)
            return
        page = reading.message(message.reason, "r reads again, q quits")
        self.desk.pane("call").show(page, title="Nothing to show")
        self.desk.go_to("call")
        self.desk.zoom(True)

    def on_loader_crashed(self, message: Loader.Crashed) -> None:
        raise message.error

    def action_reload(self) -> None:
        if not self.panes:
            self.desk.zoom(False)
            self.desk.pane("call").show(Rows(), title="5 Call")
        self.loader.start()

    # The panes follow the selection

    def on_resize(self) -> None:
        self.call_after_refresh(self.fit_head)

    def fit_head(self) -> None:
        """The head of the screen grows with what it has to say, up to a third of the screen."""
        if self.panes:
            headline = "frtui  " + reading.headline(self.panes.job, self.size.width - 7)
            self.query_one("#job", Static).update(safe(self.app, headline))
            most = max(2, self.size.height // 6)
            notes = len(self.panes.pane("findings", self.trail.now).rows)
            self.desk.fit_head(min(max(1, notes), most), self.panes.sentences(self.size.width, most))

    def fill(self, but: str = "") -> None:
        for name in NAMES:
            if self.panes and name != but:
                pane, values = self.panes.pane(name, self.trail.now), self.panes.values(name, self.trail.now)
                self.desk.pane(name).offer(pane.rows, pane.key, pane.title, values)
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
        now, onward = self.panes.open(name, message.key, self.trail.now)
        if self.desk.zoomed and onward != name:
            self.desk.zoom(False)
        self.desk.go_to(onward)
        self.follow(self.trail.go(now))

    def follow(self, trail: Trail, but: str = "") -> None:
        """To another selection. A topic takes the whole of a small screen while it is shown."""
        before, self.trail = self.trail.now, trail
        if trail.now.topic in TOPICS:
            self._left = str(self.desk.active.id) if before.topic not in TOPICS else self._left
            self.desk.go_to("call")
            self.desk.zoom(self.size.width < ROOMY)
        elif before.topic in TOPICS:
            self.desk.zoom(False)
        if trail.now != before:
            self.fill(but)

    # Keys: panes

    def action_pane(self, name: str) -> None:
        self.desk.go_to(name)

    def action_cycle(self, direction: int) -> None:
        if not self.prompt.display:
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

    def clear(self, panes: Iterable[SearchList]) -> bool:
        """Whether there was a find, a filter or a loader at work that one may step out of."""
        if any([pane.clear_find() for pane in panes]):
            return True
        for pane in panes:
            if pane.filter:
                pane.filter = ""
                self.fill()
                return True
        self.loader.stop()
        return self.loader.busy

    # Keys: find and filter

    def action_find(self) -> None:
        self.prompt.ask("find", "find: ")

    def action_find_next(self, step: int) -> None:
        self.desk.active.find_again(step)

    def action_filter(self) -> None:
        self.prompt.ask("filter", "filter: ", self.desk.active.filter)

    def close_prompt(self) -> None:
        self.prompt.close()
        self.set_focus(self.desk.active)

    def on_prompt_answered(self, message: Prompt.Answered) -> None:
        self.close_prompt()
        if message.purpose == "find":
            self.desk.active.find(message.text)
        elif message.purpose == "filter":
            self.desk.active.filter = message.text.strip()
            self.fill()
        elif message.text.strip():
            self.export(message.text.strip())

    def on_search_list_missed(self, message: SearchList.Missed) -> None:
        self.say(message.text)

    # Keys: the job

    def action_finding(self, direction: int) -> None:
        self.settle()
        if self.panes and self.panes.findings:
            now = self.trail.now.finding
            to = self.panes.on_finding(0 if now is None else (now + direction) % len(self.panes.findings))
            self.follow(self.trail.go(to))

    def action_turning(self, direction: int) -> None:
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
            to = replace(now, topic=name)
            if self.panes.topic(to) is None:
                self.say(TOPICS[name].nothing)
            else:
                self.follow(self.trail.turn(to) if now.topic in TOPICS else self.trail.go(to))

    def action_unfold(self) -> None:
        self.settle()
        now = self.trail.now
        self.follow(self.trail.turn(replace(now, unfolded=not now.unfolded, topic=CALL)))

    # Keys: out of the screen

    def action_export(self) -> None:
        self.settle()
        if self.panes:
            from frtui.tui import export

            self.prompt.ask("export", "write to: ", export.default_name(self.panes, self.trail.now))

    def export(self, name: str) -> None:
        from frtui.tui import export
        from frtui.tui.app import FrtuiApp

        assert self.panes is not None
        assert isinstance(self.app, FrtuiApp)
        try:
            path = export.write(self.panes, self.trail.now, name)
        except OSError as error:
            self.say(f"not written: {error.strerror or error}: {name}", error=True)
            return
        self.app.written.append(path)
        self.say(f"wrote {path}")

    def action_copy(self) -> None:
        widget = self.desk.active
        if len(widget.rows):
            self.say(clipboard.copy(self.app, widget.rows.text(widget.cursor).strip()))

    def action_redraw(self) -> None:
        self.app.refresh(repaint=True, layout=True)

    def action_help(self) -> None:
        self.app.push_screen(Help())

    def say(self, text: str, error: bool = False) -> None:
        self.app.clear_notifications()  # in a pile they would hide what they speak of
        # Without markup=False, `[rank0]` in a message would vanish, and `[/x]` end the program.
        self.notify(
            safe(self.app, text), markup=False, severity="error" if error else "information", timeout=8 if error else 4
        )
