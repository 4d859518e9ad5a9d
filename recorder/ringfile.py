"""The ring of one rank in a mapped file: what a rank records, and what is left of it when it dies.

The pages of a shared mapping belong to the kernel: a process that is killed in the middle of a line of Python leaves
every byte that it had stored. So nothing here is flushed, and nothing has to run when the rank dies (a machine that
crashes does lose the ring). Layout, little-endian throughout:

    header   4,096 bytes, see `HEADER`
    slots    `n_slots` x 96 bytes: record i lies in slot i % n_slots, see `SLOT`
    texts    what records repeat (signatures, stacks, groups, errors, threads), each once, as JSON; only ever added to:
             where there is no room for more, the writer goes on in a new file

A slot begins and ends with the number of its record: where the two differ, the slot is being written, or the rank died
while it wrote it, and the reader leaves it out. A text counts once the header's `texts_end` has moved past it.
"""

from __future__ import annotations

import json
import os
import socket
import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

MAGIC = b"FRRING1\0"

P2P, ISSUED, COMPLETED, FAILED, INFERRED = 1, 2, 4, 8, 16
"""Flags of a record. INFERRED: its end was not seen, but a later call of its group completed."""

SIGNATURE, STACK, GROUP, ERROR, THREAD = range(1, 6)
"""Kinds of texts."""

RUNNING, DESTROYED, EXITED = 0, 1, 2
"""`Header.ended`: what is open once the group was destroyed or the interpreter has exited is no hang of this rank."""

HEADER = struct.Struct("<8sIIQQQQiiQQQI64s32s256s64s")
HEADER_SIZE = 4096
TEXTS_END_AT = struct.calcsize("<8sIIQ")
HEARTBEAT_AT = struct.calcsize("<8sIIQQQQiiQQ")
ENDED_AT = struct.calcsize("<8sIIQQQQiiQQQ")

SLOT = struct.Struct("<QIIIIQQQQQQIIIIQ")
BODY = struct.Struct("<IIIIQQQQQQIIIIQ")
"""A slot after its first number, which is written last and read first: a reader beside a writer sees all or nothing."""
BODY_AT = SIGNATURE_AT = 8
COMPLETED_AT = struct.calcsize("<QIIIIQQQQQ")
END = struct.Struct("<QII")
"""completed_ns, error and flags, which change together."""

TEXT = struct.Struct("<BII")
U64, U32 = struct.Struct("<Q"), struct.Struct("<I")


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
    pid_space: str
    """See `pid_space`; empty in rings of before it was noted."""


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


def read(data: bytes) -> Contents:
    """The content of a ring file, which may be of a dead or a running process.

    Raises ValueError with what is wrong when `data` is no ring, or damaged beyond the slot or text being written.
    """
    header = read_header(data)
    texts_start = slots_end(header)
    if texts_start > len(data):
        raise ValueError(f"cut off after {len(data)} bytes; its {header.n_slots} slots end at {texts_start}")
    records, torn = records_in(data, header.n_slots)
    return Contents(header, records, _texts(data, texts_start, min(header.texts_end, len(data))), torn)


def read_header(data: bytes) -> Header:
    """From the first `HEADER_SIZE` bytes of a ring file. Raises ValueError when it is none."""
    if data[:8] != MAGIC:
        raise ValueError("no ring file: it does not start with FRRING1")
    if len(data) < HEADER_SIZE:
        raise ValueError(f"cut off in its header, after {len(data)} of {HEADER_SIZE} bytes")
    _, version, slot_size, n_slots, texts_end, *fields = HEADER.unpack_from(data)
    if version != 1 or slot_size != SLOT.size:
        raise ValueError(f"ring version {version} with slots of {slot_size} bytes; this reads version 1 with 96")
    return Header(n_slots, texts_end, *fields[:-4], *map(_string, fields[-4:]))


def slots_end(header: Header) -> int:
    """The position in the file after the last slot."""
    return HEADER_SIZE + header.n_slots * SLOT.size


def _string(field_: bytes) -> str:
    return field_.rstrip(b"\0").decode("utf-8", "replace")


def records_in(data: bytes, n_slots: int) -> tuple[list[Record], int]:
    """The records in the slots of `data`, oldest first, and how many slots were being written."""
    records, torn = [], 0
    area = memoryview(data)[HEADER_SIZE : HEADER_SIZE + n_slots * SLOT.size]
    for slot, (serial, *fields, _pad, check) in enumerate(SLOT.iter_unpack(area)):
        if serial != check or serial and (serial - 1) % n_slots != slot:
            torn += 1
        elif serial:
            records.append(Record(serial - 1, *fields))
    records.sort()
    if records and records[-1].id >= n_slots:  # it has gone round: a slot that is empty is being written
        torn = n_slots - len(records)
    return records, torn


def texts_in(data: bytes, start: int, end: int) -> Iterator[tuple[int, int, int, int]]:
    """(kind, number, where it starts, where it ends) of each text in `data[start:end]`, with its head."""
    while start + TEXT.size <= end:
        kind, number, length = TEXT.unpack_from(data, start)
        after = start + TEXT.size + length
        if after > end:
            return
        yield kind, number, start, after
        start = after


def _texts(data: bytes, start: int, end: int) -> dict[int, dict[int, Any]]:
    texts: dict[int, dict[int, Any]] = {kind: {} for kind in (SIGNATURE, STACK, GROUP, ERROR, THREAD)}
    for kind, number, at, after in texts_in(data, start, end):
        if kind in texts:
            try:
                texts[kind][number] = json.loads(data[at + TEXT.size : after])
            except (ValueError, RecursionError) as error:
                raise ValueError(f"a text before byte {after} is no JSON: {error}") from None
    return texts


def stuck_after_s(asked: float | None, timeout_ms: int) -> float:
    """Seconds after which an open call is a hang: what was asked for, or half of its timeout, at most five minutes."""
    if asked is not None:
        return asked
    return min(300.0, timeout_ms / 2000) if timeout_ms else 300.0


SILENT_S = 3.0
"""Without a sign of life: the watch thread gives ten a second, unless something holds the interpreter lock."""


def alive(header: Header) -> bool | None:
    """Whether the process of the ring runs; None when that can't be seen from this host.

    A process that isn't found may run in another container of this host: unless it counts processes as we do, its
    heartbeat tells.
    """
    if header.host != socket.gethostname()[:64]:
        return None
    start = process_start(header.pid)
    if start and start == header.process_start:
        return not _is_zombie(header.pid)
    if (start or not _exists(header.pid)) and header.pid_space == pid_space() != "":
        return False
    return time.time_ns() - header.heartbeat_ns < SILENT_S * 1e9


def pid_space() -> str:
    """Equal in two processes only where a number means the same process to both; empty where that can't be told."""
    try:
        if os.readlink("/proc/self") != str(os.getpid()):
            return ""  # what is mounted there is of another container
        with open("/proc/sys/kernel/random/boot_id") as boot:
            return f"{boot.read().strip()} {os.stat('/proc/self/ns/pid').st_ino}"[:64]
    except OSError:
        return ""


def _exists(pid: int) -> bool:
    """Also a process of another user, which `/proc` may hide."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        pass
    return True


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
