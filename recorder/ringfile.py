"""The ring of one rank in a mapped file: what a rank records, and what is left of it when it dies.

The pages of a shared mapping belong to the kernel: a process that is killed in the middle of a line of Python leaves
every byte that it had stored. So nothing here is flushed, and nothing has to run when the rank dies (a machine that
crashes does lose the ring). Layout, little-endian throughout:

    header   4,096 bytes, see `_HEADER`
    slots    `n_slots` x 96 bytes: record i lies in slot i % n_slots, see `_SLOT`
    texts    what records repeat (signatures, stacks, groups, errors, threads), each once, as JSON; only ever added to

A slot begins and ends with the number of its record: where the two differ, the rank died while it wrote the slot, and
the reader leaves it out. A text counts once the header's `texts_end` has moved past it.
"""

from __future__ import annotations

import json
import mmap
import os
import socket
import struct
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

MAGIC = b"FRRING1\0"

P2P, ISSUED, COMPLETED, FAILED, INFERRED = 1, 2, 4, 8, 16
"""Flags of a record. INFERRED: its end was not seen, but a later call of its group completed."""

SIGNATURE, STACK, GROUP, ERROR, THREAD = range(1, 6)
"""Kinds of texts."""

RUNNING, DESTROYED, EXITED = 0, 1, 2
"""`Header.ended`: what is open once the group was destroyed or the interpreter has exited is no hang of this rank."""

_HEADER = struct.Struct("<8sIIQQQQiiQQQI64s32s256s")
HEADER_SIZE = 4096
_TEXTS_END = struct.calcsize("<8sIIQ")
_HEARTBEAT = struct.calcsize("<8sIIQQQQiiQQ")
_ENDED = struct.calcsize("<8sIIQQQQiiQQQ")

_SLOT = struct.Struct("<QIIIIQQQQQQIIIIQ")
_SIGNATURE = 8
_COMPLETED = struct.calcsize("<QIIIIQQQQQ")
_END = struct.Struct("<QII")
"""completed_ns, error and flags, which change together."""

_TEXT = struct.Struct("<BII")
_U64, _U32 = struct.Struct("<Q"), struct.Struct("<I")
_FIRST_TEXTS, _MOST_TEXTS = 1 << 20, 64 << 20


class Header(NamedTuple):
    n_slots: int
    texts_end: int
    pid: int
    process_start: int
    """Clock ticks after boot (`/proc/PID/stat`, field 22), which tell a process from a later one of the same pid."""
    rank: int
    world_size: int
    opened_ns: int
    dump_ns: int
    """When the rank wrote its last dump; 0 for never."""
    heartbeat_ns: int
    """When the rank's watch thread last ran."""
    ended: int
    host: str
    torch: str
    prefix: str
    """What the names of the rank's dumps begin with, without the folder."""


class Record(NamedTuple):
    """One slot. Times are nanoseconds since the epoch, 0 where there is none; other numbers point into texts."""

    id: int
    signature: int
    stack: int
    group: int
    thread: int
    collective_seq: int
    p2p_seq: int
    op_id: int
    created_ns: int
    started_ns: int
    completed_ns: int
    error: int
    flags: int
    timeout_ms: int


@dataclass
class Contents:
    header: Header
    records: list[Record]
    """Oldest first."""
    texts: dict[int, dict[int, Any]] = field(default_factory=dict)
    """By kind and number."""
    torn: int = 0
    """Slots that were being written when the rank died."""


class Ring:
    """The writer. Safe for several threads; a fork must not write into its parent's."""

    def __init__(self, path: str, n_slots: int, rank: int, world_size: int, torch: str = "", prefix: str = "") -> None:
        """Create the file, whole and under its name at once. Raises OSError."""
        self.path, self.n_slots = path, n_slots
        self.lock = threading.RLock()
        self.opened_ns = time.time_ns()
        pid = os.getpid()
        identity = (pid, process_start(pid), rank, world_size, self.opened_ns)
        names = (socket.gethostname().encode()[:64], torch.encode()[:32], os.fsencode(prefix)[:256])
        self._texts_start = HEADER_SIZE + n_slots * _SLOT.size
        self._next = 0
        self.lost_texts = 0
        head = (MAGIC, 1, _SLOT.size, n_slots, self._texts_start, *identity, 0, self.opened_ns, RUNNING, *names)
        self._open(_FIRST_TEXTS, _HEADER.pack(*head))
        self._end = self._texts_start

    def _open(self, texts_size: int, content: bytes) -> None:
        """Map a new file with room for so many bytes of texts, and give it its name once `content` is in it."""
        size = self._texts_start + texts_size
        temporary = f"{os.path.dirname(self.path)}/.{os.path.basename(self.path)}.{os.getpid()}.tmp"
        descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
        try:
            # Blocks that are not there would be a SIGBUS in the middle of a training step once the disk is full.
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(descriptor, 0, size)
            else:  # macOS
                os.ftruncate(descriptor, size)
            new = mmap.mmap(descriptor, size)
            new[: len(content)] = content
            os.rename(temporary, self.path)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            raise
        finally:
            os.close(descriptor)
        self.map, self._size = new, size

    def text(self, kind: int, number: int, content: object) -> bool:
        """Store a text that records point to. False when there is no room for it any more."""
        data = json.dumps(content, separators=(",", ":")).encode()
        with self.lock:
            if self._end + _TEXT.size + len(data) > self._size and not self._grow(len(data)):
                self.lost_texts += 1
                return False
            start = self._end + _TEXT.size
            _TEXT.pack_into(self.map, self._end, kind, number, len(data))
            self.map[start : start + len(data)] = data
            self._end = start + len(data)
            _U64.pack_into(self.map, _TEXTS_END, self._end)
        return True

    def _grow(self, more: int) -> bool:
        """Go on in a file with twice the room for texts; the old one is whole until the new one has its name."""
        room = 2 * (self._size - self._texts_start) + more
        if room > _MOST_TEXTS:
            return False
        try:
            self._open(room, self.map[: self._end])
        except OSError:
            return False
        return True

    def put(
        self,
        signature: int,
        stack: int,
        group: int,
        flags: int,
        collective_seq: int,
        p2p_seq: int,
        op_id: int,
        timeout_ms: int,
        thread: int,
    ) -> int:
        """Store a new record; its number."""
        now = time.time_ns()
        with self.lock:
            record = self._next
            self._next = serial = record + 1
            # fmt: off
            _SLOT.pack_into(
                self.map, HEADER_SIZE + record % self.n_slots * 96,
                serial, signature, stack, group, thread, collective_seq, p2p_seq, op_id,
                now, now, 0, 0, flags, timeout_ms, 0, serial,
            )
            # fmt: on
        return record

    def complete(self, record: int, flags: int, error: int = 0) -> None:
        """`record` is over, in one way or the other, if it is still in the ring."""
        offset = HEADER_SIZE + record % self.n_slots * 96
        with self.lock:  # the map may be growing
            if _U64.unpack_from(self.map, offset)[0] == record + 1:
                _END.pack_into(self.map, offset + _COMPLETED, time.time_ns(), error, flags)

    @property
    def newest(self) -> int:
        """Number of the newest record; -1 before the first."""
        return self._next - 1

    def look(self, record: int) -> Record | None:
        """What the ring says of `record`; None once it has left."""
        serial, *fields, _pad, _check = _SLOT.unpack_from(self.map, HEADER_SIZE + record % self.n_slots * _SLOT.size)
        return Record(record, *fields) if serial and serial == record + 1 else None

    def rename(self, record: int, signature: int) -> None:
        """`record` turned out to be another call (a receive from anyone now has a sender)."""
        offset = HEADER_SIZE + record % self.n_slots * 96
        with self.lock:
            if _U64.unpack_from(self.map, offset)[0] == record + 1:
                _U32.pack_into(self.map, offset + _SIGNATURE, signature)

    def beat(self) -> None:
        _U64.pack_into(self.map, _HEARTBEAT, time.time_ns())

    def dumped(self) -> None:
        with self.lock:
            _U64.pack_into(self.map, _HEARTBEAT - 8, time.time_ns())

    def finish(self, how: int) -> None:
        """DESTROYED or EXITED: the rank ended in order."""
        with self.lock:
            _U32.pack_into(self.map, _ENDED, how)

    def snapshot(self) -> bytes:
        """The file's content. Records that other threads change meanwhile are seen before or after the change."""
        return self.map[: self._end]


def read(data: bytes) -> Contents:
    """The content of a ring file, which may be of a dead or a running process.

    Raises ValueError with what is wrong when `data` is no ring, or damaged beyond the slot or text being written.
    """
    header = read_header(data)
    texts_start = slots_end(header)
    if texts_start > len(data):
        raise ValueError(f"cut off after {len(data)} bytes; its {header.n_slots} slots end at {texts_start}")
    records, torn = _records(data, header.n_slots)
    return Contents(header, records, _texts(data, texts_start, min(header.texts_end, len(data))), torn)


def read_header(data: bytes) -> Header:
    """From the first `HEADER_SIZE` bytes of a ring file. Raises ValueError when it is none."""
    if data[:8] != MAGIC:
        raise ValueError("no ring file: it does not start with FRRING1")
    if len(data) < HEADER_SIZE:
        raise ValueError(f"cut off in its header, after {len(data)} of {HEADER_SIZE} bytes")
    _, version, slot_size, n_slots, texts_end, *fields = _HEADER.unpack_from(data)
    if version != 1 or slot_size != _SLOT.size:
        raise ValueError(f"ring version {version} with slots of {slot_size} bytes; this reads version 1 with 96")
    return Header(n_slots, texts_end, *fields[:-3], *map(_string, fields[-3:]))


def slots_end(header: Header) -> int:
    """The position in the file after the last slot."""
    return HEADER_SIZE + header.n_slots * _SLOT.size


def _string(field_: bytes) -> str:
    return field_.rstrip(b"\0").decode("utf-8", "replace")


def _records(data: bytes, n_slots: int) -> tuple[list[Record], int]:
    records, torn = [], 0
    area = memoryview(data)[HEADER_SIZE : HEADER_SIZE + n_slots * _SLOT.size]
    for slot, (serial, *fields, _pad, check) in enumerate(_SLOT.iter_unpack(area)):
        if serial != check or serial and (serial - 1) % n_slots != slot:
            torn += 1
        elif serial:
            records.append(Record(serial - 1, *fields))
    records.sort()
    return records, torn


def _texts(data: bytes, start: int, end: int) -> dict[int, dict[int, Any]]:
    texts: dict[int, dict[int, Any]] = {kind: {} for kind in (SIGNATURE, STACK, GROUP, ERROR, THREAD)}
    while start + _TEXT.size <= end:
        kind, number, length = _TEXT.unpack_from(data, start)
        start += _TEXT.size + length
        if start > end:
            break
        if kind in texts:
            try:
                texts[kind][number] = json.loads(data[start - length : start])
            except (ValueError, RecursionError) as error:
                raise ValueError(f"a text before byte {start} is no JSON: {error}") from None
    return texts


SILENT_S = 3.0
"""Without a sign of life: the watch thread gives ten a second, unless something holds the interpreter lock."""


def alive(header: Header) -> bool | None:
    """Whether the process of the ring runs; None when that can't be seen from this host.

    A process that isn't found may run in another container of this host: its heartbeat tells.
    """
    if header.host != socket.gethostname()[:64]:
        return None
    start = process_start(header.pid)
    if start and start == header.process_start:
        return not _is_zombie(header.pid)
    return time.time_ns() - header.heartbeat_ns < SILENT_S * 1e9


def _is_zombie(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", "rb") as stat:
            return stat.read().rpartition(b")")[2].split()[0] == b"Z"
    except (OSError, IndexError):
        return False


def process_start(pid: int) -> int:
    """When process `pid` began, in clock ticks after boot; 0 where that can't be told (gone, or no /proc)."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as stat:
            return int(stat.read().rpartition(b")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return 0
