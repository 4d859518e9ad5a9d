"""Files that are cut, damaged or hostile: each is named, the rest is read, nothing is executed."""

from __future__ import annotations

import gzip
import json
import os
import pickle
import struct
import time
import tracemalloc
from pathlib import Path
from typing import Any, Callable

import pytest

from frtui.load import LoadError, load
from frtui.load.decode import decode
from frtui.load.errors import Unusable
from frtui.load.opcodes import Shape, walk
from frtui.model import Problem
from tests import torch_pickle
from tests.dumps import DEFAULT, dump, encoded, entry, write
from tests.load import ways

N = 40
HEALTHY = dump([entry(seq) for seq in range(1, N + 1)], pg_config={DEFAULT: range(4)})
PROTOCOLS = [2, 3, 4, 5, "torch"]


def as_bytes(raw: Any, protocol: Any) -> bytes:
    return torch_pickle.dumps(raw) if protocol == "torch" else pickle.dumps(raw, protocol)


def problem_of(tmp_path: Path, data: bytes) -> Problem:
    """The problem that a file of `data` makes in a job whose other rank is fine."""
    write(tmp_path, {0: HEALTHY})
    (tmp_path / "nccl_trace_rank_1").write_bytes(data)
    job = load(tmp_path)
    assert len(job.ranks[0].entries) == N
    (problem,) = job.problems
    assert (problem.file, problem.rank) == ("nccl_trace_rank_1", 1)
    return problem


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_pickle_cut_at_half_keeps_its_leading_entries(tmp_path: Path, protocol: Any) -> None:
    data = as_bytes(HEALTHY, protocol)
    half = len(data) // 2
    problem = problem_of(tmp_path, data[:half])
    assert problem.problem == "truncated"
    assert f"of {half:,}" in problem.detail
    job = load(tmp_path)
    assert job.ranks[1].truncated
    kept = len(job.ranks[1].entries)
    assert problem.salvaged_entries == kept
    assert 0 < kept < N
    assert list(job.ranks[1].entries.seq) == list(range(1, kept + 1))
    assert job.ranks[1].config == {0: (0, 1, 2, 3)}
    assert list(job.ranks[1].status.values()) == list(job.ranks[0].status.values())


@pytest.mark.parametrize(
    ("data", "word", "detail"),
    [
        (b"", "empty", "0 bytes"),
        (b"\0" * 100, "not-a-dump", "NUL"),
        (b"Traceback (most recent call last):\n", "not-a-dump", "text"),
        (torch_pickle.dumps(HEALTHY)[:87], "truncated", "of 87"),
        (b"\x80\x02", "truncated", "of 2"),
        (b"PK\x03\x04", "not-a-dump", "zip"),
        (pickle.dumps({"epoch": 3}), "not-a-dump", "entries"),
        (b'{"epoch": 3}', "not-a-dump", "entries"),
        (b"{ not json", "not-a-dump", "JSON"),
        (torch_pickle.dumps(HEALTHY)[:900] + b"\xff" * 900, "refused", "at byte"),
    ],
)
def test_broken_files_are_named_with_the_reason(tmp_path: Path, data: bytes, word: str, detail: str) -> None:
    problem = problem_of(tmp_path, data)
    assert problem.problem == word
    assert detail in problem.detail


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_cut_ends_well_and_keeps_all_that_is_whole(protocol: Any) -> None:
    raw = dump([entry(seq, "all_gather", outputs=[[4, 4]]) for seq in (1, 2, 3)], pg_config={DEFAULT: [0, 1]})
    data = as_bytes(raw, protocol)
    kept = 0
    for end in range(2, len(data)):
        decoded = decode(data[:end])
        assert decoded.cut
        entries = decoded.raw.get("entries", []) if isinstance(decoded.raw, dict) else []
        assert entries == raw["entries"][: len(entries)]
        assert len(entries) >= kept
        kept = len(entries)
    assert kept == 3
    assert decode(data).raw == raw


def test_every_cut_of_the_list_of_torch_2_2(tmp_path: Path) -> None:
    raw = dump([entry(seq) for seq in (1, 2)], version="list")
    data = torch_pickle.dumps(raw)
    for end in range(2, len(data)):
        cut = decode(data[:end]).raw
        assert cut is None or cut == raw[: len(cut)]  # type: ignore[arg-type]
    assert decode(data[:-2]).raw == raw


def test_every_cut_of_json_ends_well() -> None:
    raw: dict[str, Any] = {
        "version": "2.10",
        "pg_config": {},
        "entries": [{"record_id": i, "frames": [{"line": 1}]} for i in (0, 1)],
    }
    text = json.dumps(raw).encode()
    kept = 0
    for end in range(1, len(text)):
        try:
            decoded = decode(text[:end])
        except Unusable:
            assert end <= text.index(b'"entries": [') + len(b'"entries": ')
            continue
        assert isinstance(decoded.raw, dict)
        assert decoded.raw["version"] == "2.10"
        assert decoded.raw["entries"] == raw["entries"][: len(decoded.raw["entries"])]
        kept = len(decoded.raw["entries"])
    assert kept == 2


def test_every_damaged_byte_is_survived(tmp_path: Path) -> None:
    data = torch_pickle.dumps(dump([entry(1), entry(2, "send 0->1", p2p_seq=1)], pg_config={DEFAULT: [0, 1]}))
    path = tmp_path / "nccl_trace_rank_0"
    outcomes: set[str] = set()
    for at in range(len(data)):
        path.write_bytes(data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :])
        try:
            outcomes.update(p.problem for p in load(tmp_path).problems)
        except LoadError as error:
            outcomes.update(p.problem for p in error.problems)
    assert outcomes <= {"truncated", "refused", "not-a-dump", "malformed", "newer-version", "no-entries"}


def test_cut_gzip_keeps_its_leading_entries(tmp_path: Path) -> None:
    rows = [entry(seq, site=(f"file{seq * 7919 % 1000}.py", seq)) for seq in range(1, 400)]
    data = gzip.compress(torch_pickle.dumps(dump(rows)))
    problem = problem_of(tmp_path, data[: len(data) // 2])
    assert problem.problem == "truncated"
    assert "gzip" in problem.detail
    assert 50 < (problem.salvaged_entries or 0) < 399


class Evil:
    """Creates a file when it is unpickled."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.marker),)


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_nothing_is_executed(tmp_path: Path, protocol: int) -> None:
    marker = tmp_path / "executed"
    raw = {**HEALTHY, "extra": Evil(marker)}
    data = pickle.dumps(raw, protocol)
    pickle.loads(data)
    assert marker.exists(), "the pickle is not hostile at all"
    marker.rmdir()
    problem = problem_of(tmp_path / "dumps", data)
    assert problem.problem == "refused"
    assert "global" in problem.detail
    assert not marker.exists()


@pytest.mark.parametrize(
    "body",
    [
        b"cos\nsystem\nX\x02\0\0\0id\x85R.",
        b"ctorch.jit._pickle\nbuild_intlist\n](K\x01e\x85R.",
        b"(X\x02\0\0\0idios\nsystem\n.",
        b"\x8c\x02os\x8c\x06system\x93.",
        b"Pid\n.",
        b"\x82\x01.",
        b"](K\x01\x8f.",
        b"I1\n.",
    ],
)
def test_opcodes_that_data_never_need_are_refused(tmp_path: Path, body: bytes) -> None:
    for protocol in (b"\x80\x02", b"\x80\x04"):
        assert problem_of(tmp_path, protocol + body).problem == "refused"


def _bomb(levels: int, pair: bytes, as_key: bool = False) -> bytes:
    """Pairs of pairs of pairs: 2**levels leaves in a few bytes. `G` in `pair` fetches the level below."""
    steps = [pair.replace(b"G", b"h" + bytes([n])) + b"q" + bytes([n + 1]) for n in range(levels)]
    end = b"}h" + bytes([levels]) + b"K\x01s." if as_key else b"."
    return b"\x80\x02X\x03\0\0\0lolq\0" + b"".join(steps) + end


def _implicit_bomb(levels: int) -> bytes:
    """The same in protocol 4, where memo slots are not named."""
    steps = b"".join(b"h%ch%c\x86\x94" % (n, n) for n in range(levels))
    return b"\x80\x04\x8c\x03lol\x94" + steps + b"}h%cK\x01s." % levels


# Pickles whose only fault is a tuple of tuples as a key: Python hashes 2**levels strings.
HASH_BOMBS: dict[str, Callable[[int], bytes]] = {
    "pairs of pairs": lambda n: _bomb(n, b"GG\x86", as_key=True),
    "of protocol 4": _implicit_bomb,
    "stored after a fill with nothing": lambda n: _bomb(n, b"GG\x86(e", as_key=True),
    "stored twice": lambda n: _bomb(n, b"GG\x86q\xc8", as_key=True),
    "fetched and stored again": lambda n: _bomb(n, b"GG\x86q\xc8h\xc8", as_key=True),
    "pairs of a string and a pair": lambda n: _bomb(n, b"X\x01\0\0\0aG\x86", as_key=True),
    "with a large slot": lambda n: _bomb(n, b"GG\x86r\0\0\x7f\0", as_key=True),
    "single tuples": lambda n: _bomb(n, b"G\x85", as_key=True),
    "tuples by mark": lambda n: _bomb(n, b"(GGt", as_key=True),
    "tuples with a long name": lambda n: _bomb(n, b"j\0\0\0\0GG\x87", as_key=True),
}


@pytest.mark.parametrize("name", HASH_BOMBS)
def test_no_tuple_of_tuples_reaches_the_c_unpickler(name: str) -> None:
    harmless = HASH_BOMBS[name](2)
    assert isinstance(pickle.loads(harmless), dict), "the pickle is not valid"
    assert walk(harmless).shape is Shape.UNUSUAL
    with pytest.raises(Unusable):
        decode(HASH_BOMBS[name](100))


HOSTILE = {
    "memo bomb of lists": _bomb(90, b"](GGe"),
    "memo bomb of lists as sizes": b"\x80\x02}(X\x07\0\0\0entries](}(X\x0e\0\0\0profiling_nameX\x01\0\0\0x"
    b"X\x11\0\0\0collective_seq_idK\x01X\x0b\0\0\0input_sizes](" + _bomb(90, b"](GGe")[2:-1] + b"eueu.",
    "memo bomb of frames": b"\x80\x02}(X\x07\0\0\0entries](}(X\x0e\0\0\0profiling_nameX\x01\0\0\0x"
    b"X\x11\0\0\0collective_seq_idK\x01X\x06\0\0\0frames](" + _bomb(90, b"](GGe")[2:-1] + b"eueu.",
    "memo bomb of tuples": _bomb(90, b"GG\x86"),
    "3 GB claimed": b"\x80\x02}(X\x07\0\0\0versionX" + struct.pack("<I", 3_000_000_000) + b"2.10u.",
    "3 GB claimed by protocol 4": b"\x80\x04\x8d" + struct.pack("<Q", 3_000_000_000) + b"x.",
    "a bytearray of 3 GB": b"\x80\x05\x96" + struct.pack("<Q", 3_000_000_000) + b"x.",
    "a memo of 2**31 slots": b"\x80\x02}r\xff\xff\xff\x7f.",
    "a frame of 2**62 bytes": b"\x80\x04\x95" + struct.pack("<Q", 1 << 62) + b"}.",
    "a long of 2 GB": b"\x80\x02\x8b\xff\xff\xff\x7f\0.",
    "100,000 nested lists": b"\x80\x02" + b"]" * 100_000 + b"a" * 99_999 + b".",
    "100,000 nested dicts": b"\x80\x02" + b"}K\x01" * 100_000 + b"Ns" + b"s" * 99_999 + b".",
    "100,000 nested tuples": b"\x80\x02)" + b"\x85" * 100_000 + b".",
    "100,000 open marks": b"\x80\x02" + b"(" * 100_000 + b".",
    "nested JSON": b"[" * 100_000 + b"]" * 100_000,
    "nested JSON entries": b'{"entries": [' + b'{"frames": ' * 100_000,
    "a gzip bomb": gzip.compress(b"\x80\x02" + b"N" * 300_000_000, 9),
    "a gzip bomb of zeros": gzip.compress(bytes(300_000_000), 9),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_cost_neither_time_nor_memory(tmp_path: Path, name: str) -> None:
    tracemalloc.start()
    begin = time.perf_counter()
    try:
        problem = problem_of(tmp_path, HOSTILE[name])
    finally:
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert problem.problem in ("refused", "not-a-dump", "truncated", "malformed")
    assert time.perf_counter() - begin < 10
    assert peak < 200_000_000


def test_a_huge_memo_slot_never_reaches_the_c_unpickler() -> None:
    assert walk(HOSTILE["a memo of 2**31 slots"]).shape is Shape.UNUSUAL


def test_tuples_of_scalars_are_read(tmp_path: Path) -> None:
    """A Python tool may write sizes as tuples; that goes through the careful interpreter."""
    raw = dump([entry(1)])
    raw["entries"][0]["input_sizes"] = [(4, 8), ()]
    data = pickle.dumps(raw, 4)
    assert walk(data).shape is Shape.UNUSUAL
    (tmp_path / "rank_0").write_bytes(data)
    assert load(tmp_path).signatures[0].inputs == ((4, 8), ())


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_dumps_take_the_fast_way(protocol: Any) -> None:
    """Not only small ones: memo slots grow past one byte, and every entry has its tuple."""
    rows = [entry(s, group=(str(s % 5), f"group {s % 5}"), site=(f"f{s}.py", s)) for s in range(1, 400)]
    data = as_bytes(dump(rows), protocol)
    assert walk(data) == (Shape.PLAIN, len(data))


def test_bytes_after_the_end_are_ignored(tmp_path: Path) -> None:
    (tmp_path / "rank_0").write_bytes(torch_pickle.dumps(HEALTHY) + b"rest of an older, longer dump")
    job = load(tmp_path)
    assert len(job.ranks[0].entries) == N
    assert job.problems == ()


NONSENSE = [*ways.NONSENSE, 10**30, -(10**30), [10**30]]


@pytest.mark.parametrize("key", sorted(entry()) + ["duration_ms"])
@pytest.mark.parametrize("value", NONSENSE, ids=repr)
def test_a_value_of_any_type_in_any_key(tmp_path: Path, key: str, value: Any) -> None:
    raw = dump([entry(1), entry(2), entry(3)])
    raw["entries"][1][key] = value
    (tmp_path / "rank_0").write_bytes(pickle.dumps(raw, 2))
    job = load(tmp_path)
    assert list(job.ranks[0].entries.seq)[::2] == [1, 3]
    assert len(job.ranks[0].entries) == 3
    assert {p.problem for p in job.problems} <= {"malformed"}
    assert [job.call(0, row) for row in range(3)]


@pytest.mark.parametrize("key", ["version", "pg_config", "pg_status", "comm_lib_version"])
@pytest.mark.parametrize(
    "value", NONSENSE + [{"0": v} for v in NONSENSE] + [{v: {}} for v in ((), 10**30, None)], ids=repr
)
def test_a_value_of_any_type_at_the_top(tmp_path: Path, key: str, value: Any) -> None:
    raw = {**dump([entry(1)]), key: value}
    (tmp_path / "rank_0").write_bytes(pickle.dumps(raw, 2))
    assert load(tmp_path).n_entries == 1


def test_entries_that_are_none_are_dropped_and_counted(tmp_path: Path) -> None:
    raw = dump([entry(1), entry(2)])
    raw["entries"][1:1] = [None, "x", {}, []]
    job = load(write(tmp_path, {0: raw}))
    assert list(job.ranks[0].entries.seq) == [1, 2]
    (problem,) = job.problems
    assert (problem.problem, problem.detail[:2]) == ("malformed", "4 ")


def test_absurd_ranks_in_a_config_cost_nothing(tmp_path: Path) -> None:
    raw = dump([entry(1)], pg_config={DEFAULT: [0, 10**12], ("1", "tp"): [0, 2_000_000_000]})
    job = load(write(tmp_path, {0: raw}))
    assert [(g.name, g.ranks) for g in job.groups] == [("1", (0, 2_000_000_000)), ("0", (0, 2_000_000_000))]
    assert [p.problem for p in job.problems] == ["malformed"]


def test_unreadable_files_are_named(tmp_path: Path) -> None:
    write(tmp_path, {0: HEALTHY, 1: HEALTHY})
    (tmp_path / "nccl_trace_rank_1").chmod(0)
    if os.access(tmp_path / "nccl_trace_rank_1", os.R_OK):
        pytest.skip("this user may read everything")
    assert [(p.rank, p.problem) for p in load(tmp_path).problems] == [(1, "unreadable")]


def test_controls_never_reach_the_model(tmp_path: Path) -> None:
    evil = "x\x1b]0;owned\x07\u202e"
    raw = dump([entry(1, f"all_{evil}", dtype=evil, group=(evil, evil), site=(evil, 3), thread=evil)], library=evil)
    raw["version"] = evil
    job = load(write(tmp_path, {0: raw}))
    call = job.call(0, 0)
    texts = [call.op, call.signature.input_dtypes[0], call.thread, call.stack[1].filename, job.ranks[0].library]
    texts += [job.groups[0].name, job.groups[0].desc, job.ranks[0].version, *(p.detail for p in job.problems)]
    assert all(text.isprintable() for text in texts)


def test_encoded_gzip_is_gzip() -> None:
    assert encoded(HEALTHY, "gzip")[:2] == b"\x1f\x8b"
