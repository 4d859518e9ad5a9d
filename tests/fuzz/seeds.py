"""What is mutated: dumps in every version and encoding, as objects and as bytes."""

from __future__ import annotations

import io
import json
import tarfile
import tempfile
from copy import deepcopy
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Any, Callable

from tests import torch_pickle
from tests.dumps import DEFAULT, batch, dump, encoded, entry
from tests.load import ways
from tests.recorded import SLEEPS, failure, recorded, ring, thread

DEMO = Path(__file__).parents[2] / "frtui" / "demo"
VERSIONS = ("list", "1.4", "1.5", "2.0", "2.1", "2.3", "2.4", "2.9", "2.10", "2.11")
TP: tuple[str, str] = ("3", "tp")
CONFIG = {DEFAULT: (0, 1, 2), TP: (0, 1)}


def history(rank: int, length: int = 8) -> list[dict[str, Any]]:
    """A job of three that got stuck: ranks 0 and 1 wait in a collective, rank 2 in another one."""
    rows = [entry(seq, site=("train.py", 60 + seq % 3), duration=seq / 3) for seq in range(1, length)]
    if rank < 2:
        rows += [entry(seq, "_all_gather_base", group=TP, sizes=[[seq, 8]], outputs=[[16, 8]]) for seq in (1, 2, 3)]
        rows += batch(["send 0->1", "recv 0<-1"], p2p_seq=1, group=TP, state="started")
    last = "all_reduce" if rank < 2 else "broadcast"
    return [*rows, entry(length, last, sizes=[[rank // 2, 7]], state="started", site=("train.py", 90))]


def raw(rank: int, version: str = "2.10") -> Any:
    return dump(history(rank), version=version, pg_config=CONFIG)


@lru_cache(maxsize=1)
def demos() -> list[bytes]:
    return [path.read_bytes() for path in sorted(DEMO.glob("*/*_trace_rank_*"))]


@lru_cache(maxsize=1)
def a_ring() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        return ring(Path(folder), 1, 5, done=4).read_bytes()


def objects(chance: Random) -> Any:
    """A dump that is still an object."""
    rank = chance.randrange(3)
    version = chance.choice(VERSIONS)
    kind = chance.randrange(6)
    if kind == 0:
        return ways.job()
    if kind == 1:
        sleeps = [thread(*deepcopy(SLEEPS)), thread(*deepcopy(SLEEPS[:2]), name="worker")]
        return {**recorded(raw(rank), rank, sleeps), "exception": failure()}
    if kind == 2:
        return dump([entry(s, site=("a.py", s % 4)) for s in range(1, 150)], pg_config=CONFIG, first_record=7)
    return raw(rank, version)


def json_bytes(value: Any) -> bytes:
    return json.dumps(value).encode()


ENCODINGS: tuple[Callable[[Any], bytes], ...] = (
    torch_pickle.dumps,
    torch_pickle.dumps,
    lambda value: encoded(value, 2),
    lambda value: encoded(value, 3),
    lambda value: encoded(value, 4),
    lambda value: encoded(value, 5),
    json_bytes,
    lambda value: encoded(value, "gzip"),
)


WRITE_ALL = (torch_pickle.dumps, json_bytes)
"""Encodings that write a list as often as it is met, where the others refer to the first."""
MOST = 300_000
"""Values that they may write: of lists in lists in lists there are soon millions, which is the fuzzer's fault."""


def encode(chance: Random, value: Any) -> bytes:
    """In any encoding that can hold it."""
    try:
        many = written_out(value, {}) > MOST
    except RecursionError:
        many = False  # which is then too deep for most encodings, too
    for how in chance.sample(ENCODINGS, len(ENCODINGS)):
        if many and how in WRITE_ALL:
            continue
        try:
            return how(value)
        except (TypeError, ValueError, KeyError, IndexError, OverflowError, RecursionError, AttributeError):
            continue  # an odd object, which that one does not know
        except Exception as error:
            if type(error).__name__ not in ("error", "PicklingError"):  # of struct
                raise
    return b""


def written_out(value: Any, known: dict[int, int]) -> int:
    """How many values there are in `value`, where one that is met twice counts twice. `known`: by id."""
    if not isinstance(value, (list, tuple, dict)):
        return 1
    if id(value) not in known:
        known[id(value)] = MOST + 1  # should it be in itself
        known[id(value)] = 1 + sum(
            written_out(item, known) for item in (value.values() if isinstance(value, dict) else value)
        )
    return known[id(value)]


def data(chance: Random) -> bytes:
    """A dump in bytes."""
    kind = chance.randrange(10)
    if kind == 0:
        return a_ring()
    if kind < 3:
        return chance.choice(demos())
    return encode(chance, objects(chance))


def tarred(members: dict[str, bytes], mode: str) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as tar:  # type: ignore[call-overload]
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return out.getvalue()


FAULT = b"""\
Fatal Python error: Segmentation fault

Current thread 0x00007f8b1c2d3740 (most recent call first):
  File "/job/train.py", line 13 in step
  File "/job/train.py", line 30 in main

Thread 0x00007f8b1b1d2700 (most recent call first):
  File "/usr/lib/python3.11/threading.py", line 327 in wait
"""
