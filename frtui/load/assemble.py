"""Dumps of single ranks -> one Job: groups resolved, tables interned for the whole job."""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

from frtui.load.discover import Listing
from frtui.load.found import Found
from frtui.load.groups import Groups
from frtui.load.normalise import Dump
from frtui.model import NONE, Job, Rank, Signature, Stack, Status
from frtui.text import clean

T = TypeVar("T", bound=Hashable)


class Interned:
    """The tables of the job while ranks are added."""

    def __init__(self) -> None:
        self.signatures: dict[Signature, int] = {}
        self.stacks: dict[Stack, int] = {}
        self.threads: dict[str, int] = {}
        self.running: dict[Stack, Stack] = {}
        """What Python threads were in: most are alike on all ranks."""

    def take(self, dump: Dump) -> None:
        """Let the columns of `dump` point into the tables of the job, and drop its own tables."""
        e = dump.entries
        e.signature = _remap(e.signature, dump.signatures, self.signatures)
        e.stack = _remap(e.stack, dump.stacks, self.stacks)
        e.thread = _remap(e.thread, dump.threads, self.threads)
        dump.signatures, dump.stacks, dump.threads = [], [], []
        threads = (thread._replace(stack=self._one(thread.stack)) for thread in dump.recorded.threads)
        dump.recorded = dump.recorded._replace(threads=tuple(threads))

    def _one(self, stack: Stack) -> Stack:
        return self.running.setdefault(stack, stack)


def assemble(
    source: str, listing: Listing, files: Mapping[int, Found], dumps: Mapping[int, Dump], interned: Interned
) -> Job:
    """The job of `dumps` (by rank, already `Interned.take`n), without the problems of reading the files."""
    groups = Groups(dumps)
    _make_comparable(interned, dumps)
    return Job(
        source=clean(source),
        ranks={rank: _rank(rank, files[rank], dumps[rank], groups) for rank in sorted(dumps)},
        groups=tuple(groups.table),
        signatures=tuple(interned.signatures),
        stacks=tuple(interned.stacks),
        threads=tuple(interned.threads),
        attempts=listing.attempts,
        attempt=listing.attempt,
    )


def _make_comparable(interned: Interned, dumps: Mapping[int, Dump]) -> None:
    """Take off the roots of an operation that has one here and none there: torch's dumps beside the recorder's."""
    every = [one for signature in interned.signatures for one in (signature, *signature.parts)]
    mixed = {s.op for s in every if s.root == NONE} & {s.op for s in every if s.root != NONE}

    def bare(signature: Signature) -> Signature:
        root = NONE if signature.op in mixed else signature.root
        return signature._replace(root=root, parts=tuple(map(bare, signature.parts)))

    if mixed:
        table: dict[Signature, int] = {}
        whole = [bare(signature) for signature in interned.signatures]
        for dump in dumps.values():
            dump.entries.signature = _remap(dump.entries.signature, whole, table)
        interned.signatures = table


def _remap(column: array[int], local: Sequence[T], table: dict[T, int]) -> array[int]:
    places = [table.setdefault(item, len(table)) for item in local]
    places.append(NONE)  # where NONE, which is -1, points
    return array("i", [places[index] for index in column])


def _rank(rank: int, file: Found, dump: Dump, groups: Groups) -> Rank:
    places = [groups.index(rank, name) for name, _ in dump.names]
    dump.entries.group = array("i", [places[index] for index in dump.entries.group])
    told = dump.recorded
    return Rank(
        rank=rank,
        file=clean(file.name),
        host=told.host or file.host,
        version=dump.version,
        library=dump.library,
        dumped_ns=told.dumped_ns if told.dumped_ns > 0 else file.mtime_ns or NONE,
        entries=dump.entries,
        calls=dump.calls,
        config=groups.config[rank],
        status=_status(rank, dump, groups, places),
        truncated=dump.truncated,
        by=told.by,
        reason=told.reason,
        later_reasons=told.later_reasons,
        pid=told.pid,
        alive=told.alive,
        heartbeat_ns=told.heartbeat_ns,
        ended=told.ended,
        judged_stuck=told.stuck,
        threads=told.threads,
        error=told.error,
        cause=told.cause,
        crash=told.crash,
        call_errors=dump.call_errors,
    )


def _status(rank: int, dump: Dump, groups: Groups, places: Sequence[int]) -> dict[int, Status]:
    """`pg_status` by group. Its keys are local counters: the entries say which is which, else the order does."""
    meant = {pg_id: places[index] for pg_id, index in dump.pg_ids.items()}
    status = {meant[pg_id]: value for pg_id, value in dump.status.items() if pg_id in meant}
    for pg_id, place in _by_order(rank, dump, groups, meant).items():
        status.setdefault(place, dump.status[pg_id])
    return status


def _by_order(rank: int, dump: Dump, groups: Groups, meant: Mapping[int, int]) -> dict[int, int]:
    """pg_id -> group for ids without entries: both ids and numeric names count groups in the order of making.

    Trusted only where there are as many names as ids and every pair that the entries give agrees.
    """
    names = sorted((n for n, _ in dump.config if n.isdecimal() and len(n) < 10), key=int)
    ids = sorted(dump.status)
    places = [groups.index(rank, name) for name in names]
    if len(names) == len(ids) == len(dump.config) and all(meant.get(i, p) == p for i, p in zip(ids, places)):
        return {i: p for i, p in zip(ids, places) if i not in meant}
    default = groups.default(rank)
    if default is not None and 0 in dump.status and 0 not in meant and default not in meant.values():
        return {0: default}
    return {}
