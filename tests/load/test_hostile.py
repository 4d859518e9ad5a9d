"""Files made to exhaust whoever reads them, or to take the good files beside them along."""

from __future__ import annotations

import gzip
import io
import pickle
import tarfile
import time
import tracemalloc
from pathlib import Path
from typing import Any, Callable

import pytest

from frtui.load import LoadError, archive, decode, load, read
from frtui.load.limits import MAX_TEXT
from frtui.model import Problem
from frtui.text import clean
from tests.dumps import DEFAULT, dump, entry, write

HEALTHY = dump([entry(seq) for seq in (1, 2, 3)], pg_config={DEFAULT: [0, 1]})


def beside_a_good_one(folder: Path, data: bytes, name: str = "nccl_trace_rank_1") -> list[Problem]:
    """The problems of a folder with a good dump and `data`, read in bounded time and memory."""
    write(folder, {0: HEALTHY})
    (folder / name).write_bytes(data)
    tracemalloc.start()
    begin = time.perf_counter()
    try:
        job = load(folder)
        assert tracemalloc.get_traced_memory()[1] < 250_000_000
    finally:
        tracemalloc.stop()
    assert time.perf_counter() - begin < 20
    assert list(job.ranks[0].entries.seq) == [1, 2, 3]
    return list(job.problems)


def doubled(levels: int) -> Any:
    value: Any = "x"
    for _ in range(levels):
        value = [value, value]
    return value


LONG, NAME = [[1]] * 50_000, "\x1b[31m" * 200_000
RANKS, NUMBERS = list(range(100_000)), str(list(range(100_000)))
SHARED: dict[str, Callable[[], Any]] = {
    "sizes": lambda: [dict(entry(s), input_sizes=LONG) for s in range(2_000)],
    "sizes, under many names": lambda: [
        dict(entry(s), input_sizes=LONG, profiling_name=f"x:{s}") for s in range(2_000)
    ],
    "sizes inside sizes": lambda: [dict(entry(1), input_sizes=[[1] * 5_000] * 5_000)],
    "dtypes": lambda: [dict(entry(s), output_dtypes=["Float"] * 50_000) for s in range(100)] * 20,
    "frames": lambda: [dict(entry(s), frames=LONG) for s in range(2_000)],
    "entries": lambda: [entry(1)] * 500_000,
}


@pytest.mark.parametrize("what", SHARED)
def test_lists_named_again_and_again_are_refused(tmp_path: Path, what: str) -> None:
    (problem,) = beside_a_good_one(tmp_path, pickle.dumps({"version": "2.10", "entries": SHARED[what]()}, 2))
    assert problem.problem == "refused"
    assert "again and again" in problem.detail


@pytest.mark.parametrize("ranks", [RANKS, NUMBERS], ids=["list", "text"])
def test_so_are_the_members_of_many_groups(tmp_path: Path, ranks: Any) -> None:
    config = {str(n): {"name": str(n), "desc": "", "ranks": ranks} for n in range(500)}
    (problem,) = beside_a_good_one(tmp_path, pickle.dumps({**HEALTHY, "pg_config": config}, 2))
    assert (problem.problem, "again and again" in problem.detail) == ("refused", True)


def test_a_long_name_is_cut_and_costs_once(tmp_path: Path) -> None:
    rows = [dict(entry(s), frames=[{"name": NAME, "filename": NAME, "line": s}]) for s in range(2_000)]
    rows += [dict(entry(s), process_group=[NAME, NAME], state=NAME, timeout_ms=NAME) for s in range(2_000)]
    (problem,) = beside_a_good_one(tmp_path, pickle.dumps({"version": "2.10", "entries": rows}, 2))
    assert problem.problem == "malformed"
    job = load(tmp_path)
    assert len(job.ranks[1].entries) == 4_000
    assert all(len(frame.name) < 5 * MAX_TEXT for stack in job.stacks for frame in stack)
    assert max(len(group.name) for group in job.groups) < 5 * MAX_TEXT


def test_a_group_whose_name_is_no_text_is_left_out(tmp_path: Path) -> None:
    config = {"0": {"name": doubled(60), "desc": "x", "ranks": "[0, 1]"}, None: [0, 1], 1.5: [0]}
    (problem,) = beside_a_good_one(tmp_path, pickle.dumps({**HEALTHY, "pg_config": config}, 2))
    assert (problem.problem, problem.detail[:2]) == ("malformed", "3 ")


@pytest.mark.parametrize("body", [b"]", b"}", b"[],", b"{},"], ids=repr)
@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_containers_of_one_byte_are_refused(tmp_path: Path, body: bytes, pack: Callable[[bytes], bytes]) -> None:
    text = body.endswith(b",")
    head, tail = (b'{"entries": [', b"1]}") if text else (b"\x80\x02}(X\x07\0\0\0entries](", b"eu.")
    for whole in (tail, b""):
        (problem,) = beside_a_good_one(tmp_path, pack(head + body * 1_000_000 + whole))
        assert (problem.problem, "lists and dicts" in problem.detail) == ("refused", True)


def test_joined_gzip_files_cost_linear_time(tmp_path: Path) -> None:
    good = gzip.compress(pickle.dumps(HEALTHY, 2)[:200]) + gzip.compress(pickle.dumps(HEALTHY, 2)[200:])
    assert beside_a_good_one(tmp_path, good) == []
    (problem,) = beside_a_good_one(tmp_path, gzip.compress(b"") * 50_000)
    assert problem.problem == "empty"


def header(name: str, size: bytes = b"", kind: bytes = b"0") -> bytes:
    """A tar header that may claim any size."""
    info = tarfile.TarInfo(name)
    info.type = kind
    raw = bytearray(info.tobuf(tarfile.GNU_FORMAT))
    raw[124:136] = size or raw[124:136]
    raw[148:156] = b" " * 8
    raw[148:156] = b"%06o\0 " % sum(raw)
    return bytes(raw)


def octal(size: int) -> bytes:
    return b"%011o\0" % size


def padded(data: bytes) -> bytes:
    return data.ljust(-(-len(data) // 512) * 512, b"\0")


NEGATIVE, END = b"\xff" * 10 + b"\xfc\0", bytes(10_240)
PAX = b"14 size=-1024\n"
TARS = {
    "a chain of long names": b"".join(header("l", octal(1), b"L") + padded(b"x") for _ in range(3_000)),
    "a negative size": header("rank_5", NEGATIVE) + END,
    "a name of negative size": header("rank_5", NEGATIVE, b"L") + END,
    "a negative size by pax": header("p", octal(len(PAX)), b"x") + padded(PAX) + header("rank_5") + END,
    "a name of digits": header("l", octal(60_000), b"L") + padded(b"1" * 59_990 + b"a1b") + header("x") + END,
    "a pax header of digits": header("p", octal(200_000), b"x") + padded(b"9" * 200_000) + header("x") + END,
    "a name of 1 GB": header("l", octal(1 << 30), b"L") + bytes(5_000_000),
    "a member of 3 GB": header("rank_5", octal(3 << 30)) + bytes(5_000_000),
}


@pytest.mark.parametrize("name", TARS)
@pytest.mark.parametrize("suffix", ["tar", "tgz"])
def test_hostile_archives(tmp_path: Path, name: str, suffix: str) -> None:
    data = TARS[name] if suffix == "tar" else gzip.compress(TARS[name], 9)
    found = {p.problem for p in beside_a_good_one(tmp_path, data, f"x.{suffix}")}
    assert found & {"refused", "unreadable", "not-a-dump"}


def test_an_archive_of_absurdly_many_members(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MAX_MEMBERS", 100)
    assert [p.problem for p in beside_a_good_one(tmp_path, header("x") * 100 + END, "x.tar")] == ["skipped"] * 100
    assert beside_a_good_one(tmp_path, header("x") * 101 + END, "x.tar")[-1].problem == "refused"


def test_an_archive_gives_what_stands_before_the_fault(tmp_path: Path) -> None:
    out = io.BytesIO()
    data = pickle.dumps(HEALTHY, 2)
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name in ("/etc/rank_1", "../../rank_2"):
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
        members = out.tell()
    (tmp_path / "x.tar").write_bytes(out.getvalue()[:members] + TARS["a negative size"])
    job = load(tmp_path)
    assert [(rank, job.ranks[rank].file) for rank in job.ranks] == [(1, "x.tar/etc/rank_1"), (2, "x.tar/../../rank_2")]
    assert [p.problem for p in job.problems] == ["refused"]


@pytest.mark.parametrize("text", ["--5", "-", "+5", "5-", "²"])
def test_numbers_as_odd_texts(tmp_path: Path, text: str) -> None:
    raw = {**HEALTHY, "pg_status": {"0": {"last_enqueued_collective": text}, text: {}}}
    assert [p.problem for p in beside_a_good_one(tmp_path, pickle.dumps(raw, 2))] == ["malformed"]


def test_attempts_with_odd_digits_in_their_names(tmp_path: Path) -> None:
    for name in ("²", "³", "٣"):
        write(tmp_path / name, {0: HEALTHY, 1: HEALTHY})
    assert sorted(load(tmp_path).attempts) == ["²", "³", "٣"]


def test_a_closing_entry_is_no_member_of_the_next_batch(tmp_path: Path) -> None:
    rows = [entry(7, state="scheduled")] + [entry(7, "coalesced", sizes=(), state="scheduled")] * 5_000
    job = load(write(tmp_path, {0: dump(rows)}))
    assert list(job.ranks[0].entries.call) == [1, *range(1, 5_001)]
    assert [len(call.signature.parts) for call in job.calls(0)] == [1] + [0] * 4_999


def test_what_is_no_entry_makes_no_call(tmp_path: Path) -> None:
    """It would stand for ever as a call that nobody else joins."""
    raw = {**HEALTHY, "entries": [{"a": 1}, {"profiling_name": "nccl:x"}, *HEALTHY["entries"]]}
    (problem,) = beside_a_good_one(tmp_path, pickle.dumps(raw, 2))
    assert (problem.problem, problem.detail[:2]) == ("malformed", "2 ")
    assert list(load(tmp_path).ranks[1].entries.seq) == [1, 2, 3]


@pytest.mark.parametrize("entries", [{"a": 1}, "x", 7, [{"a": 1}], [None]], ids=repr)
def test_entries_that_are_none_are_no_empty_ring(tmp_path: Path, entries: Any) -> None:
    """An empty ring says that a rank made no call, for which it could be blamed."""
    (problem,) = beside_a_good_one(tmp_path, pickle.dumps({**HEALTHY, "entries": entries}, 2))
    assert problem.problem == "not-a-dump"
    assert list(load(tmp_path).ranks) == [0]


def test_a_fault_of_ours_costs_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(data: bytes, cut: str, fault: str) -> decode.Decoded:
        return decode.decode(data) if len(data) > 9 else {"a": decode.Decoded(None)}["\x1b"]

    monkeypatch.setattr(read, "interpret", fail)
    (problem,) = beside_a_good_one(tmp_path, b"\x80\x02}.")
    assert (problem.problem, problem.detail.isprintable()) == ("refused", True)
    assert "a fault in frtui: KeyError" in problem.detail


def test_the_folder_cannot_drive_the_terminal(tmp_path: Path) -> None:
    folder = tmp_path / "x\x1b]0;owned\x07\n"
    folder.mkdir()
    for wrong in (folder, folder / "none"):
        with pytest.raises(LoadError) as caught:
            load(wrong)
        assert str(caught.value).splitlines()[0].isprintable()
        assert "owned" in str(caught.value).splitlines()[0]


@pytest.mark.parametrize("code", [0x115F, 0x180E, 0x200B, 0x202E, 0x2066, 0x3164, 0xFE0F, 0xFFA0, 0xE0001, 0xE0100])
def test_what_cannot_be_seen_is_shown(code: int) -> None:
    assert clean(f"a{chr(code)}b").isascii()
