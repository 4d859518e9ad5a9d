"""The fast way and the general one give the same of every file, or the fast one leaves it to the other."""

from __future__ import annotations

import gzip
import pickle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from frtui.load import load, read
from tests import corpus, torch_pickle
from tests.dumps import DEFAULT, dump, entry
from tests.load import ways
from tests.load.ways import job, reads, same

VERSIONS = ["list", "1.1", "1.4", "2.1", "2.2", "2.3", "2.4", "2.5", "2.6", "2.7", "2.9", "2.10", "2.11"]
REPOSITORY = Path(__file__).parents[2]


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_is_read_the_fast_way(version: str) -> None:
    assert reads(job(version=version))


def test_a_ring_that_wrapped_and_one_that_is_long() -> None:
    rows = [entry(s, site=("x.py", s % 50), duration=1.5 if s % 3 else None) for s in range(1, 5000)]
    assert reads(dump(rows, first_record=65_000))
    assert reads(dump(rows, first_record=(1 << 31) - 2000))


@pytest.mark.parametrize("folder", ["frtui/demo/tutorial", "frtui/demo/idle", "frtui/demo/deadlock"])
def test_dumps_of_real_jobs_are_read_the_fast_way(folder: str) -> None:
    files = [path for path in (REPOSITORY / folder).iterdir() if "rank" in path.name]
    assert files
    assert all(same(path.read_bytes()) for path in files)


@corpus.needed
def test_every_case_of_the_corpus() -> None:
    files = [path for case in corpus.cases() for path in case.iterdir()]
    assert files
    for path in files:
        same(path.read_bytes())
        assert reads(pickle.loads(path.read_bytes()))


def test_what_python_writes_is_left_to_the_general_way() -> None:
    for protocol in range(6):
        assert not same(pickle.dumps(job(), protocol))


NONSENSE = [
    *ways.NONSENSE,
    0,
    "7",
    [5],
    [[1, "x"]],
    [[[1]]],
    ["x", [1]],
    ("a", "b"),
    ("a", 1),
    ("a",),
    10**12,
    -(10**12),
    float("inf"),
    1e300,
    [10**12],
    [[2**62]],
    [[1] * 70],
    "\ud800",
]


@pytest.mark.parametrize("key", [*entry(), "duration_ms", "seq_id", "time_created_us", "error", "something"])
@pytest.mark.parametrize("value", NONSENSE, ids=repr)
def test_a_value_of_any_type_in_any_key(key: str, value: Any) -> None:
    raw = dump([entry(s, duration=0.5) for s in range(6)])
    for row in (0, 3):
        rows = [dict(r) for r in raw["entries"]]
        rows[row][key] = value
        reads({**raw, "entries": rows})
        reads({**raw, "entries": [{**r, key: value} for r in rows]})
        rows[row].pop(key)
        reads({**raw, "entries": rows})


@pytest.mark.parametrize(
    "key", ["version", "pg_config", "pg_status", "comm_lib_version", "unresolved", "recorder", "x"]
)
@pytest.mark.parametrize("value", NONSENSE, ids=repr)
def test_a_value_of_any_type_at_the_top_before_and_after_the_entries(key: str, value: Any) -> None:
    raw = dump([entry(s) for s in range(3)])
    reads({key: value, **raw})
    reads({**{k: v for k, v in raw.items() if k != key}, key: value})


SITES = st.one_of(st.none(), st.tuples(st.text(max_size=3), st.integers(0, 1 << 20)))
INTEGERS = st.one_of(st.integers(-2, 300), st.integers(-(1 << 63), (1 << 63) - 1))
SIZES = st.lists(st.lists(st.integers(0, 1 << 40), max_size=3), max_size=3)
ENTRIES = st.builds(
    entry,
    INTEGERS,
    st.sampled_from(["all_reduce", "send 0->1", "coalesced", "\x1b[31m", "x"]),
    sizes=SIZES,
    outputs=SIZES,
    dtype=st.sampled_from(["Float", "\u202e"]),
    group=st.sampled_from([DEFAULT, ("1", "tp"), ("", "\x1b")]),
    site=SITES,
    state=st.sampled_from(["completed", "started", "scheduled"]),
    retired=st.booleans(),
    backend=st.sampled_from(["nccl", "gloo"]),
    p2p=st.one_of(st.none(), st.booleans()),
    p2p_seq=st.integers(0, 70_000),
    record=st.one_of(st.none(), st.integers(0, 1 << 40)),
    op_id=INTEGERS,
    created=st.one_of(st.none(), st.integers(-(1 << 62), 1 << 62)),
    duration=st.one_of(st.none(), st.floats()),
    timeout=INTEGERS,
    thread=st.text(max_size=2),
)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(ENTRIES, st.sets(st.sampled_from([*entry()]), max_size=2)), max_size=8),
    st.sampled_from(VERSIONS),
)
def test_entries_of_any_kind(rows: list[tuple[Any, set[str]]], version: str) -> None:
    raw = dump([row for row, _ in rows], version=version)
    kept = raw if isinstance(raw, list) else raw["entries"]
    for row, (_, lost) in zip(kept, rows):
        for key in lost:
            row.pop(key, None)
    reads(raw)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(ENTRIES, min_size=1, max_size=5),
    st.lists(st.tuples(st.integers(0, 4), st.sampled_from([0, 1, 1, 1, 40, 200, 70_000])), max_size=200),
    st.sampled_from(["2.4", "2.10"]),
)
def test_long_dumps_of_some_kinds_of_entries(kinds: list[Any], order: list[tuple[int, int]], version: str) -> None:
    """Numbers take other widths from one entry to the next, so that unlike entries are of one length."""
    rows: list[Any] = []
    at = 0
    for kind, step in order:
        at += step
        rows.append({**kinds[kind % len(kinds)], "collective_seq_id": at, "record_id": len(rows)})
    reads(dump(rows, version=version))


def test_entries_of_one_length_with_their_numbers_in_other_places() -> None:
    """What the sizes take more, the sequence numbers take less."""
    rows = [entry(300 + s, op_id=300 + s, sizes=[[4096]], outputs=[[7]]) for s in range(80)]
    rows[1::3] = [entry(s, op_id=s, sizes=[[1 << 20]], outputs=[[7]]) for s in range(len(rows[1::3]))]
    assert len({len(torch_pickle.dumps([row])) for row in rows}) == 1
    assert reads(dump(rows))


def test_what_torch_writes_is_what_the_tests_write() -> None:
    files = [
        path for name in ("tutorial", "idle", "deadlock") for path in (REPOSITORY / "frtui/demo" / name).glob("*rank*")
    ]
    for path in files:
        assert torch_pickle.dumps(pickle.loads(path.read_bytes())) == path.read_bytes()


def test_load_goes_the_fast_way_and_gzip_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = torch_pickle.dumps(job())
    (tmp_path / "rank_0").write_bytes(data)
    (tmp_path / "rank_1.gz").write_bytes(gzip.compress(data))
    monkeypatch.delattr(read, "interpret")  # the general way
    loaded = load(tmp_path)
    assert list(loaded.ranks) == [0, 1]
    assert loaded.problems == ()
