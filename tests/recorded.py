"""What the in-job recorder adds to a dump, and its ring files, for tests."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest import mock

from recorder import ringfile
from recorder.ring import Ring
from tests.dumps import T0, Raw, frame

SECOND = 1_000_000_000
SLEEPS = [
    frame("/usr/lib/python3.11/threading.py", 327, "wait"),
    frame("/job/train.py", 13, "sleep_forever"),
    frame("/job/train.py", 30, "main"),
    frame("<frozen runpy>", 88, "_run_code"),
]


def thread(*frames: Raw, name: str = "MainThread") -> Raw:
    return {"name": name, "id": 140_000, "frames": list(frames)}


def recorded(raw: Raw, rank: int = 0, threads: Sequence[Raw] = (), **changes: Any) -> Raw:
    """`raw` as the recorder of `rank` would have written it, two seconds after the first call."""
    header = {
        "format": 1,
        "rank": rank,
        "world_size": 4,
        "host": "host-a",
        "pid": 4710 + rank,
        "reason": "asked by rank 0",
        "later_reasons": [],
        "by": "rank",
        "opened_ns": T0 - SECOND,
        "dumped_ns": T0 + 20 * SECOND,
        "heartbeat_ns": T0 + 20 * SECOND,
        "alive": True,
        "ended": 0,
    }
    return {**raw, "recorder": {**header, **changes}, **({"python_stacks": list(threads)} if threads else {})}


def failure(kind: str = "ValueError", message: str = "boom", *frames: Raw) -> Raw:
    return {"type": kind, "message": message, "frames": list(frames) or [frame("/job/train.py", 20, "step")]}


def ring(
    folder: Path,
    rank: int,
    calls: int = 1,
    *,
    done: int = 0,
    opened: int = T0,
    seen: int = T0 + 60 * SECOND,
    members: Sequence[int] = (0, 1, 2, 3),
    ended: int = 0,
) -> Path:
    """`folder/recorder/ring.r<rank>.frr` with so many calls, of which the first `done` have completed."""
    path = folder / "recorder" / f"ring.r{rank}.frr"
    path.parent.mkdir(parents=True, exist_ok=True)
    # Of another host, so that nobody looks for its process here.
    with mock.patch("time.time_ns", return_value=opened), mock.patch("socket.gethostname", return_value="host-r"):
        made = Ring(str(path), 16, rank, len(members))
        texts(made, members)
        for seq in range(1, calls + 1):
            record = made.put(1, 1, 0, ringfile.ISSUED, seq, 0, seq, 600_000, 0)
            if seq <= done:
                made.complete(record, ringfile.ISSUED | ringfile.COMPLETED)
    with mock.patch("time.time_ns", return_value=seen):
        made.beat()
    made.finish(ended)
    return path


def texts(made: Ring, members: Sequence[int]) -> None:
    """One group, one signature, one stack, for all calls."""
    made.text(ringfile.GROUP, 0, {"name": "0", "desc": "default_pg", "ranks": list(members)})
    sizes = {"inputs": [[4]], "outputs": [[4]], "input_dtypes": ["Float"], "output_dtypes": ["Float"]}
    made.text(ringfile.SIGNATURE, 1, {"name": "gloo:all_reduce", **sizes})
    made.text(ringfile.STACK, 1, [["step", "train.py", 60], ["main", "main.py", 9]])
