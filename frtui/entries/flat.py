"""Every entry as one flat row, under torch's own names."""

from __future__ import annotations

import csv
import io
import itertools
import json
from collections.abc import Iterator, Sequence
from typing import Any

from frtui.model import NONE, STATE_NAMES, Call, Job
from frtui.stacks import call_site
from frtui.view.words import named

_COLUMNS = (
    "rank",
    "record_id",
    "group",
    "group_desc",
    "collective_seq_id",
    "p2p_seq_id",
    "op_id",
    "op",
    "backend",
    "is_p2p",
    "state",
    "retired",
    "finished",
    "input_sizes",
    "input_dtypes",
    "output_sizes",
    "output_dtypes",
    "time_created_ns",
    "time_discovered_started_ns",
    "time_discovered_completed_ns",
    "duration_ms",
    "timeout_ms",
    "thread",
    "call_site",
)


def columns(stack: bool) -> tuple[str, ...]:
    """The names that every row of `entries` has, in order: a table has them without a row, too."""
    return (*_COLUMNS, "frames") if stack else _COLUMNS


def entries(job: Job, ranks: Sequence[int], groups: frozenset[int], stack: bool) -> Iterator[dict[str, Any]]:
    """Every entry as a dict with torch's own names, and whose it is."""
    for rank in ranks:
        for row in range(len(job.ranks[rank].entries)):
            call = job.call(rank, row)
            if call.group in groups:
                yield _entry(job, call, stack)


def _entry(job: Job, call: Call, stack: bool) -> dict[str, Any]:
    group, signature, site = job.groups[call.group], call.signature, call_site(call.stack)
    entry: dict[str, Any] = {
        "rank": call.rank,
        "record_id": call.record,
        "group": group.name,
        "group_desc": group.desc,
        "collective_seq_id": call.seq,
        "p2p_seq_id": call.p2p_seq,
        "op_id": call.op_id,
        "op": named(job, call.group, signature),
        "backend": signature.backend,
        "is_p2p": call.p2p,
        "state": STATE_NAMES[call.state],
        "retired": call.retired,
        "finished": finished(job, call),
        "input_sizes": signature.inputs,
        "input_dtypes": signature.input_dtypes,
        "output_sizes": signature.outputs,
        "output_dtypes": signature.output_dtypes,
        "time_created_ns": call.created,
        "time_discovered_started_ns": call.started,
        "time_discovered_completed_ns": call.completed,
        "duration_ms": call.duration if call.duration >= 0 else None,
        "timeout_ms": call.timeout,
        "thread": call.thread,
        "call_site": site.place if site else None,
    }
    entry = {name: None if value == NONE else value for name, value in entry.items()}
    if stack:
        entry["frames"] = [f"{frame.name} {frame.place}" for frame in call.stack]
    return entry


def as_json(rows: Iterator[dict[str, Any]]) -> Iterator[bytes]:
    """One array, an entry a line, made as it is written: a large job has millions."""
    lead = "[\n"
    for row in rows:
        yield (lead + json.dumps(row)).encode()
        lead = ",\n"
    yield b"[]\n" if lead == "[\n" else b"\n]\n"


def as_csv(names: Sequence[str], rows: Iterator[dict[str, Any]]) -> Iterator[bytes]:
    """A line an entry below a line of names; lists are JSON inside their field."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for values in itertools.chain([names], (row.values() for row in rows)):
        writer.writerow(map(_field, values))
        yield out.getvalue().encode()
        out.seek(0)
        out.truncate()


def _field(value: object) -> object:
    """A text that begins like a formula gets the quote with which spreadsheets mark plain text."""
    if isinstance(value, str):
        return "'" + value if value.startswith(("=", "+", "-", "@")) else value
    return json.dumps(value) if isinstance(value, (list, tuple)) else value


def finished(job: Job, call: Call) -> bool:
    """Members of a batch stay scheduled for ever: the closing entry has the state."""
    e = job.ranks[call.rank].entries
    return call.done or bool(e.done[e.call[call.row]])
