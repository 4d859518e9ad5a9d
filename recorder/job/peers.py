"""Telling the other ranks that it is time to dump, and hearing it from them.

Through the store that the ranks met in, by a connection of our own (torch's may be blocked in a wait), and through
a file in the folder of the rings, which needs no store and which a person can write too.
"""

from __future__ import annotations

import json
import os
import queue
import threading
import time
from datetime import timedelta
from typing import Any, Callable

from recorder.paths import request_interval, request_path

STORE_S = 1.0
"""Between two looks into the store."""
RANKS_PER_S = 4000
"""How many looks one store is given in a second; a larger job looks less often."""
_PATIENCE = timedelta(seconds=5)


class Peers:
    """One incident after the other: whoever notices it first writes its reason under the incident's number.

    The store may block for seconds when its host is gone, so a thread of its own talks to it.
    """

    def __init__(self, store: Any, prefix: str, folder: str, world_size: int, heard: Callable[[str], None]) -> None:
        """`store`: torch's, of which only the address is used. `folder`: of the rings."""
        self._prefix, self._file = prefix, request_path(folder)
        self._heard = heard
        self._store_s = max(STORE_S, world_size / RANKS_PER_S)
        self._file_s = request_interval(world_size)
        self._seen = _changed(self._file)
        self._incident = 0
        self._told: queue.Queue[str | None] = queue.Queue()
        self._store: Any = None
        address = _address(store)
        self._thread = threading.Thread(target=self._run, args=(address,), name="recorder-peers", daemon=True)
        self._thread.start()

    def tell(self, reason: str) -> None:
        """Ask all ranks to dump. Returns at once."""
        self._told.put(reason)

    def flush(self, seconds: float) -> None:
        """Wait until what was told has been sent: the process is about to end."""
        end = time.monotonic() + seconds
        while self._told.unfinished_tasks and self._thread.is_alive() and time.monotonic() < end:
            time.sleep(0.01)

    def stop(self) -> None:
        self._told.put(None)

    def join(self, seconds: float) -> None:
        """After `stop`. A thread that comes back from C++ while the interpreter ends would abort the process."""
        if threading.current_thread() is not self._thread:
            self._thread.join(seconds)

    def _run(self, address: tuple[str, int] | None) -> None:
        self._store = connect(address)
        look_into_store = time.monotonic() + self._store_s
        look_at_file = time.monotonic() + self._file_s
        while True:
            now = time.monotonic()
            try:
                reason = self._told.get(timeout=max(0.0, min(look_into_store, look_at_file) - now))
                if reason is None:
                    self._store = None  # its connection is closed here, not by whoever drops this object
                    return
                self._send(reason)
                self._told.task_done()
            except queue.Empty:
                pass
            now = time.monotonic()
            if now >= look_into_store:
                self._listen()
                look_into_store = now + self._store_s
            if now >= look_at_file:
                self._look_at_file()
                look_at_file = now + self._file_s

    @property
    def _key(self) -> str:
        return f"{self._prefix}/{self._incident}"

    def _send(self, reason: str) -> None:
        try:
            if self._store is not None:
                self._store.set(self._key, reason)
                self._incident += 1
                return
        except Exception:  # whatever the store raises: the rank that hosted it may be gone
            self._store = None
        try:
            with open(self._file, "w") as file:
                json.dump({"reason": reason}, file)
            self._seen = _changed(self._file)
        except OSError:
            pass

    def _listen(self) -> None:
        try:
            if self._store is None or not self._store.check([self._key]):
                return
            reason = bytes(self._store.get(self._key)).decode("utf-8", "replace")
        except Exception:
            self._store = None
            return
        self._incident += 1
        self._heard(reason)

    def _look_at_file(self) -> None:
        changed = _changed(self._file)
        if changed not in (0, self._seen):  # not only a later one: clocks of hosts differ
            self._seen = changed
            self._heard(_request(self._file))


def _changed(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0


def _request(path: str) -> str:
    """The reason in a request file; a person may have made it with `touch`."""
    try:
        with open(path) as file:
            return str(json.loads(file.read(4096))["reason"])[:1000]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return f"asked by {path}"


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
