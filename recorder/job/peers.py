"""Telling the other ranks that it is time to dump, and hearing it from them.

Through the store that the ranks met in, by a connection of our own (torch's may be blocked in a wait), and through
a file in the folder of the rings, which needs no store and which a person can write too.
"""

from __future__ import annotations

import os
import queue
import threading
import time
from contextlib import suppress
from datetime import timedelta
from typing import Any, Callable

from recorder import requests
from recorder.paths import request_path

STORE_S = 1.0
"""Between two looks into the store."""
RANKS_PER_S = 4000
"""How many looks one store is given in a second; a larger job looks less often."""
STALLED_S = 3.0
"""A store that hasn't taken a message by then is frozen."""
_PATIENCE = timedelta(seconds=5)


class Peers:
    """One incident after the other: whoever notices it first writes its reason under the incident's number.

    A store whose host is frozen never answers and a file system may hang, so each has a thread of its own.
    """

    def __init__(
        self,
        store: Any,
        prefix: str,
        folder: str,
        world_size: int,
        heard: Callable[[str], None],
        needed: Callable[[], bool] = lambda: True,
    ) -> None:
        """`store`: torch's, of which only the address is used. `folder`: of the rings.

        `needed`: False once nobody listens any more and the store may be gone, of which torch would print a stack.
        """
        self._prefix, self._folder, self._file = prefix, folder, request_path(folder)
        self._heard, self._needed = heard, needed
        self._store_s = max(STORE_S, world_size / RANKS_PER_S)
        self._file_s = requests.interval(world_size)
        self._seen = requests.changed(self._file)
        self._incident = 0
        self._told: queue.Queue[str | None] = queue.Queue()
        self._told_at = 0.0
        self._sending: str | None = None
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._stopped = False
        address = _address(store)
        self._has_store = address is not None
        threads = {"file": lambda: self._watch_file(), "store": lambda: self._talk(address)}
        self._threads = [
            threading.Thread(target=run, name=f"recorder-{name}", daemon=True)
            for name, run in threads.items()
            if name == "file" or self._has_store
        ]
        for thread in self._threads:
            thread.start()

    def tell(self, reason: str) -> None:
        """Ask all ranks to dump. Returns at once."""
        self._told_at = time.monotonic()
        self._told.put(reason)
        if not self._has_store:
            self._wake.set()

    def flush(self, seconds: float) -> None:
        """Wait until what was told has been sent: the process is about to end."""
        end = time.monotonic() + seconds
        while self._told.unfinished_tasks and not self._stopped and time.monotonic() < end:
            time.sleep(0.01)

    def stop(self) -> None:
        self._stopped = True
        self._told.put(None)
        self._wake.set()

    def join(self, seconds: float) -> None:
        """After `stop`. A thread that comes back from C++ while the interpreter ends would abort the process."""
        end = time.monotonic() + seconds
        for thread in self._threads:
            thread.join(max(0.0, end - time.monotonic()))

    def _talk(self, address: tuple[str, int] | None) -> None:
        """The thread of the store; it ends when the store is gone."""
        store = connect(address)
        look = time.monotonic() + self._store_s * _spread()
        while store is not None and not self._stopped:
            try:
                reason = self._told.get(timeout=max(0.0, look - time.monotonic()))
                if reason is not None:
                    self._send(store, reason)
            except queue.Empty:
                look = time.monotonic() + self._store_s
                if not self._hear(store):
                    break
        self._has_store = False
        self._wake.set()

    def _send(self, store: Any, reason: str) -> None:
        self._sending = reason
        try:
            store.set(self._key, reason)
            store.check([self._key])  # `set` asks for no answer, and so returns when nobody took it
            self._incident += 1
        except Exception:  # whatever the store raises: the rank that hosted it may be gone
            self._write(reason)
        if self._taken():
            self._told.task_done()

    def _taken(self) -> str | None:
        """What is being sent; only the first to ask gets it."""
        with self._lock:
            reason, self._sending = self._sending, None
        return reason

    def _hear(self, store: Any) -> bool:
        """False when the store is gone."""
        try:
            if not self._needed() or not store.check([self._key]):
                return True
            reason = bytes(store.get(self._key)).decode("utf-8", "replace")
        except Exception:
            return False
        self._incident += 1
        self._heard(reason)
        return True

    @property
    def _key(self) -> str:
        return f"{self._prefix}/{self._incident}"

    def _watch_file(self) -> None:
        look = time.monotonic() + self._file_s * _spread()
        while not self._stopped:
            self._wake.wait(min(1.0, max(0.0, look - time.monotonic())))
            self._wake.clear()
            self._stand_in()
            if time.monotonic() >= look:
                look = time.monotonic() + self._file_s
                self._look_at_file()

    def _stand_in(self) -> None:
        """Send by file what the store doesn't take."""
        while not self._stopped and (not self._has_store or time.monotonic() - self._told_at > STALLED_S):
            try:
                reason = self._taken() or self._told.get_nowait()
            except queue.Empty:
                return
            if reason is not None:
                self._write(reason)
                self._told.task_done()

    def _write(self, reason: str) -> None:
        with suppress(OSError):
            requests.ask(self._folder, reason)
            self._seen = requests.changed(self._file)

    def _look_at_file(self) -> None:
        changed = requests.changed(self._file)
        if changed not in (0, self._seen):  # not only a later one: clocks of hosts differ
            self._seen = changed
            self._heard(requests.reason(self._file))


def _spread() -> float:
    """Ranks that start together shall not ask together."""
    return os.getpid() % 97 / 97


def _address(store: Any) -> tuple[str, int] | None:
    """Of the TCPStore behind `store`; None where there is none."""
    from torch.distributed import PrefixStore, TCPStore

    while isinstance(store, PrefixStore):
        store = store.underlying_store
    return (store.host, store.port) if isinstance(store, TCPStore) else None


def connect(address: tuple[str, int] | None) -> Any:
    """A connection of our own to the TCPStore at `address`; None when it can't be reached."""
    from torch.distributed import TCPStore

    if address is None:
        return None
    try:
        return TCPStore(*address, None, False, _PATIENCE, wait_for_workers=False)
    except Exception:  # whatever: the request file is left
        return None


def prefix(generation: int) -> str:
    """Where keys go: nothing of an earlier attempt of the job, which torchrun starts with the same store."""
    run = [os.environ.get(name, "") for name in ("TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT")]
    return "/".join(["recorder", *run, str(generation)])
