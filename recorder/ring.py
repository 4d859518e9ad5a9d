"""Writing a ring: what a rank does inside every call."""

from __future__ import annotations

import itertools
import json
import mmap
import os
import socket
import threading
import time
from contextlib import suppress
from typing import Callable

from recorder import ringfile
from recorder.regular import open_regular
from recorder.ringfile import (
    BODY,
    BODY_AT,
    COMPLETED_AT,
    END,
    ENDED_AT,
    ERROR,
    HEADER,
    HEADER_SIZE,
    HEARTBEAT_AT,
    MAGIC,
    RUNNING,
    SIGNATURE,
    SIGNATURE_AT,
    SLOT,
    STACK,
    TEXT,
    TEXTS_END_AT,
    U32,
    U64,
    Record,
    pid_space,
    process_start,
)

_FIRST_TEXTS, _MOST_TEXTS = 1 << 20, 64 << 20
_RECENT = 64
"""Texts of a kind that are kept though no slot names them: their records may be about to be written."""


class Ring:
    """The writer. Safe for several threads; a fork must not write into its parent's."""

    def __init__(self, path: str, n_slots: int, rank: int, world_size: int, torch: str = "", prefix: str = "") -> None:
        """Create the file, whole and under its name at once. Raises OSError."""
        self.path, self.n_slots = path, n_slots
        self.lock = threading.RLock()
        self.opened_ns = time.time_ns()
        pid = os.getpid()
        identity = (pid, process_start(pid), rank, world_size, self.opened_ns)
        names = (
            socket.gethostname().encode()[:64],
            torch.encode()[:32],
            os.fsencode(prefix)[:256],
            pid_space().encode(),
        )
        self._texts_start = HEADER_SIZE + n_slots * SLOT.size
        self._next = 0
        self.lost_texts = 0
        self.on_renewal: list[Callable[[dict[int, set[int]]], None]] = []
        """Told, by kind, which texts there still are; who knows of others must forget them."""
        head = (MAGIC, 1, SLOT.size, n_slots, self._texts_start, *identity, 0, self.opened_ns, RUNNING, *names)
        _set_aside(path)
        self._open(_FIRST_TEXTS, HEADER.pack(*head))
        self._end = self._texts_start

    def _open(self, texts_size: int, content: bytes) -> None:
        """Map a new file with room for so many bytes of texts, and give it its name once `content` is in it."""
        size = self._texts_start + texts_size
        temporary = f"{os.path.dirname(self.path)}/.ring.{os.urandom(8).hex()}.tmp"
        descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
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
        """Store a text that records point to. False when there is no room for it any more.

        Numbers of one kind only ever grow.
        """
        data = json.dumps(content, separators=(",", ":")).encode()
        with self.lock:
            if self._end + TEXT.size + len(data) > self._size and not self._renew(TEXT.size + len(data)):
                self.lost_texts += 1
                return False
            start = self._end + TEXT.size
            TEXT.pack_into(self.map, self._end, kind, number, len(data))
            self.map[start : start + len(data)] = data
            self._end = start + len(data)
            U64.pack_into(self.map, TEXTS_END_AT, self._end)
        return True

    def _renew(self, more: int) -> bool:
        """Go on in a new file without the texts that no record needs, with twice the room where most are needed.

        The old file is whole until the new one has its name.
        """
        kept, texts = self._needed()
        room = self._size - self._texts_start
        while len(texts) + more > room // 2:
            room *= 2
        room = min(room, _MOST_TEXTS)
        if len(texts) + more > room:
            return False
        content = bytearray(self.map[: self._texts_start]) + texts
        U64.pack_into(content, TEXTS_END_AT, len(content))
        try:
            self._open(room, bytes(content))
        except OSError:
            return False
        self._end = len(content)
        for told in self.on_renewal:
            told(kept)
        return True

    def _needed(self) -> tuple[dict[int, set[int]], bytearray]:
        """The numbers of the texts to keep, by kind, and those texts: what slots name, what is new, all groups."""
        data = self.snapshot()
        every = list(ringfile.texts_in(data, self._texts_start, self._end))
        newest = {kind: number for kind, number, _, _ in every}
        named: dict[int, set[int]] = {kind: set() for kind in (SIGNATURE, STACK, ERROR)}
        for record in ringfile.records_in(data, self.n_slots)[0]:
            named[SIGNATURE].add(record.signature)
            named[STACK].add(record.stack)
            named[ERROR].add(record.error)
        kept: dict[int, set[int]] = {}
        texts = bytearray()
        for kind, number, start, end in every:
            if kind not in named or number in named[kind] or number > newest[kind] - _RECENT:
                kept.setdefault(kind, set()).add(number)
                texts += data[start:end]
        return kept, texts

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
            offset = HEADER_SIZE + record % self.n_slots * 96
            U64.pack_into(self.map, offset, 0)
            # fmt: off
            BODY.pack_into(
                self.map, offset + BODY_AT, signature, stack, group, thread, collective_seq, p2p_seq, op_id,
                now, now, 0, 0, flags, timeout_ms, 0, serial,
            )
            U64.pack_into(self.map, offset, serial)
            # fmt: on
        return record

    def complete(self, record: int, flags: int, error: int = 0) -> None:
        """`record` is over, in one way or the other, if it is still in the ring."""
        offset = HEADER_SIZE + record % self.n_slots * 96
        with self.lock:  # the map may be growing
            if U64.unpack_from(self.map, offset)[0] == record + 1:
                END.pack_into(self.map, offset + COMPLETED_AT, time.time_ns(), error, flags)

    @property
    def newest(self) -> int:
        """Number of the newest record; -1 before the first."""
        return self._next - 1

    def look(self, record: int) -> Record | None:
        """What the ring says of `record`; None once it has left."""
        serial, *fields, _pad, _check = SLOT.unpack_from(self.map, HEADER_SIZE + record % self.n_slots * SLOT.size)
        return Record(record, *fields) if serial and serial == record + 1 else None

    def rename(self, record: int, signature: int) -> None:
        """`record` turned out to be another call (a receive from anyone now has a sender)."""
        offset = HEADER_SIZE + record % self.n_slots * 96
        with self.lock:
            if U64.unpack_from(self.map, offset)[0] == record + 1:
                U32.pack_into(self.map, offset + SIGNATURE_AT, signature)

    def beat(self) -> None:
        U64.pack_into(self.map, HEARTBEAT_AT, time.time_ns())

    def dumped(self) -> None:
        with self.lock:
            U64.pack_into(self.map, HEARTBEAT_AT - 8, time.time_ns())

    def finish(self, how: int) -> None:
        """DESTROYED or EXITED: the rank ended in order."""
        with self.lock:
            U32.pack_into(self.map, ENDED_AT, how)

    def snapshot(self) -> bytes:
        """The file's content. Records that other threads change meanwhile are seen before or after the change."""
        return self.map[: self._end]


def _set_aside(path: str) -> None:
    """Keep the ring of a rank that was killed since its last dump: nobody has read it yet."""
    try:
        with open_regular(path) as file:
            data = file.read(HEADER_SIZE)
            header = ringfile.read_header(data)
            data += file.read(ringfile.slots_end(header) - HEADER_SIZE)
        records = ringfile.read(data).records
        unread = not header.ended and bool(records) and header.dump_ns < records[-1].created_ns
        if unread and _is_gone(header):
            names = (f"{path[:-4]}.earlier{n}.frr~" for n in itertools.count(1))
            os.rename(path, next(name for name in names if not os.path.lexists(name)))
    except (OSError, ValueError):
        pass  # there is none, or it is no ring


def _is_gone(header: ringfile.Header) -> bool:
    """Sooner than `ringfile.alive` says so: a launcher restarts a rank within a second."""
    if header.host == socket.gethostname()[:64]:
        return process_start(header.pid) != header.process_start
    return time.time_ns() - header.heartbeat_ns > ringfile.SILENT_S * 1e9
