"""Keys and messages of reading: the first time, again, as the folder changes, and other attempts."""

from __future__ import annotations

from frtui.tui.base import Base
from frtui.tui.loader import Folder, Loader
from frtui.view import reading
from frtui.view.rows import Rows
from frtui.view.select import TOPICS, Trail

WATCHED = "Watching: it opens as soon as there is a dump. W stops watching, r reads again, q quits."


class Reading(Base):
    _nothing = False
    """Pane 5 says why there is no job."""

    def on_loader_read(self, message: Loader.Read) -> None:
        self.loader.tell(message.now)
        if self.panes is None and not self.loader.quiet:
            self.desk.pane("ranks").show(message.ranks)

    def on_loader_first(self, message: Loader.First) -> None:
        if self.panes is None:
            told = reading.preliminary(message.sentences)
            told.fit(self.size.width)
            self.desk.pane("findings").show(told)
            self.desk.fit_head(min(len(told), self.size.height // 3), 0)

    def on_loader_loaded(self, message: Loader.Loaded) -> None:
        from frtui.view.again import again  # with what judges, which the first frame does not wait for

        self.settle()
        before, self.panes = self.panes, message.panes
        asked = not self.loader.quiet
        self.loader.done()
        self.clear_message()
        then, self.trail = self.trail.now, again(before, self.panes, self.trail.now) if before else self.first()
        if then.topic in TOPICS and self.trail.now.topic not in TOPICS:
            self.desk.zoom(self._zoomed)
        self.fit_head()
        # Laid out first: the panes get their lines once, at the width that they then have.
        stays = before and (then.rank, then.topic) == (self.trail.now.rank, self.trail.now.topic)
        self.call_after_refresh(self.refill if stays else self.fill)
        reader = self.loader.reader
        if isinstance(reader, Folder) and reader.note:
            self.say(reader.note)
        elif before and asked:
            self.say(f"read again: {len(self.panes.job.ranks)} ranks, {self.panes.job.n_entries:,} entries")

    def first(self) -> Trail:
        assert self.panes is not None
        return Trail(self.panes.first())

    def refill(self) -> None:
        """The cursor of pane 5 stays where it was, for the person may be reading there."""
        line = self.desk.pane("call").key
        self.fill()
        if line is not None:
            self.desk.pane("call").stand_on(line)

    def on_loader_failed(self, message: Loader.Failed) -> None:
        self.loader.done()
        if self.panes:
            self.say(message.reason.splitlines()[0], error=True)
            return
        hint = WATCHED if self.loader.watcher else "r reads again, q quits"
        self._nothing, self._reason = True, message.reason
        self.desk.pane("call").show(reading.message(message.reason, hint), title="Nothing to show")
        self.desk.go_to("call")
        self.desk.zoom(True)

    def on_loader_crashed(self, message: Loader.Crashed) -> None:
        raise message.error

    def clear_message(self) -> None:
        if self._nothing:
            self._nothing = False
            self.desk.zoom(False)
            self.desk.pane("call").show(Rows(), title="5 Call")
            self.desk.go_to("findings")

    def action_reload(self) -> None:
        self.clear_message()
        self.loader.start()

    # As the folder changes

    def on_loader_changed(self, message: Loader.Changed) -> None:
        if self.loader.watcher:
            self.loader.start(quiet=True)

    def on_loader_lost(self, message: Loader.Lost) -> None:
        self.loader.follow(False)
        self.fit_head()
        self.say(f"no longer watching {self.loader.source}: {message.reason}", error=True)

    def action_watch(self) -> None:
        if not isinstance(self.loader.reader, Folder):
            self.say("there is no folder to watch")
            return
        self.loader.follow(self.loader.watcher is None)
        self.fit_head()
        on = self.loader.watcher is not None
        self.say("watching: read again as files arrive or change" if on else "no longer watching")
        if self._nothing and not self.loader.busy:
            self.on_loader_failed(Loader.Failed(self._reason))

    # Other attempts

    def action_attempt(self) -> None:
        job, reader = self.panes.job if self.panes else None, self.loader.reader
        if job is None or not isinstance(reader, Folder) or job.attempt not in job.attempts:
            self.say("there is only one attempt here")
        elif not self.loader.busy:
            self.settle()
            reader.turn(job.attempts, job.attempt)
            self.loader.start()
