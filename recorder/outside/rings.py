"""The rings of a job on disk, seen from outside: whose process lives, and its dump when it can't write one itself."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

from recorder import export, files, ringfile, stacks
from recorder.paths import fault_path
from recorder.regular import open_regular
from recorder.ringfile import COMPLETED, FAILED, Header, Record

_NAME = re.compile(r"ring\.r\d+\.frr\Z")
_FALLBACK_PREFIX = "trace_rank_"


class Found(NamedTuple):
    """One ring file as it was when it was read."""

    path: str
    header: Header
    contents: ringfile.Contents

    @property
    def folder(self) -> str:
        """Of the dumps."""
        return os.path.dirname(os.path.dirname(self.path)) or "."

    @property
    def dump_path(self) -> str:
        prefix = os.path.basename(self.header.prefix).replace("\0", "")  # a damaged ring's may lead elsewhere
        return os.path.join(self.folder, f"{prefix or _FALLBACK_PREFIX}{self.header.rank}")

    @property
    def fault_path(self) -> str:
        return fault_path(os.path.dirname(self.path), self.header.rank)

    @property
    def silent_s(self) -> float:
        return (time.time_ns() - self.header.heartbeat_ns) / 1e9

    def alive(self) -> bool | None:
        return ringfile.alive(self.header)

    def oldest_open(self) -> Record | None:
        return next((r for r in self.contents.records if not r.flags & (COMPLETED | FAILED)), None)


def find(folder: str) -> Iterator[Found | str]:
    """Every ring below `folder`, or for one that can't be read a line that says why."""
    yield from map(read, paths(folder))


def paths(folder: str) -> Iterator[str]:
    for where, folders, names in os.walk(folder):
        folders.sort()
        if os.path.basename(os.path.abspath(where)) == files.SIDE:
            yield from (os.path.join(where, name) for name in sorted(names) if _NAME.match(name))


def read(path: str) -> Found | str:
    try:
        with open_regular(path) as file:
            contents = ringfile.read(file.read())
    except (OSError, ValueError) as error:
        return f"{path}: {error}"
    return Found(path, contents.header, contents)


def glance(path: str) -> Found | None:
    """The ring without its texts, which is quick; None when it can't be read."""
    try:
        with open_regular(path) as file:
            head = file.read(ringfile.HEADER_SIZE)
            slots = ringfile.slots_end(ringfile.read_header(head)) - len(head)
            if slots > os.fstat(file.fileno()).st_size:
                return None
            contents = ringfile.read(head + file.read(slots))
    except (OSError, ValueError):
        return None
    return Found(path, contents.header, contents)


def host_of(path: str) -> str:
    """Empty when it can't be read."""
    try:
        with open_regular(path) as file:
            return ringfile.read_header(file.read(ringfile.HEADER_SIZE)).host
    except (OSError, ValueError):
        return ""


def dump_of(ring: Found, by: str, reason: str, alive: bool | None, fault: str) -> dict[str, Any]:
    """What the rank itself would have written, as far as its ring and `fault`, its fault file, tell."""
    dump = export.dump_of(ring.contents)
    dump["recorder"].update(
        reason=reason,
        later_reasons=[],
        by=by,
        dumped_ns=time.time_ns() if alive else ring.header.heartbeat_ns,
        alive=alive,
        demanded=bool(ring.header.ended),
        stuck=by == "observer" and bool(alive),
    )
    crash = None if alive or ring.header.ended else stacks.crash(fault)
    if crash is not None:
        dump["crash"] = crash
        dump["recorder"]["reason"] = f"{reason}: it crashed: {crash['type']}"
    threads = stacks.of_faulthandler(fault)
    if threads:
        dump["python_stacks"] = export.named(threads, ring.contents)
    return dump


def write(ring: Found, dump: dict[str, Any]) -> str | None:
    """Where it went; None when the rank left a dump that holds as much. Raises OSError."""
    try:
        with open_regular(ring.dump_path) as file:
            if files.is_poorer(dump, files.loads(file.read())):
                return None
    except (OSError, ValueError):
        pass
    return files.write_dump(ring.dump_path, dump)


def fault(ring: Found, after: int = 0) -> str:
    """What faulthandler wrote for the rank, beyond the first `after` bytes; empty when there is nothing."""
    try:
        with open_regular(ring.fault_path) as file:
            file.seek(after)
            return file.read(1 << 20).decode("utf-8", "replace")
    except OSError:
        return ""
