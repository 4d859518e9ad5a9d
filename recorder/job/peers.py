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

STORE_S = 1.0
"""Between two looks into the store."""
FILE_S = 2.0
"""Between two looks at the file: a thousand ranks ask one metadata server."""
_PATIENCE = timedelta(seconds=5)


class Peers:
    """One incident after the other: whoever notices it first writes its reason under the incident's number.

    The store may block for seconds when its host is gone, so a thread of its own talks to it.
    """

    def __init__(self, store: Any, prefix: str, request_file: str, heard: Callable[[str], None]) -> None:
        self._store, self._prefix, self._file = store, prefix, request_file
        self._heard = heard
        self._seen = _changed(request_file)
        self._incident = 0
        self._told: queue.Queue[str | None] = queue.Queue()
        self._thread = threading.Thread(target=self._run, name="recorder-peers", daemon=True)
        self._thread.start()

    def tell(self, reason: str) -> None:
        """Ask all ranks to dump. Returns at once."""
        self._told.put(reason)

    def flush(self, seconds: float) -> None:
        """Wait until what was told has been sent: the process is about to end."""
        end = time.monotonic() + seconds
        while self._told.unfinished_tasks and time.monotonic() < end:
            time.sleep(0.01)

    def stop(self) -> None:
        self._told.put(None)

    def _run(self) -> None:
        looked = 0.0
        while True:
            try:
                reason = self._told.get(timeout=STORE_S)
                if reason is None:
                    return
                self._send(reason)
                self._told.task_done()
            except queue.Empty:
                pass
            self._listen()
            if time.monotonic() - looked >= FILE_S:
                looked = time.monotonic()
                self._look_at_file()

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
        if changed > self._seen:
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
            return str(json.loads(file.read(4096))["reason"])
    except (OSError, ValueError, KeyError, TypeError):
        return f"asked by {path}"


def connect(store: Any) -> Any:
    """A connection of our own to the TCPStore behind `store`; None where there is none, or it can't be reached."""
    from torch.distributed import PrefixStore, TCPStore

    while isinstance(store, PrefixStore):
        store = store.underlying_store
    if not isinstance(store, TCPStore):
        return None
    try:
        return TCPStore(store.host, store.port, None, False, _PATIENCE, wait_for_workers=False)
    except RuntimeError:
        return None


def prefix(generation: int) -> str:
    """Where keys go: nothing of an earlier attempt of the job, which torchrun starts with the same store."""
    run = [os.environ.get(name, "") for name in ("TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT")]
    return "/".join(["recorder", *run, str(generation)])
