"""Which files are read, and as which rank, host and attempt."""

from __future__ import annotations

import os
import socket
import tarfile
from pathlib import Path
from typing import Any, Literal

import pytest

from frtui.load import Cancelled, LoadError, Progress, load
from frtui.load.errors import Unusable
from frtui.load.found import Found
from frtui.load.names import Name, parse
from frtui.load.read import content
from tests.dumps import DEFAULT, dump, entry, write


def ranks(*numbers: int, calls: int = 1) -> dict[int, Any]:
    rows = [entry(seq) for seq in range(1, calls + 1)]
    return {rank: dump(rows, pg_config={DEFAULT: range(8)}) for rank in numbers}


def age(folder: Path, seconds: int) -> None:
    """Make every file below `folder` older than now."""
    for file in folder.rglob("*"):
        then = file.stat().st_mtime - seconds
        os.utime(file, (then, then))


def problems(source: Path, **options: Any) -> dict[str, str]:
    return {p.file: p.problem for p in load(source, **options).problems}


@pytest.mark.parametrize(
    ("name", "rank", "host"),
    [
        ("nccl_trace_rank_3", 3, ""),
        ("comm_lib_trace_rank_12", 12, ""),
        ("hccl_trace_rank_3", 3, ""),
        ("nccl_rank_3", 3, ""),
        ("trace_rank_3", 3, ""),
        ("trace_0", 0, ""),
        ("rank_3", 3, ""),
        ("rank3", 3, ""),
        ("_dump_3", 3, ""),
        ("nccl_trace_rank_container-node02_5", 5, "container-node02"),
        ("nccl_trace_rank_10.0.0.17_5", 5, "10.0.0.17"),
        ("host0.pci3_rank_0", 0, "host0.pci3"),
        ("rank_3.json", 3, ""),
        ("nccl_trace_rank_3.pkl.gz", 3, ""),
        ("rank_3_flight_recorder.pickle", 3, ""),
    ],
)
def test_names_in_the_wild(name: str, rank: int, host: str) -> None:
    assert parse(name) == Name(rank, host)


@pytest.mark.parametrize("name", ["README", "trace_", "nccl_trace_rank_1000000000000", "trace_" + "9" * 5000])
def test_names_without_a_rank(name: str) -> None:
    assert parse(name) is None


def test_host_and_rank_need_no_option(tmp_path: Path) -> None:
    write(tmp_path, ranks(5), "nccl_trace_rank_container-node02_{}")
    write(tmp_path, ranks(40), "nccl_trace_rank_container-node07_{}")
    job = load(tmp_path)
    assert {rank: r.host for rank, r in job.ranks.items()} == {5: "container-node02", 40: "container-node07"}
    assert job.ranks[5].file == "nccl_trace_rank_container-node02_5"


def test_a_prefix_selects_and_says_what_it_left_out(tmp_path: Path) -> None:
    write(tmp_path, ranks(0, 1), "nccl_trace_rank_node1_{}")
    write(tmp_path, ranks(2), "nccl_trace_rank_node2_{}")
    job = load(tmp_path, prefix="nccl_trace_rank_node1_")
    assert list(job.ranks) == [0, 1]
    assert [(p.file, p.problem) for p in job.problems] == [("nccl_trace_rank_node2_2", "skipped")]
    assert job.missing == tuple(range(2, 8))


def test_a_missing_file_is_a_missing_rank(tmp_path: Path) -> None:
    job = load(write(tmp_path, ranks(0, 1, 2, 4, 5, 6, 7)))
    assert job.missing == (3,)
    assert job.problems == ()


def test_fifos_and_sockets_are_never_opened(tmp_path: Path) -> None:
    write(tmp_path, ranks(0))
    os.mkfifo(tmp_path / "nccl_trace_rank_1")
    os.mkfifo(tmp_path / "nccl_trace_rank_0.pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "nccl_trace_rank_2"))
        found = problems(tmp_path)
    assert found == dict.fromkeys(["nccl_trace_rank_0.pipe", "nccl_trace_rank_1", "nccl_trace_rank_2"], "skipped")


def test_a_fifo_behind_a_link_is_not_opened(tmp_path: Path) -> None:
    folder = write(tmp_path / "dumps", ranks(0))
    os.mkfifo(tmp_path / "elsewhere")
    (folder / "nccl_trace_rank_1").symlink_to(tmp_path / "elsewhere")
    assert problems(folder) == {"nccl_trace_rank_1": "skipped"}


def test_a_file_that_became_a_fifo_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "rank_0")
    with pytest.raises(Unusable, match="FIFO"):
        content(Found(str(tmp_path / "rank_0"), "rank_0", 0, "", "", 0, 0, 100))


def test_what_lies_beside_dumps_is_listed_not_read(tmp_path: Path) -> None:
    write(tmp_path, ranks(0, 1), "hccl_trace_rank_{}")
    beside = ["hccl_trace_rank_0_py_traceback", "stacks_20260211.txt", ".nfs0001", "hccl_trace_rank_1.tmp", "README"]
    for name in beside:
        (tmp_path / name).write_text("Thread 0x00007f (most recent call first):\n")
    job = load(tmp_path)
    assert list(job.ranks) == [0, 1]
    assert {p.file: (p.rank, p.problem) for p in job.problems} == dict.fromkeys(beside, (None, "skipped"))


def test_a_newer_log_does_not_take_the_place_of_a_dump(tmp_path: Path) -> None:
    write(tmp_path, ranks(0, 1))
    age(tmp_path, 60)
    (tmp_path / "log.1").write_text("step 12\n")
    job = load(tmp_path)
    assert list(job.ranks) == [0, 1]
    assert [(p.file, p.problem) for p in job.problems] == [("log.1", "not-a-dump")]


def test_links_to_files_are_read_and_loops_end(tmp_path: Path) -> None:
    write(tmp_path / "real", ranks(0))
    folder = tmp_path / "dumps"
    folder.mkdir()
    (folder / "nccl_trace_rank_0").symlink_to(tmp_path / "real" / "nccl_trace_rank_0")
    (folder / "again").symlink_to(folder)
    (folder / "nccl_trace_rank_1").symlink_to(folder / "nccl_trace_rank_1")
    job = load(folder)
    assert list(job.ranks) == [0]
    assert [(p.file, p.problem) for p in job.problems] == [("nccl_trace_rank_1", "unreadable")]


def test_the_newest_attempt_is_read_unless_another_is_asked_for(tmp_path: Path) -> None:
    write(tmp_path / "attempt_0", ranks(0, 1, calls=3))
    write(tmp_path / "attempt_1", ranks(0, 1, calls=5))
    age(tmp_path / "attempt_0", 3600)
    newest = load(tmp_path)
    assert (newest.attempts, newest.attempt) == (("attempt_0", "attempt_1"), "attempt_1")
    assert newest.n_entries == 10
    assert load(tmp_path, attempt="attempt_0").n_entries == 6
    with pytest.raises(LoadError, match="attempt_0, attempt_1"):
        load(tmp_path, attempt="attempt_7")


def test_attempts_below_and_above_nodes(tmp_path: Path) -> None:
    for attempt, calls in (("attempt_0", 2), ("attempt_1", 4)):
        for node, rank in (("node0", 0), ("node1", 1)):
            write(tmp_path / "a" / attempt / node, ranks(rank, calls=calls))
            write(tmp_path / "b" / node / attempt, ranks(rank, calls=calls))
    for below in ("a/attempt_0", "b/node0/attempt_0", "b/node1/attempt_0"):
        age(tmp_path / below, 3600)
    for order in ("a", "b"):
        job = load(tmp_path / order)
        assert (job.attempts, job.n_entries) == (("attempt_0", "attempt_1"), 8)
        assert {rank: r.host for rank, r in job.ranks.items()} == {0: "node0", 1: "node1"}


def test_attempts_with_few_dumps_are_not_merged(tmp_path: Path) -> None:
    write(tmp_path / "attempt_0", ranks(0, 1))
    write(tmp_path / "attempt_1", ranks(2, 3))
    assert load(tmp_path).attempts == ("attempt_0", "attempt_1")
    assert list(load(tmp_path, attempt="attempt_0").ranks) == [0, 1]


def test_attempts_of_two_runs_are_all_told_apart(tmp_path: Path) -> None:
    for n, folder in enumerate(["old/attempt_0", "old/attempt_1", "new/attempt_0", "new/attempt_1"]):
        write(tmp_path / folder, ranks(0, 1, calls=n + 1))
        age(tmp_path / folder, 100 - n)
    job = load(tmp_path)
    assert job.attempts == ("old/attempt_0", "old/attempt_1", "new/attempt_0", "new/attempt_1")
    assert (job.n_entries, load(tmp_path, attempt="old/attempt_1").n_entries) == (8, 4)


def test_node_folders_are_one_job(tmp_path: Path) -> None:
    write(tmp_path / "node-a", ranks(0, 1))
    write(tmp_path / "node-b", ranks(2, 3))
    job = load(tmp_path)
    assert job.attempts == ()
    assert {rank: r.host for rank, r in job.ranks.items()} == {0: "node-a", 1: "node-a", 2: "node-b", 3: "node-b"}


def test_one_stale_file_makes_no_attempt(tmp_path: Path) -> None:
    write(tmp_path / "node-a", ranks(0, 1, 2, 3))
    write(tmp_path / "node-b", ranks(4, 5, 6, 7))
    write(tmp_path / "node-b", ranks(3, calls=9))
    os.utime(tmp_path / "node-b" / "nccl_trace_rank_3", (1, 1))
    job = load(tmp_path)
    assert list(job.ranks) == list(range(8))
    assert job.ranks[3].file == "node-a/nccl_trace_rank_3"
    assert [(p.file, p.rank, p.problem) for p in job.problems] == [("node-b/nccl_trace_rank_3", 3, "duplicate")]


def test_two_prefixes_in_one_folder_keep_the_newer(tmp_path: Path) -> None:
    write(tmp_path, ranks(0, calls=2))
    age(tmp_path, 60)
    write(tmp_path, ranks(0, calls=3), "comm_lib_trace_rank_{}")
    job = load(tmp_path)
    assert job.n_entries == 3
    assert [(p.file, p.problem) for p in job.problems] == [("nccl_trace_rank_0", "duplicate")]


def test_a_single_file(tmp_path: Path) -> None:
    write(tmp_path, ranks(0, 5))
    assert list(load(tmp_path / "nccl_trace_rank_5").ranks) == [5]


def test_a_single_file_without_a_rank_in_its_name(tmp_path: Path) -> None:
    write(tmp_path, ranks(0), "flight_recorder.txt")
    job = load(tmp_path / "flight_recorder.txt")
    assert list(job.ranks) == [0]
    assert [p.problem for p in job.problems] == ["malformed"]


@pytest.mark.parametrize("mode", ["w", "w:gz"])
def test_archives_are_read_where_they_lie(tmp_path: Path, mode: Literal["w", "w:gz"]) -> None:
    folder = write(tmp_path / "dumps", ranks(0, 1, 2))
    (folder / "notes.txt").write_text("x")
    os.mkfifo(folder / "nccl_trace_rank_3")
    archive = tmp_path / ("job.tar" if mode == "w" else "job.tar.gz")
    with tarfile.open(archive, "w") if mode == "w" else tarfile.open(archive, "w:gz") as tar:
        tar.add(folder, "dumps")
    job = load(archive)
    assert list(job.ranks) == [0, 1, 2]
    assert job.ranks[1].dumped_ns // 10**9 == int((folder / "nccl_trace_rank_1").stat().st_mtime)
    assert sorted(p.file.rpartition("/")[2] for p in job.problems) == ["notes.txt", "nccl_trace_rank_3"][::-1]
    assert sorted(os.listdir(tmp_path)) == ["dumps", archive.name]


def test_archives_of_nodes_in_a_folder(tmp_path: Path) -> None:
    for node, rank in (("node0", 0), ("node1", 1)):
        write(tmp_path / node, ranks(rank))
        with tarfile.open(tmp_path / f"{node}.tgz", "w:gz") as tar:
            tar.add(tmp_path / node / f"nccl_trace_rank_{rank}", f"{node}/nccl_trace_rank_{rank}")
        (tmp_path / node / f"nccl_trace_rank_{rank}").unlink()
    assert {rank: r.host for rank, r in load(tmp_path).ranks.items()} == {0: "node0", 1: "node1"}


def test_a_cut_archive_gives_what_is_before_the_cut(tmp_path: Path) -> None:
    folder = write(tmp_path / "dumps", ranks(0, 1, 2, 3))
    with tarfile.open(tmp_path / "job.tar", "w") as tar:
        for rank in range(4):
            tar.add(folder / f"nccl_trace_rank_{rank}", f"nccl_trace_rank_{rank}")
    data = (tmp_path / "job.tar").read_bytes()
    (tmp_path / "job.tar").write_bytes(data[: data.index(b"nccl_trace_rank_2") + 700])
    job = load(tmp_path / "job.tar")
    assert list(job.ranks)[:2] == [0, 1]
    assert "truncated" in {p.problem for p in job.problems}


def test_an_empty_folder_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(LoadError) as caught:
        load(tmp_path)
    message = str(caught.value)
    assert str(tmp_path) in message.splitlines()[0]
    for word in ("TORCH_FR_BUFFER_SIZE", "TORCH_NCCL_TRACE_BUFFER_SIZE", "TORCH_FR_DUMP_TEMP_FILE", "/tmp/nccl_trace"):
        assert word in message


def test_a_folder_of_something_else_names_its_files(tmp_path: Path) -> None:
    (tmp_path / "model_0").write_bytes(b"PK\3\4 a checkpoint")
    with pytest.raises(LoadError, match=r"model_0: a zip file") as caught:
        load(tmp_path)
    assert [(p.file, p.problem) for p in caught.value.problems] == [("model_0", "not-a-dump")]


def test_no_such_folder(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match="No such file"):
        load(tmp_path / "nowhere")


def test_progress_after_every_file(tmp_path: Path) -> None:
    write(tmp_path, ranks(0, 1, calls=4))
    (tmp_path / "nccl_trace_rank_2").write_bytes(b"")
    steps: list[Progress] = []
    load(tmp_path, progress=steps.append)
    assert [(s.files_done, s.files_total, s.rank, s.entries) for s in steps] == [
        (1, 3, 0, 4),
        (2, 3, 1, 4),
        (3, 3, None, 0),
    ]
    total = sum(file.stat().st_size for file in tmp_path.iterdir())
    assert (steps[-1].bytes_done, steps[-1].bytes_total) == (total, total)


def test_loading_can_be_cancelled(tmp_path: Path) -> None:
    write(tmp_path, ranks(0, 1, 2))
    steps: list[Progress] = []
    with pytest.raises(Cancelled):
        load(tmp_path, progress=steps.append, cancelled=lambda: len(steps) == 2)
    assert len(steps) == 2


def test_names_cannot_drive_the_terminal(tmp_path: Path) -> None:
    write(tmp_path, ranks(0))
    (tmp_path / "evil\x1b[2J_7").write_text("x")
    assert all(text.isprintable() for p in load(tmp_path).problems for text in (p.file, p.detail))
