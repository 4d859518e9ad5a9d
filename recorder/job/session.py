"""One life of the default process group on this rank: its ring, its recording, its dumps."""

from __future__ import annotations

import os
import signal
import threading
import time
from dataclasses import dataclass, field
from typing import Any, Callable

from recorder import export, native, ringfile, stacks
from recorder.job import merge, writers
from recorder.job.calls import Calls
from recorder.job.options import Options
from recorder.job.say import say
from recorder.paths import ring_path
from recorder.regular import open_regular
from recorder.ring import Ring

_PATIENCE_S = 20.0
MOST_REASONS = 50


@dataclass
class _Incident:
    """The dump that was made when something went wrong; what goes wrong next, while nothing is called, is added."""

    newest: int
    dump: dict[str, Any] = field(default_factory=dict)


class Session:
    """Made when the default group is, before a rank can hang."""

    def __init__(self, options: Options, rank: int, world_size: int, torch_version: str) -> None:
        """Raises OSError when the folder of the rings can't be written."""
        os.makedirs(options.folder, exist_ok=True)
        self.options, self.rank, self.world_size = options, rank, world_size
        self.signal_numbers = {int(getattr(signal, f"SIG{name}")) for name in options.signals}
        path, prefix = ring_path(options.folder, rank), os.path.basename(options.dump_prefix)
        other = _owner(path)
        self.ring = Ring(path, options.buffer_size, rank, world_size, torch_version, prefix)
        self.calls = Calls(self.ring, options.stack)
        self.tell: Callable[[str], None] = lambda reason: None
        """Ask the other ranks to dump."""
        self._incident: _Incident | None = None
        self._stuck = -1
        self._oldest, self._oldest_since = -1, 0.0
        self._warm = False
        for problem in options.problems:
            self.say(problem)
        if other:
            self.say(f"process {other} records into {path} too: give each job a folder of its own, or files get lost")
        self._lock = threading.RLock()

    def dump(
        self,
        reason: str,
        *more: str,
        tell: bool = True,
        demanded: bool = False,
        stuck: bool = False,
        error: BaseException | None = None,
    ) -> str | None:
        """Write the dump, with the stacks of all threads; where it went, None when it could not be written.

        The first dump of an incident stays as it is, the closest to the cause: later reasons are added to it.
        `more`: further reasons. `demanded`: somebody asked, nothing went wrong. `stuck`: a call of this rank was open
        for too long. Never raises.
        """
        if not self._lock.acquire(timeout=_PATIENCE_S):
            return None
        began = time.monotonic()
        try:
            first, dump = self._content([reason, *more], demanded, stuck, error)
            path = writers.write(self.options.dump_prefix, self.rank, dump)
            if first and self.calls.signatures.native_groups:
                # Second, since it may block: what is there by now says at least what each thread is doing.
                path = writers.write(self.options.dump_prefix, self.rank, merge.merged(dump, False, True, True))
            self.ring.dumped()
            took = (time.monotonic() - began) * 1e3
            if first:
                self.say(f"{reason}: wrote {path} ({len(dump['entries'])} entries, {took:.0f} ms)")
            if tell and first:
                self.tell(f"rank {self.rank}: {reason}")
        except Exception as failure:
            self.say(f"{reason}: no dump was written: {type(failure).__name__}: {failure}")
            return None
        finally:
            self._lock.release()
        return path

    def _content(
        self, reasons: list[str], demanded: bool, stuck: bool, error: BaseException | None
    ) -> tuple[bool, dict[str, Any]]:
        newest, incident = self.ring.newest, self._incident
        if incident is not None and not demanded and self._goes_on(incident):
            later = incident.dump["recorder"]["later_reasons"]
            later += reasons[: max(0, MOST_REASONS - len(later))]
            incident.dump["recorder"]["stuck"] |= stuck
            if error is not None:
                incident.dump["exception"] = stacks.of_exception(error)
            return False, incident.dump
        dump = self.snapshot()
        dump["recorder"].update(
            reason=reasons[0],
            later_reasons=reasons[1:][:MOST_REASONS],
            by="rank",
            dumped_ns=time.time_ns(),
            alive=True,
            demanded=demanded,
            stuck=stuck,
            missed=self.calls.faults,
            lost_texts=self.ring.lost_texts,
        )
        dump["python_stacks"] = stacks.threads()
        if error is not None:
            dump["exception"] = stacks.of_exception(error)
        if not demanded:
            self._incident = _Incident(newest, dump)
        return True, dump

    def _goes_on(self, incident: _Incident) -> bool:
        """Nothing was called since, and what was open has not completed: a slow rank may have come after all."""
        if incident.newest != self.ring.newest:
            return False
        self.calls.poll()
        open_ = [e["record_id"] for e in incident.dump["entries"] if e["state"] != "completed"]
        records = (self.ring.look(number) for number in open_)
        return not any(record is not None and record.flags & ringfile.COMPLETED for record in records)

    def fetch(
        self, *, include_collectives: bool = True, include_stack_traces: bool = True, only_active: bool = False
    ) -> dict[str, Any]:
        """The dump of this moment, with torch's own switches and with the calls that torch's own recorder has."""
        dump = self.snapshot(only_active, include_stack_traces, include_collectives)
        if self.calls.signatures.native_groups:
            dump = merge.merged(dump, only_active, include_stack_traces, include_collectives)
        about = {"reason": "asked for", "by": "rank", "dumped_ns": time.time_ns(), "alive": True, "demanded": True}
        dump["recorder"].update(about, later_reasons=[])
        if include_stack_traces:
            dump["python_stacks"] = stacks.threads()
        return dump

    def snapshot(self, only_active: bool = False, with_stacks: bool = True, entries: bool = True) -> dict[str, Any]:
        """The dump of this moment, without the calls that are left to torch's own recorder."""
        self.calls.poll()
        self.calls.groups.refresh()
        return export.dump_of(ringfile.read(self.ring.snapshot()), only_active, with_stacks, entries)

    def stuck(self) -> str | None:
        """Why the job looks stuck from here, once for each call; None when it doesn't."""
        record = self.calls.oldest_open(self._stuck) if self.options.when_stuck else None
        if record is None:
            return None
        age = self._age(record.id)
        if age < ringfile.stuck_after_s(self.options.stuck_after, record.timeout_ms):
            return None
        self._stuck = record.id
        return f"{self.calls.name_of(record.id)} has been open for {age:.1f} s"

    def _age(self, record: int) -> float:
        """For how long the oldest open call has been that. Not by the clock on the wall, which may jump."""
        now = time.monotonic()
        if record != self._oldest:
            self._oldest, self._oldest_since = record, now
        return now - self._oldest_since

    def poll(self) -> None:
        """What the watch thread does ten times a second."""
        self.calls.poll()
        self.calls.groups.refresh()
        self.ring.beat()
        if self.calls.signatures.native_groups and not self._warm:
            self._warm = native.prewarm()  # in a hang it would take seconds, or never end

    def finish(self, how: int) -> None:
        """The group was destroyed, or the process ends without an error."""
        self.calls.poll()
        self.calls.in_flight.clear()  # what isn't over never will be, and its Work keeps tensors and the group alive
        self.calls.groups.close()
        self.ring.on_renewal.clear()  # who is told holds the ring: jobs without a collector would keep both
        self.ring.finish(how)

    def say(self, text: str) -> None:
        """One line on stderr, unless quiet. Never raises, never waits."""
        if not self.options.quiet:
            say(text, self.rank)


def _owner(path: str) -> int:
    """The running process that records into the ring at `path`; 0 for none."""
    try:
        with open_regular(path) as file:
            header = ringfile.read_header(file.read(ringfile.HEADER_SIZE))
    except (OSError, ValueError):
        return 0
    lives = header.process_start == ringfile.process_start(header.pid) != 0 and ringfile.alive(header)
    return header.pid if lives and not header.ended and header.pid != os.getpid() else 0
