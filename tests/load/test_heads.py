"""The first answer from the heads of the files: right, or none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from frtui.engine.quick import quick, sentences
from frtui.load import load, load_heads
from tests import torch_pickle
from tests.dumps import DEFAULT, dump, entry

TP = ("7", "tp")
GROUPS = {DEFAULT: [0, 1, 2, 3], TP: [0, 1]}


def status(**groups: tuple[int, int]) -> dict[str, Any]:
    names = ("last_enqueued_collective", "last_started_collective", "last_completed_collective")
    return {number[1:]: dict(zip(names, (made, made, done))) for number, (made, done) in groups.items()}


def calls(name: str, count: int, group: tuple[str, str], pg_id: int, finished: int) -> list[dict[str, Any]]:
    made = [
        entry(seq, group=group, state="completed" if seq <= finished else "scheduled") for seq in range(1, count + 1)
    ]
    return [{**one, "profiling_name": f"{name}:all_reduce", "pg_id": pg_id} for one in made]


def job(
    folder: Path, name: str = "nccl", ranks: tuple[int, ...] = (0, 1, 2, 3), dumps: Any = torch_pickle.dumps
) -> Path:
    """Four ranks, of which rank 2 has made 3 of 5 collectives; the first two share a group that is done."""
    for rank in ranks:
        made, done = (3, 3) if rank == 2 else (5, 3)
        entries = calls(name, 1, TP, 1, 1) if rank < 2 else []
        entries += calls(name, made, DEFAULT, 0, done)
        config = {key: members for key, members in GROUPS.items() if rank in members}
        raw = dump(entries, pg_config=config)
        more = {"_1": (1, 1)} if rank < 2 else {}
        raw = {**raw, "pg_status": status(_0=(made, done), **more)}
        ordered = {key: raw[key] for key in (*(k for k in raw if k != "entries"), "entries")}
        (folder / f"rank_{rank}").write_bytes(dumps(ordered))
    return folder


def test_who_is_behind_is_known_from_the_heads(tmp_path: Path) -> None:
    found = load_heads(job(tmp_path))
    assert found is not None
    assert found.n_entries == 0
    (behind,) = quick(found).behind
    assert (behind.ranks, behind.reached, behind.waiting, behind.ahead) == ((2,), 3, (0, 1, 3), 5)
    assert sentences(found, quick(found)) == [
        "rank 2 enqueued collective #3 of default_pg at last, and ranks 0-1, 3 wait in #5"
    ]


def test_the_whole_job_says_the_same(tmp_path: Path) -> None:
    assert quick(load(job(tmp_path))) == quick(load_heads(tmp_path) or load(tmp_path))


def test_who_left_no_dump_is_known(tmp_path: Path) -> None:
    found = load_heads(job(tmp_path, ranks=(0, 1, 3)))
    assert found is not None
    assert quick(found).missing == (2,)
    assert sentences(found, quick(found))[-1] == "no dump from rank 2"


def test_a_rank_that_waits_elsewhere_is_a_consequence(tmp_path: Path) -> None:
    """Rank 1 is behind in the default group because it waits for rank 0 in another."""
    for rank, whole, tp in ((0, (5, 5), (4, 4)), (1, (4, 4), (5, 4))):
        raw = dump(
            [*calls("nccl", 1, TP, 1, 1), *calls("nccl", 2, DEFAULT, 0, 2)], pg_config={DEFAULT: [0, 1], TP: [0, 1]}
        )
        raw = {**raw, "pg_status": status(_0=whole, _1=tp)}
        (tmp_path / f"rank_{rank}").write_bytes(torch_pickle.dumps(raw))
    found = load_heads(tmp_path)
    assert found is not None
    assert [(b.ranks, b.waiting) for b in quick(found).behind] == [((0,), (1,))]


@pytest.mark.parametrize(
    ("name", "dumps"),
    [
        pytest.param("gloo", torch_pickle.dumps, id="gloo counts sends, too"),
        pytest.param(
            "nccl", lambda raw: json.dumps({**raw, "entries": raw["entries"]}, default=str).encode(), id="JSON"
        ),
    ],
)
def test_what_the_heads_cannot_tell_they_do_not_tell(tmp_path: Path, name: str, dumps: Any) -> None:
    assert load_heads(job(tmp_path, name, dumps=dumps)) is None
    assert load(tmp_path).n_entries > 0


def test_one_file_without_status_is_enough(tmp_path: Path) -> None:
    job(tmp_path)
    raw = {k: v for k, v in dump(calls("nccl", 3, DEFAULT, 0, 3)).items() if k != "pg_status"}
    (tmp_path / "rank_3").write_bytes(torch_pickle.dumps(raw))
    assert load_heads(tmp_path) is None


@pytest.mark.parametrize("size", [0, 3, 40, 200])
def test_a_cut_head_is_no_head(tmp_path: Path, size: int) -> None:
    job(tmp_path)
    path = tmp_path / "rank_3"
    path.write_bytes(path.read_bytes()[:size])
    assert load_heads(tmp_path) is None
