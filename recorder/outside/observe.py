"""`recorder observe DIR`: beside the job, on the same host, for what no thread of a rank can see to.

A rank whose interpreter lock is held in C runs none of its threads, and a killed one nothing at all. The rings say
both: their heartbeat stands still, their process is gone.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from typing import Any

from recorder import paths, ringfile
from recorder.outside import rings
from recorder.outside.rings import Found
from recorder.stacks import STACKS_SIGNAL
from recorder.text import clean

INTERVAL_S = 0.5
GRACE_S = 3.0
"""For the ranks to dump themselves once they were asked through the request file."""
_STACKS_S = 2.0
"""For faulthandler to write the stacks of a process that was sent the signal."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dir", metavar="DIR", help="the folder of the dumps; it need not exist yet")
    parser.add_argument(
        "--stuck-after",
        type=float,
        metavar="SECONDS",
        help="an open call is a hang after so long (default: half of its group's timeout, at most 300)",
    )
    parser.add_argument("--keep-going", action="store_true", help="stay when all ranks are gone, for the next job")


def run(options: argparse.Namespace) -> int:
    """Until every rank that was seen has ended. Always 0: what it wrote is on stdout."""
    observer = Observer(options.dir, options.stuck_after)
    print(f"observing {clean(options.dir)}; ctrl+c stops", file=sys.stderr)
    try:
        while observer.look() or options.keep_going:
            time.sleep(INTERVAL_S)
    except KeyboardInterrupt:
        pass
    return 0


class Observer:
    def __init__(self, folder: str, stuck_after: float | None) -> None:
        self._folder, self._stuck_after = folder, stuck_after
        self._handled: set[tuple[str, int, int]] = set()
        """Rings and what was done about them: (path, when the ring was opened, its newest record)."""

    def look(self) -> bool:
        """Once over all rings of this host; dumps for those that can't. False when all ranks seen have ended."""
        found = [ring for ring in rings.find(self._folder) if isinstance(ring, Found)]
        here = [(ring, ring.alive()) for ring in found]
        here = [(ring, alive) for ring, alive in here if alive is not None]
        reason = self._trouble(here)
        if reason:
            self._handle(reason)
        return not here or any(alive or self._is_open(ring) for ring, alive in here)

    def _is_open(self, ring: Found) -> bool:
        """A rank that was killed, and that nothing was done about yet."""
        return not ring.header.ended and self._key(ring) not in self._handled

    def _trouble(self, here: list[tuple[Found, bool | None]]) -> str:
        for ring, alive in here:
            header = ring.header
            if self._key(ring) in self._handled:
                continue
            if not alive and not header.ended:
                return f"rank {header.rank}: its process (pid {header.pid}) is gone"
            record = ring.oldest_open() if alive else None
            if record is not None and self._is_stuck(record):
                age = (time.time_ns() - record.created_ns) / 1e9
                return f"rank {header.rank}: call {record.id} has been open for {age:.1f} s"
        return ""

    def _is_stuck(self, record: ringfile.Record) -> bool:
        limit = self._stuck_after
        if limit is None:
            limit = min(300.0, record.timeout_ms / 2000) if record.timeout_ms else 300.0
        # After the ranks themselves, which know more.
        return time.time_ns() - record.created_ns > (limit + 1.0) * 1e9

    def _handle(self, reason: str) -> None:
        """Ask all ranks to dump, then write what those leave out that can't."""
        self._ask(reason)
        end = time.monotonic() + GRACE_S
        while time.monotonic() < end and self._owing():
            time.sleep(0.2)
        for ring in self._owing():
            self._write(ring, reason)
        self._handled.update(self._key(ring) for ring in self._here())

    def _here(self) -> list[Found]:
        return [r for r in rings.find(self._folder) if isinstance(r, Found) and r.alive() is not None]

    def _owing(self) -> list[Found]:
        """Ranks that didn't end in order and wrote no dump since their newest call."""
        return [ring for ring in self._here() if not ring.header.ended and ring.header.dump_ns < _moment(ring)]

    def _ask(self, reason: str) -> None:
        for folder in {os.path.dirname(ring.path) for ring in self._here()}:
            try:
                with open(paths.request_path(folder), "w") as file:
                    json.dump({"reason": reason}, file)
            except OSError as error:
                print(f"recorder: {clean(str(error))}", file=sys.stderr)

    def _write(self, ring: Found, reason: str) -> None:
        alive = ring.alive()
        threads = _asked_stacks(ring) if alive else rings.last_stacks(ring)
        why = reason if alive else f"the process (pid {ring.header.pid}) is gone"
        if alive:
            why += f"; no sign of life of this rank's watch thread for {ring.silent_s:.0f} s"
        try:
            path = rings.write(ring, rings.dump_of(ring, "observer", why, alive, threads))
        except (OSError, ValueError) as error:
            print(f"recorder: rank {ring.header.rank}: {clean(str(error))}", file=sys.stderr)
            return
        if path:
            print(f"rank {ring.header.rank}: wrote {clean(path)}: {clean(why)}", flush=True)

    @staticmethod
    def _key(ring: Found) -> tuple[str, int, int]:
        newest = ring.contents.records[-1].id if ring.contents.records else -1
        return ring.path, ring.header.opened_ns, newest


def _moment(ring: Found) -> int:
    """When the rank made its newest call."""
    return ring.contents.records[-1].created_ns if ring.contents.records else ring.header.opened_ns


def _asked_stacks(ring: Found) -> list[dict[str, Any]]:
    """The stacks of a live rank, by a signal whose handler needs no interpreter lock."""
    if not STACKS_SIGNAL:
        return []
    before = _size(ring.fault_path)
    if before < 0:
        return []  # without the file there is no handler, and the signal would kill
    os.kill(ring.header.pid, STACKS_SIGNAL)
    end = time.monotonic() + _STACKS_S
    size = before
    while time.monotonic() < end:
        time.sleep(0.1)
        if (now := _size(ring.fault_path)) == size > before:
            break
        size = now
    return rings.last_stacks(ring, before)


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return -1
