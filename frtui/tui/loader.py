"""Reads and judges a folder in a thread, and shows how far it is."""

from __future__ import annotations

import gc
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Callable

from textual.message import Message
from textual.widgets import Static

from frtui.view.reading import Reading, progress

if TYPE_CHECKING:
    from frtui.load import Progress
    from frtui.view.panes import Panes

Reader = Callable[[Callable[["Progress"], None], Callable[[], bool]], "Panes"]
"""Reads a job: given what to tell the progress, and what tells whether to stop."""

PAUSE = 0.1
"""Seconds between two reports: more would only cost bytes."""


def folder(source: str, prefix: str | None, attempt: str | None) -> Reader:
    def read(progress: Callable[[Progress], None], cancelled: Callable[[], bool]) -> Panes:
        # Here, in the loader's thread: the screen is there before these are imported.
        from frtui.engine import diagnose
        from frtui.load import load
        from frtui.view.panes import Panes

        job = load(source, prefix=prefix, attempt=attempt, progress=progress, cancelled=cancelled)
        return Panes(job, tuple(diagnose(job)))

    return read


class Loader(Static):
    @dataclass
    class Read(Message):
        """More files have been read."""

        ranks: Reading
        now: Progress

        def can_replace(self, message: Message) -> bool:
            return isinstance(message, Loader.Read)

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

    def __init__(self, source: str, reader: Reader) -> None:
        super().__init__("", id="progress", markup=False)
        self.source, self.reader = source, reader
        self.busy = False
        self._stop = threading.Event()

    def start(self) -> None:
        if self.busy:
            return
        self.busy, self.display = True, True
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

    def tell(self, now: Progress) -> None:
        self.update(progress(now.files_done, now.files_total, now.bytes_done, now.bytes_total))

    def _work(self, stop: threading.Event) -> None:
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
            return self.Failed("Stopped before all files were read.")
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

        panes = self.reader(report, stop.is_set)
        panes.warm()
        gc.freeze()
        return self.Loaded(panes)
