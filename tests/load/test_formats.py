"""Every version and spelling of a dump gives the same model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from frtui.load import load
from frtui.model import COMPLETED, NONE, SCHEDULED, STARTED, Frame, Job, Signature, Status
from tests import torch_pickle
from tests.dumps import DEFAULT, T0, as_json, batch, dump, encoded, entry, frame, write

VERSIONS = ["list", "1.1", "1.4", "2.1", "2.2", "2.3", "2.4", "2.5", "2.6", "2.7", "2.9", "2.10", "2.11"]


def one(tmp_path: Path, *entries: dict[str, Any], **options: Any) -> Job:
    return load(write(tmp_path, {0: dump(entries, **options)}))


def test_one_entry_of_the_newest_version(tmp_path: Path) -> None:
    raw = entry(
        7, "_all_gather_base", sizes=[[4, 8]], outputs=[[16, 8]], dtype="BFloat16", group=("5", "tp"), duration=0.25
    )
    job = one(tmp_path, raw, pg_config={DEFAULT: [0, 1], ("5", "tp"): [1, 0]}, first_record=30)
    call = job.call(0, 0)
    assert job.groups[call.group].ranks == (1, 0)
    assert job.groups[call.group].label == "tp:5"
    assert call.signature == Signature("_all_gather_base", "nccl", ((4, 8),), ((16, 8),), ("BFloat16",), ("BFloat16",))
    assert (call.record, call.seq, call.p2p_seq, call.op_id) == (30, 7, 0, 7)
    assert (call.state, call.done, call.retired, call.p2p) == (COMPLETED, True, True, False)
    assert (call.created, call.started, call.completed) == (T0 + 30_000_000, NONE, T0 + 30_500_000)
    assert (call.duration, call.timeout, call.thread) == (0.25, 600_000, "python3 140448761543552")
    assert call.stack[1] == Frame("step", "train.py", 60)
    assert job.ranks[0].wrapped
    assert job.libraries == ("2.27.5",)


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version(tmp_path: Path, version: str) -> None:
    rows = [entry(1), entry(2, state="started"), entry(3, "broadcast", state="scheduled")]
    job = one(tmp_path, *rows, version=version, pg_config={DEFAULT: [0, 1]})
    e = job.ranks[0].entries
    assert list(e.seq) == [1, 2, 3]
    assert list(e.state) == [COMPLETED, STARTED, SCHEDULED]
    assert list(e.done) == [1, 0, 0]
    assert [job.call(0, row).op for row in range(3)] == ["all_reduce", "all_reduce", "broadcast"]
    assert list(e.created) == [T0, T0 + 1_000_000, T0 + 2_000_000]
    assert [g.name for g in job.groups] == ["0"]
    assert job.groups[0].ranks == ((0,) if version in ("list", "1.1") else (0, 1))
    assert job.ranks[0].version == ("" if version == "list" else version)
    assert [p.problem for p in job.problems] == (["newer-version"] if version == "2.11" else [])


def test_mixed_versions_are_one_job(tmp_path: Path) -> None:
    members = range(len(VERSIONS))
    for rank, version in enumerate(VERSIONS):
        write(tmp_path, {rank: dump([entry(1), entry(2)], version=version, pg_config={DEFAULT: members})})
    job = load(tmp_path)
    assert [g.ranks for g in job.groups] == [tuple(members)]
    assert all(list(r.entries.seq) == [1, 2] for r in job.ranks.values())
    assert {job.groups[r.entries.group[0]].desc for r in job.ranks.values()} == {"default_pg"}
    assert job.missing == ()


@pytest.mark.parametrize(
    ("version", "newer"),
    [("2.9", False), ("2.10", False), ("2.10.1", True), ("3", True), ("2.100", True), ("x", False)],
)
def test_versions_are_numbers_by_part(tmp_path: Path, version: str, newer: bool) -> None:
    raw = {**dump([entry(1)]), "version": version}
    assert [p.problem for p in load(write(tmp_path, {0: raw})).problems] == ["newer-version"] * newer


@pytest.mark.parametrize("encode", [2, 3, 4, 5, "torch", "json", "gzip", "json.gz"])
def test_every_encoding_gives_the_same(tmp_path: Path, encode: Any) -> None:
    rows = [entry(1), *batch(["send 0->1", "recv 0<-1"], p2p_seq=1, group=("1", "pp")), entry(2, state="started")]
    raw = dump(rows, pg_config={DEFAULT: [0, 1], ("1", "pp"): [0, 1]}, pg_status={0: (2, 2, 1), 1: (1, -1, 1)})
    data = torch_pickle.dumps(raw) if encode == "torch" else encoded(raw, encode)
    (tmp_path / "rank_0").write_bytes(data)
    job = load(tmp_path)
    e = job.ranks[0].entries
    assert job.problems == ()
    assert list(e.call) == [0, 3, 3, 3, 4]
    assert list(e.started) == [NONE] * 4 + [T0 + 4_000_000 + 100_000]
    assert e.completed[0] == T0 + 500_000
    assert job.groups[1].ranks == (0, 1)
    assert job.ranks[0].status == {0: Status(2, 2, 1), 1: Status(1, -1, 1)}
    assert (e.stack[0] == NONE) == ("json" in str(encode))


def test_json_without_entries_is_a_rank_that_recorded_nothing(tmp_path: Path) -> None:
    raw = dump([], pg_config={DEFAULT: [0, 1]}, pg_status={0: (5, 4, 4)})
    assert "entries" not in as_json(raw)
    job = load(write(tmp_path, {0: raw, 1: dump([entry(6)], pg_config={DEFAULT: [0, 1]})}, encode="json"))
    assert len(job.ranks[0].entries) == 0
    assert job.ranks[0].status == {0: Status(5, 4, 4)}
    assert [(p.rank, p.problem) for p in job.problems] == [(0, "no-entries")]
    assert job.missing == ()


def test_a_rank_that_recorded_nothing_keeps_its_status(tmp_path: Path) -> None:
    empty = dump([], pg_config={DEFAULT: [0, 1], ("3", "tp"): [0, 1]}, pg_status={0: (5, 5, 5), 1: (2, -1, 2)})
    job = load(write(tmp_path, {0: empty}))
    names = {job.groups[g].name: status for g, status in job.ranks[0].status.items()}
    assert names == {"0": Status(5, 5, 5), "3": Status(2, -1, 2)}


def test_frames_on_some_entries_only(tmp_path: Path) -> None:
    rows = [entry(1), entry(2, site=None), entry(3, site=[])]
    job = one(tmp_path, *rows)
    assert [bool(job.call(0, row).stack) for row in range(3)] == [True, False, False]
    assert list(job.ranks[0].entries.stack) == [0, NONE, NONE]


def test_equal_stacks_and_signatures_are_stored_once_per_job(tmp_path: Path) -> None:
    rows = [entry(seq, site=("train.py", 60 + seq % 2)) for seq in range(1, 9)]
    job = load(write(tmp_path, {rank: dump(rows) for rank in range(4)}))
    assert (len(job.stacks), len(job.signatures), len(job.threads)) == (2, 1, 1)


def test_odd_frames(tmp_path: Path) -> None:
    site = [frame("??", 0, "c10d::Work"), frame("<eval_with_key>.3", 7, "forward")]
    raw = dump([entry(1, site=site)])
    raw["entries"][0]["frames"] += [{"name": "f"}, "x", None]
    job = load(write(tmp_path, {0: raw}))
    assert job.stacks == ((*(Frame(f["name"], f["filename"], f["line"]) for f in site), Frame("f", "??", 0)),)


@pytest.mark.parametrize(
    ("name", "backend", "op", "src", "dst"),
    [
        ("nccl:all_reduce", "nccl", "all_reduce", NONE, NONE),
        ("gloo:barrier", "gloo", "barrier", NONE, NONE),
        ("nccl:gather_single", "nccl", "gather_single", NONE, NONE),
        ("ncclx:all_to_all_v_single", "ncclx", "all_to_all_v_single", NONE, NONE),
        ("c10d:allreduce", "c10d", "allreduce", NONE, NONE),
        ("nccl2:all_reduce", "nccl2", "all_reduce", NONE, NONE),
        ("nccl:send 0->1", "nccl", "send", 0, 1),
        ("nccl:recv 1<-0", "nccl", "recv", 0, 1),
        ("nccl:recv 1<-?", "nccl", "recv", NONE, 1),
        ("nccl:recvAnySource", "nccl", "recvAnySource", NONE, NONE),
        ("hccl:send 12->3", "hccl", "send", 12, 3),
        ("c10d:send", "c10d", "send", NONE, NONE),
        ("allreduce", "", "allreduce", NONE, NONE),
        ("a:b:c", "a", "b:c", NONE, NONE),
        ("nccl:", "nccl", "?", NONE, NONE),
        (["nccl:all_reduce"], "nccl", "all_reduce", NONE, NONE),
    ],
)
def test_profiling_names(tmp_path: Path, name: Any, backend: str, op: str, src: int, dst: int) -> None:
    raw = dump([entry(1)])
    raw["entries"][0]["profiling_name"] = name
    job = load(write(tmp_path, {0: raw}))
    signature = job.call(0, 0).signature
    assert (signature.backend, signature.op, signature.src, signature.dst) == (backend, op, src, dst)
    assert bool(job.ranks[0].entries.p2p[0]) == (op in ("send", "recv"))


def test_gloo_is_done_when_retired(tmp_path: Path) -> None:
    rows = [
        entry(1, backend="gloo"),
        entry(2, backend="gloo", state="started"),
        entry(3, retired=True, state="started"),
    ]
    job = one(tmp_path, *rows)
    assert list(job.ranks[0].entries.done) == [1, 0, 0]


def test_completed_but_not_retired_is_done(tmp_path: Path) -> None:
    raw = dump([entry(1, retired=False), entry(2, retired=False, state="started")])
    raw["entries"][0]["retired"] = 0  # pytorch #166095
    job = load(write(tmp_path, {0: raw}))
    assert list(job.ranks[0].entries.done) == [1, 0]


def test_dtypes_as_numbers(tmp_path: Path) -> None:
    raw = dump([entry(1)])
    raw["entries"][0].update(input_dtypes=[6, 15], output_dtypes=[0, 11, 900, -1])
    job = load(write(tmp_path, {0: raw}))
    assert job.signatures[0].input_dtypes == ("Float", "BFloat16")
    assert job.signatures[0].output_dtypes[:2] == ("Byte", "Bool")


def test_scalars_empty_and_missing_tensors(tmp_path: Path) -> None:
    job = one(tmp_path, entry(1, sizes=[[]]), entry(2, sizes=[]), entry(3, sizes=[[0]], outputs=[[2], [2]]))
    assert [s.inputs for s in job.signatures] == [((),), (), ((0,),)]
    assert job.signatures[2].outputs == ((2,), (2,))


def test_keys_of_a_fork_are_no_matter(tmp_path: Path) -> None:
    raw = {**dump([entry(1, backend="hccl")], version="2.4"), "hccl_comm_state": {"x": {"rank": "0"}}, "new": [1]}
    raw["entries"][0]["process_group_ranks"] = [0, 1]
    assert load(write(tmp_path, {0: raw})).backends == ("hccl",)
