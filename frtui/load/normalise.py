"""A raw dump of any version -> one rank's columns. Read by the keys that are there, not by the version.

Forks write "2.4" or "2.10" with other keys, and one job may mix versions. Nothing here trusts a type.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from frtui.load import batches, drift
from frtui.load.columns import SIGNATURE_KEYS, Faults, Signatures, Stacks, flags, floats, integers, operation, times
from frtui.load.config import GroupName, as_dict, config, status
from frtui.load.errors import Odd, Unusable
from frtui.load.limits import Budget, text
from frtui.load.recorded import Recorded, call_errors, recorded, with_unresolved
from frtui.load.source import Kinds, Row, Rows, Source, is_entry
from frtui.load.tiles import Tiles
from frtui.model import COMPLETED, NONE, SCHEDULED, STATE_NAMES, Entries, Signature, Stack, Status
from frtui.text import clean

NEWEST = (2, 10)
"""The newest version this was written for (torch 2.14)."""

_ROW = 32
"""Bytes that no entry goes below; torch's take some hundred."""


@dataclass
class Dump:
    """One file's content. Index columns point into the tables here, not into a Job's."""

    version: str = ""
    library: str = ""
    entries: Entries = field(default_factory=Entries)
    calls: array[int] = field(default_factory=lambda: array("i"))
    names: list[GroupName] = field(default_factory=list)
    """Table of `entries.group`."""
    signatures: list[Signature] = field(default_factory=list)
    stacks: list[Stack] = field(default_factory=list)
    threads: list[str] = field(default_factory=list)
    config: dict[GroupName, tuple[int, ...]] = field(default_factory=dict)
    """Members by group, where `pg_config` gives any."""
    by_id: bool = False
    """True when groups are named by `pg_id`, a counter of the process, for want of a name (before 2.1)."""
    pg_ids: dict[int, int] = field(default_factory=dict)
    """`pg_id` -> index into `names`, from the entries."""
    status: dict[int, Status] = field(default_factory=dict)
    """By `pg_id`."""
    malformed: int = 0
    """Values or entries that could not be used."""
    reason: str = ""
    """What was wrong with the first of them."""
    truncated: bool = False
    recorded: Recorded = field(default_factory=Recorded)
    """What the in-job recorder added."""
    call_errors: dict[int, str] = field(default_factory=dict)
    """By row of `entries`."""


def normalise(content: object, size: int) -> Dump:
    """The dump in `content`, which took `size` bytes. Raises Unusable when it is none, Odd as `tiles` does."""
    # A bare list: torch 2.2.
    raw: Any = {"entries": content} if isinstance(content, (list, Tiles)) else content
    if not isinstance(raw, dict) or not _looks_like_a_dump(raw):
        raise Unusable("not-a-dump", "readable, but holds no flight recorder dump (no `entries`, no `pg_config`)")
    faults, budget = Faults(), Budget(size)
    dump = Dump(version=_version(raw.get("version")))
    library = raw.get("comm_lib_version", raw.get("nccl_version"))
    dump.library = text(library) if isinstance(library, str) else ""
    source = _source(raw, faults)
    budget.spend(_ROW * len(source))
    dump.config = config(raw.get("pg_config"), faults, budget)
    dump.status = status(raw.get("pg_status"), faults)
    _fill(dump, source, faults, budget)
    dump.recorded, dump.call_errors = recorded(raw, faults, budget), call_errors(source, faults)
    dump.by_id = any(not isinstance(key, str) for key in as_dict(raw.get("pg_config"))) or (
        len(source) > 0 and not dump.config and not source.has("process_group")
    )
    dump.malformed, dump.reason = faults.count, faults.first
    return dump


def head(raw: Mapping[Any, Any], size: int) -> tuple[Dump, set[str]]:
    """What a dump says beside its entries, and the back ends that these name; the entries only tell groups apart.

    Raises Unusable as `normalise` does.
    """
    faults, budget = Faults(), Budget(size)
    rows = Rows(_rows(raw.get("entries"), faults))
    dump = Dump(version=_version(raw.get("version")), config=config(raw.get("pg_config"), faults, budget))
    dump.status = status(raw.get("pg_status"), faults)
    _groups(dump, rows, faults)
    backends = {operation(name, faults)[0] for name in rows.column("profiling_name")}
    dump.malformed, dump.reason = faults.count, faults.first
    return dump, backends


def _looks_like_a_dump(raw: Mapping[Any, Any]) -> bool:
    entries = raw.get("entries")
    if isinstance(entries, Tiles):
        return True
    if isinstance(entries, list):
        return not entries or any(isinstance(e, dict) and is_entry(e) for e in entries)
    if entries is not None:
        return False
    return any(key in raw for key in ("pg_config", "pg_status")) or "version" in raw and "entries" not in raw


def newer(version: str) -> bool:
    """True for a version after the newest known one. "2.10" is newer than "2.9"."""
    numbers = [int(part) for part in version.split(".") if part.isdecimal() and len(part) < 10]
    return tuple(numbers) > NEWEST


def _version(value: object) -> str:
    return clean(str(value)[:32]) if isinstance(value, (str, int, float)) else ""


def _source(raw: Mapping[Any, Any], faults: Faults) -> Source:
    entries = raw.get("entries")
    if isinstance(entries, Tiles):
        if "unresolved" in raw:
            raise Odd
        return entries
    return Rows(with_unresolved(_rows(entries, faults), _rows(raw.get("unresolved"), faults)))


def _rows(value: object, faults: Faults) -> list[Row]:
    if not isinstance(value, list):
        return []
    rows: list[Row] = [row for row in value if isinstance(row, dict) and is_entry(row)]
    for _ in range(len(value) - len(rows)):
        faults.add("an entry is no dict with a name and a number")
    return rows


def _fill(dump: Dump, source: Source, faults: Faults, budget: Budget) -> None:
    """All columns of the entries, and the tables they point into."""
    before = faults.count
    signatures, stacks = Signatures(faults, budget), Stacks(faults, budget)
    e = dump.entries
    _copy_columns(e, source, faults)
    kinds = source.kinds(SIGNATURE_KEYS)
    e.signature = kinds.each((signatures.of(row, count) for row, count in kinds.counted()), "i")
    kinds = source.kinds(("frames",))
    e.stack = kinds.each((stacks.of(row, count) for row, count in kinds.counted()), "i")
    e.thread = _threads(dump, source)
    e.group = _groups(dump, source, faults)
    _set_states(e, source, list(signatures.table), faults)
    rows = e.call[:]
    batches.fold(e, signatures, source.has("p2p_seq_id"))
    dump.calls = rows if e.call == rows else array("i", [row for row, call in enumerate(e.call) if row == call])
    dump.signatures, dump.stacks = list(signatures.table), list(stacks.table)
    drift.mend(e, dump.calls, dump.signatures)
    if isinstance(source, Tiles) and faults.count > before:
        raise Odd  # they were counted once a kind, and not for each entry


def _copy_columns(e: Entries, source: Source, faults: Faults) -> None:
    e.record = integers(source, "record_id", faults)
    e.seq = integers(source, "collective_seq_id" if source.has("collective_seq_id") else "seq_id", faults)
    e.p2p_seq = integers(source, "p2p_seq_id", faults)
    e.op_id = integers(source, "op_id", faults)
    e.timeout = integers(source, "timeout_ms", faults)
    e.retired = flags(source, "retired")
    e.call = array("i", [*range(len(source))])
    e.created = times(source, "time_created_ns", faults)
    e.started = times(source, "time_discovered_started_ns", faults)
    e.completed = times(source, "time_discovered_completed_ns", faults)
    e.duration = floats(source, "duration_ms", faults)
    if source.has("time_created_us"):  # torch 2.2
        micro = times(source, "time_created_us", faults)
        e.created = array("q", [us * 1000 if 0 < us < 1 << 53 else ns for us, ns in zip(micro, e.created)])


def _threads(dump: Dump, source: Source) -> array[int]:
    table: dict[tuple[str, str], int] = {}

    def index(row: Row) -> int:
        name, ident = row.get("thread_name"), row.get("thread_id")
        if not isinstance(name, str) and not isinstance(ident, str):
            return NONE
        key = (name if isinstance(name, str) else "", ident if isinstance(ident, str) else "")
        return table.setdefault(key, len(table))

    kinds = source.kinds(("thread_name", "thread_id"))
    column = kinds.each(map(index, kinds.rows), "i")
    dump.threads = [f"{text(name)} {text(ident)}".strip() for name, ident in table]
    return column


def _groups(dump: Dump, source: Source, faults: Faults) -> array[int]:
    """Index into `dump.names` for each entry, and which `pg_id` is which."""
    table: dict[GroupName, int] = {}
    by_pair: dict[object, int] = {}

    def index(row: Row) -> int:
        value = row.get("process_group")
        pair = isinstance(value, tuple) and _is_pair(value)  # anything else may hold what can't be a key
        found = by_pair.get(value, NONE) if pair else NONE
        if found == NONE:
            found = table.setdefault(_group_name(row, faults), len(table))
            if pair:
                by_pair[value] = found
        return found

    kinds = source.kinds(("process_group", "pg_id"))
    places = list(map(index, kinds.rows))
    dump.names, dump.pg_ids = list(table), _pg_ids(kinds, places)
    return kinds.each(places, "i")


def _pg_ids(kinds: Kinds, places: Sequence[int]) -> dict[int, int]:
    """What the last entry with it says of each `pg_id`."""
    ids = {n: pg_id for n, row in enumerate(kinds.rows) if isinstance(pg_id := row.get("pg_id"), int)}
    found = dict.fromkeys(ids.values(), NONE)
    last = dict(zip(kinds.codes, range(len(kinds.codes))))
    for code in sorted(ids, key=last.__getitem__):
        found[ids[code]] = places[code]
    return found


def _group_name(row: Row, faults: Faults) -> GroupName:
    """(name, desc); before version 2.1 the process's own number is the best there is."""
    value: Any = row.get("process_group")
    if _is_pair(value):
        return text(value[0]), text(value[1])
    if value is not None:
        faults.add("process_group is no pair of name and description")
    pg_id = row.get("pg_id")
    return (str(pg_id) if isinstance(pg_id, int) and abs(pg_id) < 1 << 63 else "?"), ""


def _is_pair(value: Any) -> bool:
    return isinstance(value, (tuple, list)) and len(value) == 2 and all(isinstance(v, str) for v in value)


def _undo_aborted(e: Entries) -> None:
    """A call that took as long as its timeout did not finish: the abort of its communicator completed it."""
    if e.duration and max(e.duration) > 0:
        late = [took >= limit > 0 for took, limit in zip(e.duration, e.timeout)]
        e.done = array("b", [done and not aborted for done, aborted in zip(e.done, late)])


def _set_states(e: Entries, source: Source, table: Sequence[Signature], faults: Faults) -> None:
    kinds = source.kinds(("state",))
    states = [_state(row.get("state"), faults) for row in kinds.rows]
    e.state = kinds.each(states, "b")
    e.done = kinds.each(map(COMPLETED.__eq__, states), "b")
    # gloo's recorder never leaves `scheduled`: retiring is the only sign that an operation is over.
    if any(gloo := [signature.backend == "gloo" for signature in table]):
        own = map(gloo.__getitem__, e.signature)
        e.done = array("b", [done or (r and g) for done, r, g in zip(e.done, e.retired, own)])
    _undo_aborted(e)
    e.p2p = flags(source, "is_p2p")
    if any(p2p := [signature.op.lower() in ("send", "recv") for signature in table]):
        own = map(p2p.__getitem__, e.signature)
        e.p2p = array("b", [flag or p for flag, p in zip(e.p2p, own)])


def _state(value: object, faults: Faults) -> int:
    if isinstance(value, str) and value in STATE_NAMES:
        return STATE_NAMES.index(value)
    faults.add("state is none of scheduled, started, completed")
    return SCHEDULED
