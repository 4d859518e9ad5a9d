"""Folders of strangers: links that lead out or in circles, files that can't be read, that grow or vanish meanwhile."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Callable

import pytest

from frtui.engine import diagnose
from frtui.load import LoadError, Progress, load, load_heads
from frtui.load import read as reading
from frtui.load.discover import discover
from frtui.report import render
from frtui.stored import open_job
from frtui.stored import write as write_index
from tests import torch_pickle
from tests.dumps import DEFAULT, dump, encoded, entry, write
from tests.load.ways import same

ROWS = [entry(seq) for seq in (1, 2, 3)]
DUMP = dump(ROWS, pg_config={DEFAULT: (0, 1)})
NAME = "nccl_trace_rank_{}"


def told(folder: Path) -> dict[str, str]:
    return {problem.file: problem.problem for problem in load(folder).problems}


# Cuts


@pytest.mark.parametrize("encode", [2, 4, "torch", "json", "gzip"])
def test_every_cut_through_all_of_frtui(encode: Any, tmp_path: Path) -> None:
    """The other rank is read, and what is left of this one; nothing is called a fault of ours."""
    whole = torch_pickle.dumps(DUMP) if encode == "torch" else encoded(DUMP, encode)
    write(tmp_path, {0: DUMP})
    kept = 0
    for end in range(0, len(whole), 1 if encode == "torch" else 7):
        (tmp_path / NAME.format(1)).write_bytes(whole[:end])
        job = open_job(tmp_path).job
        assert list(job.ranks[0].entries.seq) == [1, 2, 3]
        for problem in job.problems:
            assert problem.problem in ("empty", "truncated", "not-a-dump")
            assert problem.detail.isprintable()
        # What gzip has after the data can be missing, and all is there.
        assert len(job.problems) == 1 or encode == "gzip" and end > len(whole) - 9
        now = len(job.ranks[1].entries) if 1 in job.ranks else 0
        assert kept <= now <= 3 or encode == "gzip"
        kept = now
        assert render(job, diagnose(job), "text")
    assert same(whole) or encode != "torch"


def test_every_cut_of_an_index(tmp_path: Path) -> None:
    write(tmp_path, {0: DUMP, 1: DUMP})
    _, path, size = write_index(tmp_path)
    data = path.read_bytes()
    for end in range(0, size, 3):
        path.write_bytes(data[:end])
        found = open_job(tmp_path)
        assert "was not used" in found.note
        assert list(found.job.ranks) == [0, 1]


# Numbers


def test_ranks_of_ten_to_the_twelve(tmp_path: Path) -> None:
    """In names, in members, in the recorder's header and as peers."""
    raw = {**dump([entry(1, "send 0->1000000000000", p2p_seq=1)], pg_config={DEFAULT: (0, 10**12)})}
    raw["recorder"] = {"rank": 10**12, "world_size": 10**12, "by": "rank"}
    write(tmp_path, {0: raw, 2**31 - 1: DUMP})
    (tmp_path / NAME.format(10**12)).write_bytes(torch_pickle.dumps(DUMP))
    job = load(tmp_path)
    assert sorted(job.ranks) == [0, 2**31 - 1]
    assert {p.problem for p in job.problems} == {"skipped", "malformed"}
    assert max(job.world) == 2**31 - 1
    assert len(job.world) < 10
    assert render(job, diagnose(job), "html")


def test_ten_thousand_groups_in_one_dump(tmp_path: Path) -> None:
    raw = dump(ROWS)
    raw["pg_config"] = {str(n): {"name": str(n), "desc": f"g{n}", "ranks": "[0, 1]"} for n in range(10_000)}
    write(tmp_path, {0: raw, 1: raw})
    job = load(tmp_path)
    assert len(job.groups) == 10_000
    heads = load_heads(tmp_path)
    assert heads is None or len(heads.groups) == 10_000
    assert [found.kind for found in diagnose(job)] == ["no-hang"]


# Links


def test_links_that_lead_out_are_followed_to_dumps_only(tmp_path: Path) -> None:
    """Many clusters keep dumps elsewhere and link to them; what is none is not shown, whatever it is."""
    outside, folder = tmp_path / "outside", tmp_path / "job"
    write(outside / "node", {5: DUMP})
    (outside / "secret").write_text("root:x:0:0\n")
    write(folder, {0: DUMP})
    (folder / "node").symlink_to(outside / "node")
    (folder / NAME.format(1)).symlink_to(outside / "secret")
    (folder / NAME.format(2)).symlink_to("/dev/zero")
    (folder / NAME.format(3)).symlink_to("/proc/self/environ")
    (folder / NAME.format(4)).symlink_to(outside / "nothing")
    job = load(folder)
    assert list(job.ranks) == [0, 5]
    problems = {p.rank: p for p in job.problems}
    assert problems[1].problem == "not-a-dump"
    assert "root" not in str(job.problems)
    assert {p.problem for p in job.problems} <= {"not-a-dump", "skipped", "unreadable", "empty"}


def test_folders_in_circles(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    write(one, {0: DUMP})
    write(two, {1: DUMP})
    (one / "other").symlink_to(two)
    (two / "other").symlink_to(one)
    (one / "up").symlink_to("..")
    (one / "self").symlink_to("self")
    job = load(tmp_path)
    assert list(job.ranks) == [0, 1]
    assert told(tmp_path) == {"one/self": "unreadable"}


def test_a_source_that_is_a_circle(tmp_path: Path) -> None:
    (tmp_path / "x").symlink_to("x")
    with pytest.raises(LoadError):
        load(tmp_path / "x")


def test_deep_folders_end(tmp_path: Path) -> None:
    write(tmp_path, {0: DUMP})
    deep = tmp_path.joinpath(*["d"] * 100)
    write(deep, {1: DUMP})
    assert list(load(tmp_path).ranks) == [0]


# What can't be read


def test_unreadable_files_and_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if they were another user's; root may read everything."""
    write(tmp_path, {0: DUMP, 1: DUMP})
    write(tmp_path / "closed", {2: DUMP})
    opened, listed = os.open, os.listdir

    def refuse(act: Callable[..., Any], name: str) -> Callable[..., Any]:
        def acts(path: Any, *rest: Any, **more: Any) -> Any:
            if str(path).endswith(name):
                raise PermissionError(13, "Permission denied")
            return act(path, *rest, **more)

        return acts

    monkeypatch.setattr(os, "open", refuse(opened, "rank_1"))
    monkeypatch.setattr(os, "listdir", refuse(listed, "closed"))
    job = load(tmp_path)
    assert list(job.ranks) == [0]
    assert {(p.file, p.problem) for p in job.problems} == {
        ("nccl_trace_rank_1", "unreadable"),
        ("closed", "unreadable"),
    }


def test_a_file_in_which_reading_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a file system that has gone."""
    write(tmp_path, {0: DUMP, 1: DUMP})
    real = reading._read_from

    def fails(stream: Any, file: Any) -> bytes:
        if file.rank == 1:
            raise OSError(116, "Stale file handle")
        return real(stream, file)

    monkeypatch.setattr(reading, "_read_from", fails)
    job = load(tmp_path)
    assert [(p.rank, p.problem, p.detail) for p in job.problems] == [(1, "unreadable", "Stale file handle")]


# What changes meanwhile


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> list[Callable[[], object]]:
    """What happens between the listing of the folder and the reading of its files."""
    acts: list[Callable[[], object]] = []

    def listed(*rest: Any) -> Any:
        listing = discover(*rest)
        for act in acts:
            act()
        return listing

    monkeypatch.setattr("frtui.load.discover", listed)
    return acts


def test_a_file_that_vanishes(tmp_path: Path, meanwhile: list[Callable[[], object]]) -> None:
    write(tmp_path, {0: DUMP, 1: DUMP})
    meanwhile.append(lambda: (tmp_path / NAME.format(1)).unlink(missing_ok=True))
    assert [(p.rank, p.problem) for p in load(tmp_path).problems] == [(1, "unreadable")]


def test_a_file_that_grows_or_shrinks(tmp_path: Path, meanwhile: list[Callable[[], object]]) -> None:
    """It is read as far as it was long, or as it is."""
    write(tmp_path, {0: DUMP, 1: DUMP, 2: DUMP})
    more, less = tmp_path / NAME.format(1), tmp_path / NAME.format(2)
    longer, shorter = more.read_bytes() + b"x" * 100_000, less.read_bytes()[:-200]
    meanwhile += [lambda: more.write_bytes(longer), lambda: less.write_bytes(shorter)]
    job = load(tmp_path)
    assert list(job.ranks[1].entries.seq) == [1, 2, 3]
    assert [(p.rank, p.problem) for p in job.problems] == [(2, "truncated")]


def test_a_dump_that_is_still_being_written(tmp_path: Path, meanwhile: list[Callable[[], object]]) -> None:
    data = torch_pickle.dumps(DUMP)
    write(tmp_path, {0: DUMP})
    half = tmp_path / NAME.format(1)
    half.write_bytes(data[: len(data) * 3 // 4])
    meanwhile.append(lambda: half.write_bytes(data))
    assert [(p.rank, p.problem) for p in load(tmp_path).problems] == [(1, "truncated")]


def test_a_file_that_becomes_a_fifo_or_a_folder(tmp_path: Path, meanwhile: list[Callable[[], object]]) -> None:
    write(tmp_path, {0: DUMP, 1: DUMP, 2: DUMP})
    fifo, folder = tmp_path / NAME.format(1), tmp_path / NAME.format(2)
    meanwhile += [fifo.unlink, lambda: os.mkfifo(fifo), folder.unlink, folder.mkdir]
    job = load(tmp_path)
    assert list(job.ranks) == [0]
    assert [(p.rank, p.problem) for p in job.problems] == [(1, "skipped"), (2, "skipped")]


def test_a_folder_that_vanishes(tmp_path: Path, meanwhile: list[Callable[[], object]]) -> None:
    folder = write(tmp_path / "job", {0: DUMP})
    meanwhile += [(folder / NAME.format(0)).unlink, folder.rmdir]
    with pytest.raises(LoadError, match="none of 1 files"):
        load(folder)


def test_files_that_vanish_while_others_are_read(tmp_path: Path) -> None:
    write(tmp_path, {rank: DUMP for rank in range(4)})

    def gone(progress: Progress) -> None:
        (tmp_path / NAME.format(3)).unlink(missing_ok=True)

    assert [(p.rank, p.problem) for p in load(tmp_path, progress=gone).problems] == [(3, "unreadable")]


def test_heads_of_what_changes(tmp_path: Path, meanwhile: list[Callable[[], object]]) -> None:
    write(tmp_path, {0: DUMP, 1: DUMP})
    meanwhile.append(lambda: (tmp_path / NAME.format(1)).unlink(missing_ok=True))
    assert load_heads(tmp_path) is None
