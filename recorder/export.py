"""A ring as a dump in torch's shape, which torch's analyzer and frtui read. No torch is needed for it.

torch's analyzer stops at much that it does not expect; what each rule here is for was found by breaking it
(torchfrtrace of torch 2.13 and 2.14):

- `profiling_name` is `<library>:<operation>`, both from its tables: another library is written as `gloo`, its own name
  under `backend`.
- `ranks` of `pg_config` is a string; every entry's group is in there under its name, which is never empty.
- a receive from anyone has no form that it reads: while its sender is unknown it is kept under `unresolved`.
- `version` has two numbers.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any

from recorder import ringfile, stacks
from recorder.ringfile import COMPLETED, FAILED, INFERRED, ISSUED, P2P, Contents, Header, Record

VERSION = "2.10"
"""The version of torch's format that this follows."""
FORMAT = 1
"""Of what stands under `recorder`."""

LIBRARIES = frozenset({"nccl", "ncclx", "xccl", "gloo", "rccl", "rcclx", "mccl", "hccl"})

LONG_SILENCE_S = 60.0
"""After which a rank on another host is taken for gone: a network file system shows its heartbeat late."""
ENDINGS = {
    ringfile.DESTROYED: "the process group was destroyed in order",
    ringfile.EXITED: "the process exited without destroying its process group",
}

_UNKNOWN = {"name": "gloo:unknown", "inputs": [], "outputs": [], "input_dtypes": [], "output_dtypes": []}


def dump_of_ring(data: bytes, fault: str = "") -> dict[str, Any]:
    """The dump of a ring file's bytes, as far as the rank got.

    `fault`: the text of its fault file, where it left one. Raises ValueError when `data` is no ring, or damaged.
    """
    contents = ringfile.read(data)
    dump = dump_of(contents)
    crash = None if contents.header.ended else stacks.crash(fault)
    reason, alive = _fate(contents.header, crash)
    dump["recorder"].update(
        reason=reason,
        by="ring",
        dumped_ns=contents.header.heartbeat_ns,
        alive=alive,
        demanded=alive is not False or bool(contents.header.ended),
    )
    if crash is not None:
        dump["crash"] = crash
        dump["python_stacks"] = named(stacks.of_faulthandler(fault), contents)
    return dump


def named(threads: list[dict[str, Any]], contents: Contents) -> list[dict[str, Any]]:
    """Threads whose names faulthandler doesn't know, with the names that the rank noted; the main thread first."""
    pairs = [pair for pair in contents.texts[ringfile.THREAD].values() if isinstance(pair, list) and len(pair) == 2]
    names = {str(ident): str(name) for ident, name in pairs}
    for thread in threads:
        thread["name"] = names.get(str(thread["id"]), "")
    return sorted(threads, key=lambda thread: bool(thread["name"] != "MainThread"))


def _fate(header: Header, crash: Mapping[str, Any] | None) -> tuple[str, bool | None]:
    """Why the ring has to be read, and whether the process lives; None when that can't be told."""
    if header.ended:
        return ENDINGS.get(header.ended, ENDINGS[ringfile.EXITED]), False
    if crash is not None:
        return f"the process crashed: {crash['type']}", False
    alive = ringfile.alive(header)
    silent = (time.time_ns() - header.heartbeat_ns) / 1e9
    if alive is None and silent > LONG_SILENCE_S:
        return f"no sign of life for {silent:.0f} s", False
    if alive is False:
        return f"the process (pid {header.pid}) is gone", False
    return "read from its ring while it runs", alive


def dump_of(contents: Contents, only_active: bool = False, stacks: bool = True, entries: bool = True) -> dict[str, Any]:
    """`version`, `entries`, `pg_config`, `pg_status` and `recorder`; the switches are those of torch's own dump.

    Raises ValueError when a text isn't what the writer writes.
    """
    try:
        return _dump_of(contents, only_active, stacks, entries)
    except (LookupError, TypeError, AttributeError, OverflowError) as error:
        raise ValueError(f"a text of the ring has the wrong shape: {type(error).__name__}: {error}") from None


def _dump_of(contents: Contents, only_active: bool, stacks: bool, entries: bool) -> dict[str, Any]:
    groups = contents.texts[ringfile.GROUP]
    frames = {n: _frames(stack) for n, stack in contents.texts[ringfile.STACK].items()} if stacks else None
    made = [_entry(record, contents.texts, frames) for record in contents.records]
    shown = [e for e in made if entries and not (only_active and e["retired"])]
    header = contents.header
    return {
        "version": VERSION,
        "pg_config": {g["name"]: _config(g) for g in groups.values()},
        "pg_status": status([e for e in made if e["pg_id"] in groups], groups),
        "entries": [e for e in shown if "?" not in e["profiling_name"]],
        "unresolved": [e for e in shown if "?" in e["profiling_name"]],
        "recorder": {
            "format": FORMAT,
            "rank": header.rank,
            "world_size": header.world_size,
            "host": header.host,
            "pid": header.pid,
            "torch": header.torch,
            "opened_ns": header.opened_ns,
            "heartbeat_ns": header.heartbeat_ns,
            "ended": header.ended,
            "torn": contents.torn,
        },
    }


def _config(group: Mapping[str, Any]) -> dict[str, str]:
    return {"name": group["name"], "desc": group["desc"], "ranks": str([int(rank) for rank in group["ranks"]])}


def _frames(stack: list[tuple[str, str, int]]) -> list[dict[str, Any]]:
    return [{"name": name, "filename": file, "line": line} for name, file, line in stack]


def _entry(
    record: Record, texts: Mapping[int, Mapping[int, Any]], frames: Mapping[int, list[dict[str, Any]]] | None
) -> dict[str, Any]:
    """`frames`: by stack, one list for all records that share it, as torch's dumps share them; None: without."""
    signature = texts[ringfile.SIGNATURE].get(record.signature, _UNKNOWN)
    group = texts[ringfile.GROUP].get(record.group, {"name": "?", "desc": ""})
    thread = texts[ringfile.THREAD].get(record.thread, ["", ""])
    flags = record.flags
    entry = {
        "record_id": record.id,
        "pg_id": record.group,
        "process_group": (group["name"], group["desc"]),
        "collective_seq_id": record.collective_seq,
        "p2p_seq_id": record.p2p_seq,
        "op_id": record.op_id,
        "profiling_name": signature["name"],
        "time_created_ns": record.created_ns,
        "input_sizes": signature["inputs"],
        "input_dtypes": signature["input_dtypes"],
        "output_sizes": signature["outputs"],
        "output_dtypes": signature["output_dtypes"],
        "state": "completed" if flags & COMPLETED else "started" if flags & ISSUED else "scheduled",
        "time_discovered_started_ns": record.started_ns if flags & (ISSUED | COMPLETED) else None,
        "time_discovered_completed_ns": record.completed_ns if flags & COMPLETED else None,
        "retired": bool(flags & COMPLETED),
        "timeout_ms": record.timeout_ms,
        "is_p2p": bool(flags & P2P),
        "thread_id": thread[0],
        "thread_name": thread[1],
    }
    if frames is not None:
        entry["frames"] = frames.get(record.stack, [])
    if flags & FAILED:
        entry["error"] = texts[ringfile.ERROR].get(record.error, "failed")
    if flags & INFERRED:
        entry["inferred"] = True
    entry.update(signature.get("more", {}))
    return entry


def status(entries: Iterable[Mapping[str, Any]], pg_ids: Iterable[int] = ()) -> dict[str, dict[str, int]]:
    """`pg_status`: by pg_id, the last collective that was enqueued, started and completed; -1 for none.

    As torch's is, with a retired call as a completed one: on gloo nothing else says so, and it is not quite true,
    as a call that timed out is retired too. `pg_ids`: groups that may have no entries.
    """
    found = {str(number): dict.fromkeys(_LAST, -1) for number in pg_ids}
    for entry in entries:
        if not entry.get("is_p2p"):
            last = found.setdefault(str(entry["pg_id"]), dict.fromkeys(_LAST, -1))
            for word in _reached(entry):
                last[word] = max(last[word], entry["collective_seq_id"])
    return found


_LAST = ("last_enqueued_collective", "last_started_collective", "last_completed_collective")


def _reached(entry: Mapping[str, Any]) -> list[str]:
    completed = entry.get("state") == "completed" or bool(entry.get("retired"))
    started = entry.get("state") in ("started", "completed")
    return [word for word, so in zip(_LAST, (True, started, completed)) if so]
