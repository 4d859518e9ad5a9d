"""`recorder observe DIR`: beside the job, on the same host, for what no thread of a rank can see to.

A rank whose interpreter lock is held in C runs none of its threads, and a killed one nothing at all. The rings say
both: their heartbeat stands still, their process is gone.
"""

from __future__ import annotations

import argparse
import os
import socket
import sys
import time

from recorder import requests, ringfile
from recorder.outside import rings
from recorder.outside.rings import Found
from recorder.ringfile import SILENT_S, stuck_after_s
from recorder.stacks import STACKS_SIGNAL
from recorder.text import clean

INTERVAL_S = 0.5
_STACKS_S = 2.0
"""For faulthandler to write the stacks of a process that was sent the signal."""
_WALK_SHARE = 20
"""Looking for rings may take a twentieth of the time: the folder may be a large one, on a slow file system."""
_LOOK_AGAIN_S = 60.0
"""A rank may go on on another host, and a new file may get the inode of an old one."""


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
        self._began = time.time_ns()
        self._elsewhere: set[tuple[str, int]] = set()
        """Rings of other hosts, by path and inode: a job has many hosts. Looked at again after a while."""
        self._look_again = 0.0
        self._paths: list[str] = []
        self._next_walk = 0.0
        self._handled: set[tuple[object, ...]] = set()
        """What something was done about: a ring whose process had gone, a call that was open for long."""
        self._gone: set[tuple[str, int]] = set()
        """Rings whose process was seen to be gone: a zombie that is reaped is not found, and for some seconds its last
        heartbeat looks like one from another container."""
        self._seen = False
        """A rank that lived while we were there. The rings of an earlier job are no reason to end."""

    def look(self) -> bool:
        """Once over all rings of this host; dumps for those that can't. False when all ranks seen have ended."""
        here = self._here()
        self._seen = self._seen or any(self._alive(ring) or ring.header.opened_ns > self._began for ring in here)
        reason = next(filter(None, map(self._trouble, here)), "")
        if reason:
            self._handle(reason)
        return not self._seen or any(map(self._alive, here))

    def _alive(self, ring: Found) -> bool:
        key = ring.path, ring.header.opened_ns
        if not ring.alive():
            self._gone.add(key)
        return key not in self._gone

    def _here(self) -> list[Found]:
        """The rings of this host, without their texts."""
        now = time.monotonic()
        if now >= self._look_again:
            self._elsewhere.clear()
            self._look_again = now + _LOOK_AGAIN_S
        if now >= self._next_walk:
            self._paths = [path for path in rings.paths(self._folder) if self._is_here(path)]
            self._next_walk = now + _WALK_SHARE * (time.monotonic() - now)
        found = (rings.glance(path) for path in self._paths)
        return [ring for ring in found if ring is not None]

    def _is_here(self, path: str) -> bool:
        try:
            identity = path, os.stat(path).st_ino
        except OSError:
            return False
        if identity not in self._elsewhere and rings.host_of(path) not in (socket.gethostname()[:64], ""):
            self._elsewhere.add(identity)
        return identity not in self._elsewhere

    def _trouble(self, ring: Found) -> str:
        """Why something has to be done; empty while nothing has, or when it was."""
        header, limit = ring.header, self._limit(ring)
        if header.ended:
            return ""
        if not self._alive(ring):
            return self._once(ring, "gone") and f"rank {header.rank}: its process (pid {header.pid}) is gone"
        if ring.silent_s > max(limit, SILENT_S):
            silent = f"rank {header.rank}: its watch thread has not run for {ring.silent_s:.1f} s"
            return self._once(ring, "silent", _moment(ring)) and silent
        record = ring.oldest_open()
        if record is None or header.dump_ns >= record.created_ns:
            return ""
        age = (time.time_ns() - record.created_ns) / 1e9
        if age <= limit + 1:  # after the ranks themselves, which know more
            return ""
        stuck = f"rank {header.rank}: its record {record.id} has been open for {age:.1f} s"
        return self._once(ring, "stuck", record.id) and stuck

    def _once(self, ring: Found, *what: object) -> str:
        """Something true, the first time."""
        key = (ring.path, ring.header.opened_ns, *what)
        known = key in self._handled
        self._handled.add(key)
        return "" if known else "new"

    def _limit(self, ring: Found) -> float:
        timeout = ring.contents.records[-1].timeout_ms if ring.contents.records else 0
        return stuck_after_s(self._stuck_after, timeout)

    def _handle(self, reason: str) -> None:
        """Ask all ranks to dump, and write the dumps of those that can't."""
        asked = time.time_ns()
        self._ask(reason)
        for ring in self._here():
            alive = self._alive(ring)
            if _owes(ring, alive, asked):
                self._once(ring, "silent" if alive else "gone", *([_moment(ring)] if alive else []))
                self._write(ring.path, reason)

    def _ask(self, reason: str) -> None:
        for folder in {os.path.dirname(ring.path) for ring in self._here() if self._alive(ring)}:
            try:
                requests.ask(folder, reason)
            except OSError as error:
                print(f"recorder: {clean(str(error))}", file=sys.stderr)

    def _write(self, path: str, reason: str) -> None:
        ring = rings.read(path)
        if isinstance(ring, str):
            print(f"recorder: {clean(ring)}", file=sys.stderr)
            return
        alive, rank = self._alive(ring), ring.header.rank
        fault = _asked_stacks(ring) if alive else rings.fault(ring)
        why = reason if alive else f"the process (pid {ring.header.pid}) is gone"
        if alive:
            why += f"; no sign of life of this rank's watch thread for {ring.silent_s:.0f} s"
        try:
            written = rings.write(ring, rings.dump_of(ring, "observer", why, alive, fault))
        except (OSError, ValueError) as error:
            print(f"recorder: rank {rank}: {clean(str(error))}", file=sys.stderr)
            return
        if written:
            print(f"rank {rank}: wrote {clean(written)}: {clean(why)}", flush=True)


def _owes(ring: Found, alive: bool, asked_ns: int) -> bool:
    """It can't dump, and has not done so since it was asked or made its newest call.

    A rank whose watch thread runs can, and knows more; it is left alone.
    """
    header = ring.header
    unable = not alive or ring.silent_s > SILENT_S
    return unable and not header.ended and header.dump_ns < min(asked_ns, _moment(ring))


def _moment(ring: Found) -> int:
    """When the rank made its newest call."""
    return ring.contents.records[-1].created_ns if ring.contents.records else ring.header.opened_ns


def _asked_stacks(ring: Found) -> str:
    """The stacks of a live rank, by a signal whose handler needs no interpreter lock."""
    if not STACKS_SIGNAL:
        return ""
    before = _size(ring.fault_path)
    if before < 0 or not _is_caught(ring.header):
        return ""  # the signal would kill
    os.kill(ring.header.pid, STACKS_SIGNAL)
    end = time.monotonic() + _STACKS_S
    size = before
    while time.monotonic() < end:
        time.sleep(0.1)
        if (now := _size(ring.fault_path)) == size > before:
            break
        size = now
    return rings.fault(ring, before)


def _is_caught(header: ringfile.Header) -> bool:
    """Whether that process has a handler for the signal, and is the ring's: in a container pids mean others."""
    try:
        with open(f"/proc/{header.pid}/status") as status:
            caught = next(line for line in status if line.startswith("SigCgt:")).split()[1]
    except (OSError, StopIteration, IndexError):
        return False
    is_its = header.process_start == ringfile.process_start(header.pid) != 0
    return is_its and bool(int(caught, 16) >> (STACKS_SIGNAL - 1) & 1)


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return -1
