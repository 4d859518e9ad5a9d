"""The index as a file: what it is and where its head stands, the columns of every rank, and the head in JSON.

What is read is checked as any file of a stranger's is: each number that points somewhere has to point to something.
"""

from __future__ import annotations

import json
import os
import sys
from array import array
from pathlib import Path
from typing import IO, Any

from frtui.engine.finding import Finding
from frtui.model import COMPLETED, NONE, SCHEDULED, Entries, Job, Rank
from frtui.regular import NotRegular, open_regular, replaced
from frtui.stored import columns, shapes
from frtui.stored.shapes import Wrong

_MAGIC = f"frtui index 1 {sys.byteorder}\n".encode()
_PLACE = 8
"""Bytes of the number that says where the head begins; it stands after the magic."""
_SMALL = 1 << 30
"""Bytes of an index that may be larger than the dumps, which it never is: a stranger's may be a hole of any size."""
_WHOLE, _LEAST = ("record", "created"), 16
"""Columns that are always written out, and their bytes an entry: so a small file can't claim entries without number."""

Judged = tuple[Job, tuple[Finding, ...]]


def write(path: Path, stamp: Any, job: Job, findings: tuple[Finding, ...]) -> int:
    """Write an index as a whole, or not at all. Returns its bytes. Raises OSError."""
    with replaced(path) as file:
        file.write(_MAGIC + bytes(_PLACE))
        packed = [_pack(file, rank) for rank in job.ranks.values()]
        place = file.tell()
        head = {"stamp": stamp, "packed": packed, **_head(job, findings)}
        size = place + file.write(json.dumps(head, separators=(",", ":")).encode())
        file.seek(len(_MAGIC))
        file.write(place.to_bytes(_PLACE, "little"))
    return size


class Stale(Exception):
    """The index has another stamp, which this carries."""

    def __init__(self, stamp: Any) -> None:
        super().__init__("of other dumps")
        self.stamp = stamp


def read(path: Path, stamp: Any, size: int = 0) -> Judged:
    """The job in the index at `path`. `size`: bytes of the dumps.

    Raises OSError, Wrong where it is none or damaged, and Stale where it was made of something else than `stamp` says.
    """
    try:
        with open_regular(str(path)) as file:
            return _read(file, stamp, max(size, _SMALL))
    except NotRegular as error:
        raise Wrong(str(error)) from None
    except (EOFError, MemoryError, RecursionError, OverflowError, LookupError, TypeError, ValueError) as error:
        raise error if isinstance(error, Wrong) else Wrong("damaged") from None


def _pack(file: IO[bytes], rank: Rank) -> list[Any]:
    """Writes the columns of a rank. Returns their length, and what there is to say of each."""
    told = []
    for name, _ in Entries.COLUMNS:
        how, data = columns.pack(getattr(rank.entries, name), name in _WHOLE)
        file.write(data)
        told.append(how)
    return [len(rank.entries), told]


def _head(job: Job, findings: tuple[Finding, ...]) -> dict[str, Any]:
    return {
        "source": job.source,
        "groups": job.groups,
        "signatures": job.signatures,
        "stacks": job.stacks,
        "threads": job.threads,
        "problems": job.problems,
        "attempts": job.attempts,
        "attempt": job.attempt,
        "findings": [shapes.finding_out(finding) for finding in findings],
        "ranks": [shapes.rank_out(rank, job.groups) for rank in job.ranks.values()],
    }


def _read(file: IO[bytes], stamp: Any, most: int) -> Judged:
    size = os.fstat(file.fileno()).st_size
    if size > most:
        raise Wrong("larger than the dumps")
    if file.read(len(_MAGIC)) != _MAGIC:
        raise Wrong("no index, or one of another version of frtui")
    file.seek(int.from_bytes(file.read(_PLACE), "little"))
    head = json.loads(file.read())
    if head["stamp"] != json.loads(json.dumps(stamp)):
        raise Stale(head["stamp"])
    job = _job(head)
    file.seek(len(_MAGIC) + _PLACE)
    for told, (count, packed) in zip(head["ranks"], head["packed"]):
        if not 0 <= shapes.integer(count) <= size // _LEAST or len(packed) != len(Entries.COLUMNS):
            raise Wrong("more entries than it has room for")
        rank = _rank(file, job, told, count, packed)
        job.ranks[rank.rank] = rank
    if len(job.ranks) != len(head["ranks"]):
        raise Wrong("ranks without columns")
    findings = shapes.many(shapes.finding)(head["findings"])
    for finding in findings:
        _check_finding(job, finding)
    return job, findings


def _job(head: dict[str, Any]) -> Job:
    """Without its ranks."""
    return Job(
        source=shapes.text(head["source"]),
        groups=shapes.many(shapes.group)(head["groups"]),
        signatures=shapes.many(shapes.signature)(head["signatures"]),
        stacks=shapes.many(shapes.stack)(head["stacks"]),
        threads=shapes.texts(head["threads"]),
        problems=shapes.many(shapes.problem)(head["problems"]),
        attempts=shapes.texts(head["attempts"]),
        attempt=shapes.text(head["attempt"]),
    )


def _rank(file: IO[bytes], job: Job, told: Any, count: int, packed: list[columns.Told]) -> Rank:
    rank = shapes.rank(told, job.groups)
    limits = {
        "group": (0, len(job.groups)),
        "signature": (0, len(job.signatures)),
        "stack": (NONE, len(job.stacks)),
        "thread": (NONE, len(job.threads)),
        "state": (SCHEDULED, COMPLETED + 1),
        "call": (0, count),
    }
    for (name, code), how in zip(Entries.COLUMNS, packed):
        if name in _WHOLE and how != [columns.WHOLE]:
            raise Wrong(f"column {name} is not written out")
        setattr(rank.entries, name, columns.unpack(file, how, code, count, limits.get(name)))
    own = rank.entries.call
    same = own == columns.rows(count)
    rank.calls = own[:] if same else array("i", [row for row, call in enumerate(own) if row == call])
    if any(not 0 <= place < len(job.groups) for place in {*rank.config, *rank.status}) or any(
        not 0 <= row < count for row in rank.call_errors
    ):
        raise Wrong("a rank points to nothing")
    return rank


def _check_finding(job: Job, finding: Finding) -> None:
    if finding.group is not None and not 0 <= finding.group < len(job.groups):
        raise Wrong("a finding points to nothing")
    places = [(wait.rank, wait.row) for wait in finding.waits] + [finding.focus or ()]
    beside = finding.beside
    if beside is not None:
        places += [(beside.rank, row) for row in beside.rows] + [(beside.witness, row) for row in beside.witness_rows]
        places += list(zip(beside.agree, beside.agree_rows))
    for rank, row in filter(None, places):
        if rank not in job.ranks or not 0 <= row < len(job.ranks[rank].entries):
            raise Wrong("a finding points to nothing")
