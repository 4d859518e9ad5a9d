"""Reads and judges a folder in a thread, and shows how far it is."""

from __future__ import annotations

import gc
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Callable

from textual.message import Message
from textual.widgets import Static

from frtui.tui.watch import Follower, Watcher
from frtui.view.reading import Reading, progress

if TYPE_CHECKING:
    from frtui.load import Progress
    from frtui.view.panes import Panes

Reader = Callable[[Callable[["Progress"], None], Callable[[], bool]], "Panes"]
"""Reads a job: given what to tell the progress, and what tells whether to stop."""

PAUSE = 0.1
"""Seconds between two reports: more would only cost bytes."""


class Folder:
    """The reader of a folder of dumps, a dump or an archive."""

    def __init__(self, source: str, prefix: str | None, attempt: str | None) -> None:
        self.source, self.prefix, self.attempt = source, prefix, attempt
        self.note = ""
        """Why an index was not used."""

    def __call__(self, progress: Callable[[Progress], None], cancelled: Callable[[], bool]) -> Panes:
        # Here, in the loader's thread: the screen is there before these are imported.
        from frtui.engine import diagnose
        from frtui.load import Cancelled
        from frtui.stored import open_job
        from frtui.view.panes import Panes

        opened = open_job(self.source, prefix=self.prefix, attempt=self.attempt, progress=progress, cancelled=cancelled)
        self.note = opened.note

        def check() -> None:
            if cancelled():
                raise Cancelled

        found = tuple(diagnose(opened.job, check)) if opened.findings is None else opened.findings
        return Panes(opened.job, found)

    def first(self, cancelled: Callable[[], bool]) -> list[str]:
        """What the heads of a large folder say at once; empty where they tell nothing, or all is read as soon."""
        from frtui.engine.quick import quick, sentences
        from frtui.load import WORTH, LoadError, load_heads
        from frtui.stored import path_of

        if path_of(self.source).exists():
            return []
        try:
            job = load_heads(self.source, prefix=self.prefix, attempt=self.attempt, cancelled=cancelled, least=WORTH)
        except LoadError:  # the reader says so
            return []
        return sentences(job, quick(job)) if job else []

    def turn(self, attempts: tuple[str, ...], read: str) -> None:
        """To the attempt before the one that was read; from the oldest one to the newest, whichever that is then."""
        at = attempts.index(read) - 1
        self.attempt = attempts[at] if at >= 0 else None


class Loader(Static):
    @dataclass
    class Read(Message):
        """More files have been read."""

        ranks: Reading
        now: Progress

        def can_replace(self, message: Message) -> bool:
            return isinstance(message, Loader.Read)

    @dataclass
    class First(Message):
        """Who is behind, before any entry is read."""

        sentences: list[str]

    @dataclass
    class Loaded(Message):
        panes: Panes

    @dataclass
    class Failed(Message):
        """There is nothing to show; `reason` says why and what to do."""

        reason: str

    @dataclass
    class Crashed(Message):
        error: BaseException

    class Changed(Message):
        """Something in the folder is new, and has come to rest."""

    @dataclass
    class Lost(Message):
        """The folder can't be followed any longer."""

        reason: str

    def __init__(self, source: str, reader: Reader) -> None:
        super().__init__("", id="progress", markup=False)
        self.source, self.reader = source, reader
        self.busy = self.quiet = self._told = False
        self.watcher: Watcher | None = None
        self._stop = threading.Event()

    def follow(self, on: bool) -> None:
        """Follows what the reader reads, or no longer."""
        if self.watcher:
            self.watcher.stop()
        self.watcher = None
        if on and isinstance(self.reader, Folder):
            follower = Follower(self.reader.source, self.reader.prefix)
            tell = self.post_message
            self.watcher = Watcher(follower, lambda: tell(self.Changed()), lambda why: tell(self.Lost(why)))

    def start(self, quiet: bool = False) -> None:
        """`quiet`: nobody asked; the screen stays as it is until all is read."""
        if self.busy:
            return
        self.busy, self.quiet, self.display = True, quiet, not quiet
        if not quiet:
            self.update(f"reading {self.source}  Esc stops")
        self._stop = threading.Event()
        # A daemon: quitting must not wait for a file that is being decoded. Drawn first: the thread would slow it down.
        self.call_after_refresh(threading.Thread(target=self._work, args=(self._stop,), daemon=True).start)

    def stop(self) -> None:
        self._stop.set()

    def done(self) -> None:
        self.busy, self.display = False, False

    def on_unmount(self) -> None:
        self.stop()
        self.follow(False)

    def tell(self, now: Progress) -> None:
        if self.quiet:
            return
        self.update(progress(now.files_done, now.files_total, now.bytes_done, now.bytes_total))

    def _work(self, stop: threading.Event) -> None:
        if gc.get_freeze_count():  # what was shown before the job that is shown now is among it
            gc.unfreeze()
            gc.collect()
        # The collector would stop the screen for long while objects pile up.
        gc.disable()
        try:
            message = self._read(stop)
        except BaseException as error:  # noqa: BLE001 - raised again in the screen's thread
            message = self._gone_wrong(error)
        finally:
            gc.enable()
        self.post_message(message)

    def _gone_wrong(self, error: BaseException) -> Message:
        from frtui.load import Cancelled, LoadError

        if isinstance(error, Cancelled):
            return self.Failed("Stopped before all was read and judged.")
        return self.Failed(str(error)) if isinstance(error, LoadError) else self.Crashed(error)

    def _read(self, stop: threading.Event) -> Message:
        ranks, told = Reading(), 0.0

        def report(now: Progress) -> None:
            nonlocal told
            if now.rank is not None:
                ranks.add(now.rank, now.entries)
            if time.monotonic() - told > PAUSE or now.files_done == now.files_total:
                told = time.monotonic()
                self.post_message(self.Read(ranks, now))

        if self.watcher:
            self.watcher.follower.note()
        if not self._told and isinstance(self.reader, Folder):
            self._told = True
            if sentences := self.reader.first(stop.is_set):
                self.post_message(self.First(sentences))
        panes = self.reader(report, stop.is_set)
        panes.warm()
        gc.freeze()
        return self.Loaded(panes)
