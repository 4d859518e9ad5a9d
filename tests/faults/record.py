"""Writes what the ranks made as dumps: rings, versions, clocks, and what a recorder leaves out."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from tests.dumps import T0, Name, Raw, Status, dump, entry, write
from tests.faults.machine import MICROSECOND, SECOND, Made
from tests.faults.program import Op, Plan

VERSIONS = ("2.10", "2.10", "2.10", "2.9", "2.7", "2.4", "2.3")
PER_HOST = 4


@dataclass
class Recording:
    """How the dumps of one case are made."""

    at: list[int]
    """When each rank was dumped, nanoseconds of the true clock after the job's start."""
    timeout: int
    versions: list[str]
    skew: list[int]
    """By rank: its host's clock minus the true one."""
    ring: int = 2000
    only_active: bool = False
    frames: bool = True
    timing: bool = False
    as_json: bool = False
    shared_disk: bool = False
    """The files' times come from one file server instead of the ranks' own hosts."""
    missing: frozenset[int] = frozenset()
    claims: dict[tuple[int, int], tuple[int, ...]] = field(default_factory=dict)
    """(rank, group) -> the members that this rank's configuration gives the group."""
    blind: dict[int, int] = field(default_factory=dict)


def recording(plan: Plan, rng: Random, at: list[int], timeout: int) -> Recording:
    """Ordinary settings, drawn by chance."""
    spread = rng.choice([5_000, 50_000, 50_000, 20_000_000]) * MICROSECOND
    hosts = [int(rng.uniform(-spread, spread)) for _ in range(plan.world // PER_HOST + 1)]
    version = rng.choice(VERSIONS)
    mixed = rng.random() < 0.1
    as_json = rng.random() < 0.1 and version != "2.3"
    return Recording(
        at=at,
        timeout=timeout,
        versions=[rng.choice(["2.10", "2.9"]) if mixed else version for _ in plan.programs],
        skew=[hosts[rank // PER_HOST] for rank in range(plan.world)],
        timing=rng.random() < 0.25,
        as_json=as_json,
        frames=not as_json and rng.random() > 0.1,
        shared_disk=spread <= 50_000 * MICROSECOND and rng.random() < 0.5,
    )


def save(folder: Path, plan: Plan, made: list[list[Made]], how: Recording) -> None:
    """One file per rank, each as old as its dump."""
    dumps = {r: _dump(plan, r, calls, how) for r, calls in enumerate(made) if r not in how.missing}
    write(folder, dumps, "nccl_trace_rank_{}", "json" if how.as_json else 2)
    for rank in dumps:
        at = T0 + how.at[rank] + (0 if how.shared_disk else how.skew[rank])
        os.utime(folder / f"nccl_trace_rank_{rank}", ns=(at, at))


def state(made: Made, how: Recording) -> str:
    at = how.at[made.rank]
    if made.finished is not None and made.finished <= at and made.index < how.blind.get(made.rank, 1 << 40):
        return "completed"
    return "started" if how.timing and made.started is not None and made.started <= at else "scheduled"


def _dump(plan: Plan, rank: int, calls: Sequence[Made], how: Recording) -> Any:
    made = [m for m in calls if m.created <= how.at[rank]]
    own = {n: pg for pg, n in enumerate(n for n, g in enumerate(plan.groups) if rank in g.ranks)}
    rows = [row for m in made for row in _entries(plan, m, own, how)]
    for record, row in enumerate(rows):
        row["record_id"] = record
    kept = rows[-how.ring :]
    if how.only_active:
        kept = [row for row in kept if row["state"] != "completed"]
    used = {m.op.group for m in made}
    config: dict[Name, Sequence[int]] = {}
    for n in own:
        if n in used:
            config[plan.groups[n].name, plan.groups[n].desc] = how.claims.get((rank, n), plan.groups[n].ranks)
    status = {own[n]: _status([m for m in made if m.op.group == n], how) for n in used}
    raw = dump(kept, version=how.versions[rank], pg_config=config, pg_status=status)
    for row in raw["entries"]:
        _discover(row, {m.created + T0 + how.skew[rank]: m for m in made}, how)
    return raw


def _status(made: Sequence[Made], how: Recording) -> Status:
    numbers = [(m.p2p_seq if m.op.p2p else m.seq, state(m, how)) for m in made]
    done = [n for n, s in numbers if s == "completed"]
    return numbers[-1][0], numbers[-1][0] if how.timing else -1, done[-1] if done else -1


def _entries(plan: Plan, made: Made, own: dict[int, int], how: Recording) -> list[Raw]:
    group = plan.groups[made.op.group]
    common: dict[str, Any] = {
        "group": (group.name, group.desc),
        "pg_id": own[made.op.group],
        "site": made.op.site if how.frames else None,
        "p2p_seq": made.p2p_seq,
        "created": T0 + made.created + how.skew[made.rank],
        "timeout": how.timeout // 1_000_000,
    }
    seq = made.seq
    if not made.op.parts:
        title = _title(group.ranks, made.rank, made.op) if made.op.p2p else made.op.op
        return [_entry(made, made.op, title, state(made, how), seq, common)]
    members = [_entry(made, p, _title(group.ranks, made.rank, p), "scheduled", seq, common) for p in made.op.parts]
    for n, row in enumerate(members):
        row["op_id"] += n
    return [
        *members,
        _entry(made, Op(made.op.group, "coalesced", made.op.site), "coalesced", state(made, how), seq, common),
    ]


def _title(ranks: Sequence[int], rank: int, op: Op) -> str:
    return f"{op.op} {ranks.index(rank)}{'->' if op.op == 'send' else '<-'}{ranks.index(op.peer)}"


def _entry(made: Made, op: Op, title: str, now: str, seq: int, common: dict[str, Any]) -> Raw:
    return entry(
        seq,
        title,
        sizes=op.inputs,
        outputs=op.outputs,
        dtype=op.dtype,
        state=now,
        op_id=made.op_id,
        **common,
    )


def _discover(row: Raw, made: dict[int, Made], how: Recording) -> None:
    """The times at which the watchdog noticed, and the duration where timing was on."""
    one = made[row["time_created_ns"]]
    shift = T0 + how.skew[one.rank]
    poll = 100_000 * MICROSECOND
    if row["state"] == "completed" and one.finished is not None and one.started is not None:
        row["time_discovered_completed_ns"] = shift + min((one.finished // poll + 1) * poll, how.at[one.rank])
        row["retired"] = how.at[one.rank] - one.finished > poll
        if how.timing:
            row["duration_ms"] = (one.finished - one.started) / 1_000_000
    if row["state"] != "scheduled" and how.timing and one.started is not None:
        row["time_discovered_started_ns"] = shift + min((one.started // poll + 1) * poll, how.at[one.rank])


def hung_at(made: list[list[Made]], timeout: int, rng: Random) -> list[int]:
    """When a stuck job is dumped: the oldest open call times out, and the others follow within seconds."""
    first = min(m.created for calls in made for m in calls if m.finished is None)
    return [first + timeout + int(rng.uniform(0.5, 2.5) * SECOND) for _ in made]
