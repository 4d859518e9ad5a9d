"""From the arguments of a call to a record in the ring, and from its Work to the record's end.

This runs inside every collective, so it allocates little and describes a call in full only at first sight. Nothing
here raises into the job (`interpose` catches it), and nothing here keeps a tensor, a frame or a group alive for longer
than a poll.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from itertools import islice
from typing import Any, Callable

from recorder.job.callstacks import CallStacks
from recorder.job.describe import Signatures
from recorder.job.groups import Group, Groups
from recorder.job.operations import Operation
from recorder.ring import Ring
from recorder.ringfile import COMPLETED, ERROR, FAILED, GROUP, INFERRED, ISSUED, P2P, THREAD, Record
from recorder.stacks import message

_BATCH_DEPTH = 6
"""Frames between `batch_isend_irecv` and the kernel, and some."""

_OUR_REFERENCES = 5
"""To a Work in `_let_go`: the table of flights, the list of unsaid ones, two variables and an argument."""
Flight = tuple[int, int, Group, bool]
"""Record, its flags, its group, and whether a returned `wait` means that the call is over."""


class Calls:
    """Records the calls of this process into one ring. `stack` is `python`, `cpp` or `none`."""

    def __init__(self, ring: Ring, stack: str = "python") -> None:
        self.ring = ring
        self.groups = Groups(self._group_made)
        self.signatures = Signatures(ring)
        self.in_flight: dict[Any, Flight] = {}
        """By Work, oldest first; at most as many as the ring holds, after a poll: what left it needs no end."""
        self.on_failure: Callable[[str, str], None] = lambda name, error: None
        self.faults = 0
        """Calls that could not be recorded, for a fault of ours."""
        self._stacks = None if stack == "none" else CallStacks(ring, stack == "cpp")
        self._threads: dict[int, int] = {}
        self._errors: dict[str, int] = {}
        self._errors_made = 0
        self._batches: dict[int, tuple[Any, Group]] = {}
        """By thread: the frame of its latest `batch_isend_irecv`."""
        self._batched = False
        """Whether something was added to one since the last poll."""
        self._unheld: set[int] = set()
        """Identities of sends and receives that nobody was seen to hold at the last poll."""
        ring.on_renewal.append(self._keep)
        self._thread(threading.main_thread())

    def begin(self, operation: Operation, args: Sequence[Any], pg: Any) -> Flight | None:
        """Record a call that is about to be made; None for one that is left to torch's own recorder."""
        group = self.groups.of(pg)
        if self.in_flight:
            self.poll(1)
        frame = sys._getframe(1).f_back  # None in threads of C++, such as autograd's
        ident = threading.get_ident()
        # Held throughout: numbers in the order of the records, and no text may go that a record is about to name.
        with self.ring.lock:
            signature, on_cpu = self.signatures.of(operation, args, group, pg)
            if not signature:
                return None
            group.op_id += 1
            if operation.p2p:
                self._count_p2p(group, frame, ident)
                flags = ISSUED | P2P
            else:
                group.collective_seq += 1
                flags = ISSUED
            record = self.ring.put(
                signature,
                self._stacks.number(frame) if self._stacks else 0,
                group.number,
                flags,
                group.collective_seq,
                group.p2p_seq,
                group.op_id,
                group.timeout,
                self._threads.get(ident) or self._thread(threading.current_thread()),
            )
        return record, flags, group, on_cpu

    def issued(self, flight: Flight, work: Any) -> None:
        """The back end has taken the call. Without a Work it was over when it returned."""
        if work is None:
            self._end(flight, COMPLETED)
            return
        self.in_flight[work] = flight

    def failed(self, flight: Flight, error: BaseException) -> None:
        """The call raised, when it was made or when it was waited for."""
        text = f"{type(error).__name__}: {message(error)}"[:1000]
        self.ring.complete(flight[0], flight[1] | FAILED, self._error(text))
        self.on_failure(self.name_of(flight[0]), text)

    def waited(self, work: Any, flight: Flight, error: BaseException | None) -> None:
        """A wait is over. On the CPU that is the end of the call: gloo's reduce_scatter never says so itself."""
        if error is not None:
            if self.in_flight.pop(work, None) is not None:
                self.failed(flight, error)
        elif (flight[3] or work.is_completed()) and self.in_flight.pop(work, None) is not None:
            if flight[1] & P2P:
                self._name_source(flight, work)
            self._end(flight, COMPLETED)

    def poll(self, most: int = 1 << 30) -> None:
        """Look which of the oldest calls in flight are over, for those that are waited for in C++ or not at all."""
        if most > 1:
            if not self._batched:
                self._batches.clear()
            self._batched = False
            while len(self.in_flight) > self.ring.n_slots:
                self.in_flight.pop(next(iter(self.in_flight)), None)
        unsaid: list[tuple[Any, Flight]] = []
        for work, flight in self._oldest(most):
            try:
                over = work.is_completed()
            except RuntimeError:
                over = True
            if not over:
                unsaid.append((work, flight))
            elif self.in_flight.pop(work, None) is not None:
                self._over(work, flight)
        for work, flight in unsaid:
            # gloo's reduce_scatter never says that it is over; but the collectives of a group end in order.
            passed = flight[0] < flight[2].completed if not flight[1] & P2P else most > 1 and self._let_go(work)
            if passed and self.in_flight.pop(work, None) is not None:
                self._end(flight, COMPLETED | INFERRED)

    def oldest_open(self, after: int = -1) -> Record | None:
        """The call that has been open for longest, of those that were made after call number `after`.

        A send that nobody waits for stays open for ever, and must not hide the next one. A call that blocks its
        caller inside the back end has no Work yet: it is the newest record.
        """
        flights = self._oldest(1 if after < 0 else 1 << 30)
        number = next((flight[0] for _, flight in flights if flight[0] > after), self.ring.newest)
        record = self.ring.look(number)
        return None if record is None or number <= after or record.flags & (COMPLETED | FAILED) else record

    def name_of(self, record: int) -> str:
        """For messages: `all_reduce #3 of default_pg`; `a call` when it has left the ring."""
        found = self.ring.look(record)
        if found is None:
            return "a call"
        group = next((group.desc for group in self.groups if group.number == found.group), "a group")
        number = f" #{found.collective_seq}" if not found.flags & P2P else ""
        return f"{self.signatures.name(found.signature)}{number} of {group}"

    def _oldest(self, most: int) -> list[tuple[Any, Flight]]:
        try:
            return list(islice(self.in_flight.items(), most))
        except RuntimeError:  # another thread added to it meanwhile; there is a next poll
            return []

    def _over(self, work: Any, flight: Flight) -> None:
        error = _error_of(work)
        if error is not None:
            self.failed(flight, error)
        else:
            self._end(flight, COMPLETED)

    def _end(self, flight: Flight, how: int) -> None:
        record, flags, group, _ = flight
        self.ring.complete(record, flags | how)
        if not flags & P2P:
            group.completed = record

    def _count_p2p(self, group: Group, frame: Any, ident: int) -> None:
        """All operations of one `batch_isend_irecv` share a number, as in NCCL's batches.

        The frame tells one batch from the next; it is held until nothing was added between two polls, lest another
        gets its address.
        """
        for _ in range(_BATCH_DEPTH):
            if frame is None or frame.f_code.co_name == "batch_isend_irecv":
                break
            frame = frame.f_back
        else:
            frame = None
        latest = self._batches.get(ident)
        if frame is None or latest is None or latest[0] is not frame or latest[1] is not group:
            group.p2p_seq += 1
        if frame is not None:
            self._batches[ident] = frame, group
            self._batched = True

    def _let_go(self, work: Any) -> bool:
        """Whether the job has forgotten a send or receive without waiting: only we keep it, and with it its tensors.

        gloo says that one is over only to who waits. Seen at two polls: the first may come before the job has it.
        """
        seen = id(work) in self._unheld
        self._unheld.discard(id(work))
        if sys.getrefcount(work) > _OUR_REFERENCES:
            return False
        if not seen:
            self._unheld.add(id(work))
        return seen

    def _name_source(self, flight: Flight, work: Any) -> None:
        """A receive from anyone knows its sender once it is over."""
        record = self.ring.look(flight[0])
        if record is None or not self.signatures.name(record.signature).endswith("?"):
            return
        try:
            source = int(work._source_rank())
        except RuntimeError:
            return
        self.ring.rename(flight[0], self.signatures.with_source(record.signature, source))

    def _group_made(self, group: Group) -> None:
        self.ring.text(GROUP, group.number, {"name": group.name, "desc": group.desc, "ranks": group.ranks})

    def _error(self, text: str) -> int:
        number = self._errors.get(text, 0)
        if not number:
            self._errors_made = number = self._errors_made + 1
            if self.ring.text(ERROR, number, text):
                self._errors[text] = number
        return number

    def _keep(self, kept: dict[int, set[int]]) -> None:
        numbers = kept.get(ERROR, set())
        self._errors = {text: number for text, number in self._errors.items() if number in numbers}

    def _thread(self, thread: threading.Thread) -> int:
        number = len(self._threads) + 1
        self._threads[thread.ident or 0] = number
        self.ring.text(THREAD, number, [str(thread.ident), thread.name])
        return number


def _error_of(work: Any) -> BaseException | None:
    """What a finished Work ended with. By its future, as `Work.exception` warns; gloo's p2p has none."""
    try:
        work.get_future().value()
    except Exception as error:
        return None if "not implemented" in str(error) else error
    return None
