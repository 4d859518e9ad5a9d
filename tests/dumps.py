"""Dumps in torch's shape, for tests.

A job in a few lines::

    ranks = {r: dump([entry(seq=s) for s in (1, 2, 3)], pg_config={("0", "default_pg"): [0, 1]}) for r in (0, 1)}
    write(tmp_path, ranks)

Keys, types and spellings are those of torch's own files; `dump(version=...)` takes away or renames what
that version did not have yet.
"""

from __future__ import annotations

import gzip
import json
import pickle
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Union

Raw = dict[str, Any]
Name = tuple[str, str]
"""A process group as entries name it: (name, desc)."""
Site = Union[tuple[str, int], Sequence[Raw], None]
Status = tuple[int, int, int]

T0 = 1_790_000_000_000_000_000
"""When the first entry of a dump was created, nanoseconds since the epoch; the others follow 1 ms apart."""

DEFAULT: Name = ("0", "default_pg")
_COLLECTIVES = "/opt/venv/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py"


def frame(filename: str, line: int, name: str = "step") -> Raw:
    return {"name": name, "filename": filename, "line": line}


def frames(site: Site) -> list[Raw]:
    """A stack, innermost first: one of torch's own frames, the call site, and the script."""
    if site is None:
        return []
    if isinstance(site, tuple) and isinstance(site[0], str):
        return [frame(_COLLECTIVES, 2810, "wrapper"), frame(site[0], int(site[1])), frame("main.py", 9, "<module>")]
    return [dict(f) for f in site if isinstance(f, dict)]


def entry(
    seq: int = 1,
    op: str = "all_reduce",
    *,
    sizes: Sequence[Sequence[int]] = ((4,),),
    outputs: Sequence[Sequence[int]] | None = None,
    dtype: str = "Float",
    group: Name = DEFAULT,
    site: Site = ("train.py", 60),
    state: str = "completed",
    retired: bool | None = None,
    backend: str = "nccl",
    p2p: bool | None = None,
    p2p_seq: int = 0,
    pg_id: int | None = None,
    record: int | None = None,
    op_id: int | None = None,
    created: int | None = None,
    duration: float | None = None,
    timeout: int = 600_000,
    thread: str = "140448761543552",
) -> Raw:
    """One entry of the newest version. `dump` fills in what is None here and depends on the place in the ring.

    `op` is spelled as in `profiling_name` after the colon, for p2p with the peers: `send 0->1`, `recv 1<-0`.
    """
    outputs = sizes if outputs is None else outputs
    completed = state == "completed"
    raw: Raw = {
        "record_id": record,
        "pg_id": pg_id,
        "process_group": tuple(group),
        "collective_seq_id": seq,
        "p2p_seq_id": p2p_seq,
        "op_id": op_id,
        "profiling_name": f"{backend}:{op}",
        "time_created_ns": created,
        "input_sizes": [list(s) for s in sizes],
        "input_dtypes": [dtype] * len(sizes),
        "output_sizes": [list(s) for s in outputs],
        "output_dtypes": [dtype] * len(outputs),
        "state": "scheduled" if backend == "gloo" else state,
        "time_discovered_started_ns": None,
        "time_discovered_completed_ns": None,
        "retired": completed if retired is None else retired,
        "timeout_ms": timeout,
        "is_p2p": op.startswith(("send", "recv")) if p2p is None else p2p,
        "thread_id": thread,
        "thread_name": "python3",
    }
    if duration is not None:
        raw["duration_ms"] = duration
    if site is not None:
        raw["frames"] = frames(site)
    return raw


def batch(
    members: Sequence[str],
    *,
    seq: int = 0,
    p2p_seq: int = 0,
    state: str = "completed",
    closing: str = "coalesced",
    **common: Any,
) -> list[Raw]:
    """A coalesced batch: its members, which stay scheduled for ever, and the closing entry with the real state.

    `members` are ops: `["send 0->1", "recv 0<-3"]` is a batch_isend_irecv (give `p2p_seq`), anything else one of
    `_coalescing_manager` (give `seq`).
    """
    rows = [entry(seq, op, p2p_seq=p2p_seq, state="scheduled", **common) for op in members]
    common = {k: v for k, v in common.items() if k not in ("sizes", "outputs", "dtype")}
    return [*rows, entry(seq, closing, p2p_seq=p2p_seq, state=state, sizes=(), p2p=False, **common)]


def dump(
    entries: Sequence[Raw],
    *,
    version: str = "2.10",
    pg_config: Mapping[Name, Sequence[int]] | None = None,
    pg_status: Mapping[int, Status] | None = None,
    first_record: int = 0,
    library: str = "2.27.5",
) -> Any:
    """One rank's dump. `pg_status` is (enqueued, started, completed) by pg_id, by default what the entries say.

    `version` is the dump's own, or `"list"` for torch 2.2, whose dump is a bare list.
    """
    local = _local_ids(entries, pg_config or {})
    rows = [_placed(raw, i, first_record, local) for i, raw in enumerate(entries)]
    status = _status(rows) if pg_status is None else pg_status
    number = (0,) if version == "list" else tuple(int(part) for part in version.split("."))
    rows = [_as_version(row, number) for row in rows]
    if version == "list":
        return rows
    raw: Raw = {"version": version}
    if number >= (2, 9):
        raw["comm_lib_version" if number >= (2, 10) else "nccl_version"] = library
    if number >= (2, 1):
        raw["pg_config"] = {
            name: {"name": name, "desc": desc, "ranks": str(list(members))}
            for (name, desc), members in (pg_config or {}).items()
        }
    elif number >= (1, 4):
        raw["pg_config"] = {local[name]: list(members) for name, members in (pg_config or {}).items()}
    if number >= (2, 3):
        raw["pg_status"] = {str(pg): dict(zip(_STATUS, values)) for pg, values in status.items()}
    raw["entries"] = rows
    return raw


_STATUS = ("last_enqueued_collective", "last_started_collective", "last_completed_collective")


def write(folder: Path, ranks: Mapping[int, Any], name: str = "nccl_trace_rank_{}", encode: int | str = 2) -> Path:
    """Write one file per rank and return `folder`. `encode` is a pickle protocol, "json", "gzip" or "json.gz"."""
    folder.mkdir(parents=True, exist_ok=True)
    for rank, raw in ranks.items():
        (folder / name.format(rank)).write_bytes(encoded(raw, encode))
    return folder


def encoded(raw: Any, encode: int | str = 2) -> bytes:
    """The bytes of one dump, the same each time (gzip would write the hour); JSON differs as torch's own."""
    if isinstance(encode, int):
        return pickle.dumps(raw, encode)
    if encode == "gzip":
        return gzip.compress(pickle.dumps(raw, 2), 1, mtime=0)
    text = json.dumps(as_json(raw)).encode()
    return gzip.compress(text, 1, mtime=0) if encode == "json.gz" else text


def as_json(raw: Any) -> Any:
    """What `_dump_nccl_trace_json` writes: 0 for None, strings in pg_status, no frames, no empty entries."""
    if not isinstance(raw, dict):
        return raw
    out = dict(raw, nccl_comm_state={})
    out["pg_status"] = {pg: {k: str(v) for k, v in s.items()} for pg, s in raw.get("pg_status", {}).items()}
    rows = [{k: 0 if v is None else v for k, v in row.items() if k != "frames"} for row in raw.get("entries", [])]
    out.pop("entries", None)
    return {**out, "entries": rows} if rows else out


def _local_ids(entries: Sequence[Raw], pg_config: Mapping[Name, Sequence[int]]) -> dict[Name, int]:
    """pg_id is a counter of this process: groups get theirs in the order in which they were made."""
    names = [*pg_config, *(raw["process_group"] for raw in entries)]
    local = {tuple(raw["process_group"]): raw["pg_id"] for raw in entries if raw["pg_id"] is not None}
    free = (i for i in range(len(names) + len(local)) if i not in local.values())
    for name in sorted(dict.fromkeys(names), key=lambda n: n[1] != "default_pg"):
        if name not in local:
            local[name] = next(free)
    return local


def _placed(raw: Raw, index: int, first_record: int, local: Mapping[Name, int]) -> Raw:
    record = first_record + index if raw["record_id"] is None else raw["record_id"]
    created = T0 + record * 1_000_000 if raw["time_created_ns"] is None else raw["time_created_ns"]
    placed = {**raw, "record_id": record, "pg_id": local[raw["process_group"]], "time_created_ns": created}
    if raw["op_id"] is None:
        placed["op_id"] = raw["collective_seq_id"] + raw["p2p_seq_id"]
    if raw["state"] == "completed":
        placed["time_discovered_completed_ns"] = created + 500_000
    if raw["state"] == "started":
        placed["time_discovered_started_ns"] = created + 100_000
    return placed


def _status(rows: Sequence[Raw]) -> dict[int, Status]:
    status: dict[int, Status] = {}
    for row in rows:
        enqueued, _, completed = status.get(row["pg_id"], (-1, -1, -1))
        seq = row["p2p_seq_id"] if row["is_p2p"] else row["collective_seq_id"]
        done = row["state"] == "completed" or row["retired"]
        status[row["pg_id"]] = (max(enqueued, seq), -1, max(completed, seq) if done else completed)
    return status


_SINCE = {
    "record_id": (1, 4),
    "op_id": (1, 4),
    "process_group": (2, 1),
    "collective_seq_id": (2, 1),
    "p2p_seq_id": (2, 1),
    "is_p2p": (2, 1),
    "input_dtypes": (2, 1),
    "output_dtypes": (2, 1),
    "timeout_ms": (2, 4),
    "thread_id": (2, 9),
    "thread_name": (2, 9),
}


def _as_version(row: Raw, number: tuple[int, ...]) -> Raw:
    """`row` as the given version wrote it; (0,) is the list of torch 2.2."""
    old = {key: value for key, value in row.items() if number >= _SINCE.get(key, (0,))}
    if number < (2, 1):
        old["seq_id"] = row["collective_seq_id"]
    if number == (0,):
        old["time_created_us"] = old.pop("time_created_ns") // 1000
    return old
