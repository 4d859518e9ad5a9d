"""Our ring and torch's own buffer as one dump. NCCL can't run here: its dump is made up, in torch's shape."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from frtui.load import load
from recorder.job import merge
from tests.dumps import DEFAULT, T0, dump, entry, write
from tests.recorded import recorded

TP = ("7", "tp")
MILLISECOND = 1_000_000


def of(name: str, group: tuple[str, str], count: int, start: int) -> list[dict[str, Any]]:
    """Calls of one library, ten milliseconds apart."""
    made = [entry(seq, group=group, backend=name) for seq in range(1, count + 1)]
    return [{**one, "pg_id": 0, "time_created_ns": T0 + (start + 10 * n) * MILLISECOND} for n, one in enumerate(made)]


def ours(count: int, rank: int = 0) -> dict[str, Any]:
    made = dump(of("gloo", DEFAULT, count, 0), pg_config={DEFAULT: [0, 1]})
    return {
        **recorded(made, rank),
        "pg_status": {"0": status(count)},
        "python_stacks": [{"name": "MainThread", "frames": []}],
    }


def theirs(count: int) -> dict[str, Any]:
    made = dump(of("nccl", TP, count, 5), pg_config={TP: [0, 1]})
    return {**made, "recorder": {"source": "nccl"}, "pg_status": {"0": status(count)}}


def status(count: int) -> dict[str, int]:
    names = ("last_enqueued_collective", "last_started_collective", "last_completed_collective")
    return dict.fromkeys(names, count)


def test_calls_of_both_are_in_the_order_of_their_making(tmp_path: Path) -> None:
    made = merge.combined(ours(3), theirs(2))
    assert [e["profiling_name"].partition(":")[0] for e in made["entries"]] == ["gloo", "nccl", "gloo", "nccl", "gloo"]
    assert [e["record_id"] for e in made["entries"]] == list(range(5))
    assert made["pg_status"] == {"0": status(3), "1": status(2)}
    assert {(e["pg_id"], e["process_group"][0]) for e in made["entries"]} == {(0, "0"), (1, "7")}
    write(tmp_path, {0: made, 1: merge.combined(ours(3, 1), theirs(2))}, "rank_{}")
    job = load(tmp_path)
    assert job.problems == ()
    assert {(g.name, g.ranks) for g in job.groups} == {("0", (0, 1)), ("7", (0, 1))}
    assert job.ranks[0].by == "rank"


def test_a_rank_with_nothing_but_nccl_keeps_what_only_we_know() -> None:
    made = merge.combined(ours(0), theirs(2))
    assert [e["collective_seq_id"] for e in made["entries"]] == [1, 2]
    assert made["recorder"]["reason"] == "asked by rank 0"
    assert made["python_stacks"] == [{"name": "MainThread", "frames": []}]
    assert set(made["pg_config"]) == {"0", "7"}
    assert made["pg_status"] == {"0": status(2)}


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs torch")
def test_without_a_buffer_of_the_device_the_dump_says_so() -> None:
    import torch.distributed  # noqa: F401 - its buffers are asked for

    made = merge.merged(ours(3), False, True, True)
    assert len(made["entries"]) == 3
    assert made["recorder"]["native"].startswith("nothing of torch's own recorder: ")
