"""A raw dump of any version -> one rank's columns. Read by the keys that are there, not by the version.

Forks write "2.4" or "2.10" with other keys, and one job may mix versions. Nothing here trusts a type.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from frtui.load import batches
from frtui.load.columns import Faults, Row, Signatures, Stacks, flags, floats, integers, times
from frtui.load.config import GroupName, as_dict, config, status
from frtui.load.errors import Unusable
from frtui.load.limits import Budget, text
from frtui.load.recorded import Recorded, call_errors, recorded, with_unresolved
from frtui.model import COMPLETED, NONE, STATE_NAMES, Entries, Signature, Stack, Status
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
    """The dump in `content`, which took `size` bytes. Raises Unusable when it is none."""
    raw: Any = {"entries": content} if isinstance(content, list) else content  # a bare list: torch 2.2
    if not isinstance(raw, dict) or not _looks_like_a_dump(raw):
        raise Unusable("not-a-dump", "readable, but holds no flight recorder dump (no `entries`, no `pg_config`)")
    faults, budget = Faults(), Budget(size)
    dump = Dump(version=_version(raw.get("version")))
    library = raw.get("comm_lib_version", raw.get("nccl_version"))
    dump.library = text(library) if isinstance(library, str) else ""
    rows = with_unresolved(_rows(raw.get("entries"), faults), _rows(raw.get("unresolved"), faults))
    budget.spend(_ROW * len(rows))
    dump.config = config(raw.get("pg_config"), faults, budget)
    dump.status = status(raw.get("pg_status"), faults)
    _fill(dump, rows, faults, budget)
    dump.recorded, dump.call_errors = recorded(raw, faults, budget), call_errors(rows, faults)
    dump.by_id = any(not isinstance(key, str) for key in as_dict(raw.get("pg_config"))) or (
        bool(rows) and not dump.config and not any("process_group" in row for row in rows)
    )
    dump.malformed, dump.reason = faults.count, faults.first
    return dump


def _looks_like_a_dump(raw: Mapping[Any, Any]) -> bool:
    entries = raw.get("entries")
    if isinstance(entries, list):
        return not entries or any(isinstance(e, dict) and _is_entry(e) for e in entries)
    if entries is not None:
        return False
    return any(key in raw for key in ("pg_config", "pg_status")) or "version" in raw and "entries" not in raw


def newer(version: str) -> bool:
    """True for a version after the newest known one. "2.10" is newer than "2.9"."""
    numbers = [int(part) for part in version.split(".") if part.isdecimal() and len(part) < 10]
    return tuple(numbers) > NEWEST


def _version(value: object) -> str:
    return clean(str(value)[:32]) if isinstance(value, (str, int, float)) else ""


def _rows(value: object, faults: Faults) -> list[Row]:
    if not isinstance(value, list):
        return []
    rows: list[Row] = [row for row in value if isinstance(row, dict) and _is_entry(row)]
    for _ in range(len(value) - len(rows)):
        faults.add("an entry is no dict with a name and a number")
    return rows


def _is_entry(row: Mapping[Any, Any]) -> bool:
    """Anything else would pass for a call that nobody else has made and that never ends."""
    return ("profiling_name" in row or "pg_id" in row) and (
        "collective_seq_id" in row or "seq_id" in row or "p2p_seq_id" in row
    )


def _fill(dump: Dump, rows: Sequence[Row], faults: Faults, budget: Budget) -> None:
    """All columns of the entries, and the tables they point into."""
    signatures, stacks = Signatures(faults, budget), Stacks(faults, budget)
    e = dump.entries
    _copy_columns(e, rows, faults)
    e.signature = array("i", [signatures.of(row) for row in rows])
    e.stack = array("i", [stacks.of(row) for row in rows])
    e.thread = _threads(dump, rows)
    e.group = _groups(dump, rows, faults)
    _set_states(e, rows, list(signatures.table), faults)
    batches.fold(e, signatures, any("p2p_seq_id" in row for row in rows))
    dump.calls = array("i", [row for row, call in enumerate(e.call) if row == call])
    dump.signatures, dump.stacks = list(signatures.table), list(stacks.table)


def _copy_columns(e: Entries, rows: Sequence[Row], faults: Faults) -> None:
    e.record = _either(rows, ("record_id",), faults)
    e.seq = _either(rows, ("collective_seq_id", "seq_id"), faults)
    e.p2p_seq = _either(rows, ("p2p_seq_id",), faults)
    e.op_id = _either(rows, ("op_id",), faults)
    e.timeout = _either(rows, ("timeout_ms",), faults)
    e.retired = flags(rows, "retired")
    e.call = array("i", range(len(rows)))
    e.created = times(rows, "time_created_ns", faults)
    e.started = times(rows, "time_discovered_started_ns", faults)
    e.completed = times(rows, "time_discovered_completed_ns", faults)
    e.duration = floats(rows, "duration_ms", faults)
    if any("time_created_us" in row for row in rows):  # torch 2.2
        micro = times(rows, "time_created_us", faults)
        e.created = array("q", [us * 1000 if 0 < us < 1 << 53 else ns for us, ns in zip(micro, e.created)])


def _either(rows: Sequence[Row], keys: tuple[str, ...], faults: Faults) -> array[int]:
    key = next((key for key in keys if rows and key in rows[0]), keys[0])
    return integers(rows, key, "q", faults)


def _threads(dump: Dump, rows: Sequence[Row]) -> array[int]:
    table: dict[tuple[str, str], int] = {}
    column = array("i")
    for row in rows:
        name, ident = row.get("thread_name"), row.get("thread_id")
        if not isinstance(name, str) and not isinstance(ident, str):
            column.append(NONE)
            continue
        key = (name if isinstance(name, str) else "", ident if isinstance(ident, str) else "")
        column.append(table.setdefault(key, len(table)))
    dump.threads = [f"{text(name)} {text(ident)}".strip() for name, ident in table]
    return column


def _groups(dump: Dump, rows: Sequence[Row], faults: Faults) -> array[int]:
    """Index into `dump.names` for each entry, and which `pg_id` is which."""
    table: dict[GroupName, int] = {}
    by_pair: dict[object, int] = {}
    column = array("i")
    for row in rows:
        value, pg_id = row.get("process_group"), row.get("pg_id")
        index = by_pair.get(value, NONE) if isinstance(value, tuple) else NONE
        if index == NONE:
            index = table.setdefault(_group_name(row, faults), len(table))
            if isinstance(value, tuple) and _is_pair(value):
                by_pair[value] = index
        column.append(index)
        if isinstance(pg_id, int):
            dump.pg_ids[pg_id] = index
    dump.names = list(table)
    return column


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


def _set_states(e: Entries, rows: Sequence[Row], table: Sequence[Signature], faults: Faults) -> None:
    codes = {name: code for code, name in enumerate(STATE_NAMES)}
    for row in rows:
        state = row.get("state")
        code = codes.get(state) if isinstance(state, str) else None
        if code is None:
            faults.add("state is none of scheduled, started, completed")
        e.state.append(code or 0)
    own = [table[index] for index in e.signature]
    # gloo's recorder never leaves `scheduled`: retiring is the only sign that an operation is over.
    e.done = array("b", [s == COMPLETED or (r and sig.backend == "gloo") for s, r, sig in zip(e.state, e.retired, own)])
    _undo_aborted(e)
    e.p2p = array("b", [f or sig.op.lower() in ("send", "recv") for f, sig in zip(flags(rows, "is_p2p"), own)])
