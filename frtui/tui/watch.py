"""Follows a folder while a job still dumps: by stat() alone, so that nothing in it can hold this up."""

from __future__ import annotations

import os
import stat
import threading
import time
from typing import Callable

EVERY = 1.0
"""Seconds between two looks."""
PATIENCE = 10.0
"""Seconds after which what has settled is read, although other files still grow or arrive."""

Seen = dict[str, tuple[int, int]]
"""Of each file that may be a dump: its size and when it was written."""


def scan(source: str, prefix: str | None) -> Seen:
    """Nothing is opened. Raises OSError where the source itself can't be listed."""
    info = os.stat(source)
    found: Seen = {}
    if stat.S_ISDIR(info.st_mode):
        _scan(source, prefix, 0, {(info.st_dev, info.st_ino)}, found)
    elif stat.S_ISREG(info.st_mode):
        found[source] = (info.st_size, info.st_mtime_ns)
    return found


def _scan(folder: str, prefix: str | None, depth: int, seen: set[tuple[int, int]], found: Seen) -> None:
    from frtui.load.discover import MAX_DEPTH

    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        try:
            info = os.stat(path)
            if stat.S_ISREG(info.st_mode):
                if _may_be_read(name, info.st_size, prefix):
                    found[path] = (info.st_size, info.st_mtime_ns)
            elif stat.S_ISDIR(info.st_mode) and not name.startswith(".") and (info.st_dev, info.st_ino) not in seen:
                seen.add((info.st_dev, info.st_ino))
                if depth < MAX_DEPTH:
                    _scan(path, prefix, depth + 1, seen, found)
        except OSError:  # gone in the meantime, or not ours to look into: reading tells of it
            continue


def _may_be_read(name: str, size: int, prefix: str | None) -> bool:
    """A dump, a ring or an archive by its name; a log that grows all the time is none."""
    from frtui.load import archive, names

    if names.our_own(name):
        return False
    return archive.is_archive(name, size) or not names.never_a_dump(name) and names.parse(name, prefix) is not None


class Follower:
    """Knows when it is worth reading again."""

    def __init__(self, source: str, prefix: str | None, clock: Callable[[], float] = time.monotonic) -> None:
        self.source, self.prefix, self._clock = source, prefix, clock
        self._read: Seen | None = None
        self._last: Seen = {}
        self._since: float | None = None

    def note(self) -> None:
        """What lies there now is about to be read."""
        try:
            self._read = self._last = scan(self.source, self.prefix)
        except OSError:
            self._read = {}
        self._since = None

    def due(self) -> bool:
        """Whether something has changed since it was read, and has come to rest. Raises OSError."""
        before, self._last = self._last, self._look()
        if self._last == self._read:
            self._since = None
            return False
        self._since = self._clock() if self._since is None else self._since
        resting = {path for path, (size, _) in self._last.items() if path in before and before[path][0] == size}
        if len(resting) == len(self._last) == len(before):
            return True
        read = self._read or {}
        some = any(self._last[path] != read.get(path) for path in resting)
        return some and self._clock() - self._since >= PATIENCE

    def _look(self) -> Seen:
        try:
            return scan(self.source, self.prefix)
        except FileNotFoundError:
            if self._read:
                raise
            return {}  # not there yet


class Watcher:
    """A thread that looks, and tells: `changed()`, or `lost(why)` after which it looks no more."""

    def __init__(self, follower: Follower, changed: Callable[[], object], lost: Callable[[str], object]) -> None:
        self.follower, self._changed, self._lost = follower, changed, lost
        self._stop = threading.Event()
        # A daemon: quitting must not wait for a file system that has gone to sleep.
        threading.Thread(target=self._look, daemon=True).start()

    def stop(self) -> None:
        self._stop.set()

    def _look(self) -> None:
        while not self._stop.wait(EVERY):
            try:
                due = self.follower.due()
            except OSError as error:
                self._lost(error.strerror or str(error))
                return
            if due and not self._stop.is_set():
                self._changed()
