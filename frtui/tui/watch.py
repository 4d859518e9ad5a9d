"""Follows a folder while a job still dumps: by stat(), and by the heads of rings, whose stat() never changes."""

from __future__ import annotations

import os
import stat
import threading
import time
from typing import Callable, NamedTuple

from frtui.model import NONE

EVERY = 1.0
"""Seconds between two looks."""
PATIENCE = 10.0
"""Seconds after which what has settled is read, although other files still grow or arrive. Rings change as long as
their ranks live: for them alone, nothing is read sooner."""


class Look(NamedTuple):
    """What tells that a file has changed."""

    size: int
    state: int
    """When it was written; of a ring, which is mapped memory and shows no such time, what its head says."""
    rank: int = NONE
    ring: bool = False


Seen = dict[str, Look]
"""Each file that may be a dump, by path."""


def scan(source: str, prefix: str | None) -> Seen:
    """Nothing but rings is opened. Raises OSError where the source itself can't be listed."""
    info = os.stat(source)
    found: Seen = {}
    if stat.S_ISDIR(info.st_mode):
        _scan(source, prefix, 0, {(info.st_dev, info.st_ino)}, found)
    elif stat.S_ISREG(info.st_mode):
        found[source] = _look(source, info, None) or Look(info.st_size, info.st_mtime_ns)
    _leave_out_spares(found)
    return found


def _leave_out_spares(found: Seen) -> None:
    """A ring beside a dump of its rank is not read, and changes ten times a second."""
    from frtui.load.names import home

    dumps = {(os.path.dirname(path), look.rank) for path, look in found.items() if not look.ring}
    spares = [path for path, look in found.items() if look.ring and (home(os.path.dirname(path)), look.rank) in dumps]
    for path in spares:
        del found[path]


def _scan(folder: str, prefix: str | None, depth: int, seen: set[tuple[int, int]], found: Seen) -> None:
    from frtui.load.discover import MAX_DEPTH

    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        try:
            info = os.stat(path)
            if stat.S_ISREG(info.st_mode):
                look = _look(path, info, prefix)
                if look is not None:
                    found[path] = look
            elif stat.S_ISDIR(info.st_mode) and not name.startswith(".") and (info.st_dev, info.st_ino) not in seen:
                seen.add((info.st_dev, info.st_ino))
                if depth < MAX_DEPTH:
                    _scan(path, prefix, depth + 1, seen, found)
        except OSError:  # gone in the meantime, or not ours to look into: reading tells of it
            continue


def _look(path: str, info: os.stat_result, prefix: str | None) -> Look | None:
    """None of what is neither a dump nor a ring nor an archive by its name: a log grows all the time."""
    from frtui.load import archive, names, rings

    name = os.path.basename(path)
    if names.our_own(name):
        return None
    known = None if names.never_a_dump(name) else names.parse(name, prefix)
    if known is not None and known.ring:
        return Look(info.st_size, rings.state(path), known.rank, ring=True)
    if known is None and not archive.is_archive(name, info.st_size):
        return None
    return Look(info.st_size, info.st_mtime_ns, known.rank if known else NONE)


class Follower:
    """Knows when it is worth reading again."""

    def __init__(self, source: str, prefix: str | None, clock: Callable[[], float] = time.monotonic) -> None:
        self.source, self.prefix, self._clock = source, prefix, clock
        self._read: Seen | None = None
        self._last: Seen = {}
        self._since: float | None = None
        self._noted = clock()

    def note(self) -> None:
        """What lies there now is about to be read."""
        try:
            self._read = self._last = scan(self.source, self.prefix)
        except OSError:
            self._read = {}
        self._since, self._noted = None, self._clock()

    def due(self) -> bool:
        """Whether something has changed since it was read, and has come to rest. Raises OSError."""
        before, self._last = self._last, self._look()
        if self._last == self._read:
            self._since = None
            return False
        read = self._read or {}
        changed = {path for path in (*self._last, *read) if self._last.get(path) != read.get(path)}
        if changed and all(path in read and path in self._last and self._last[path].ring for path in changed):
            return self._clock() - self._noted >= PATIENCE
        self._since = self._clock() if self._since is None else self._since
        resting = {path for path, look in self._last.items() if path in before and before[path].size == look.size}
        if len(resting) == len(self._last) == len(before):
            return True
        return not changed.isdisjoint(resting) and self._clock() - self._since >= PATIENCE

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
