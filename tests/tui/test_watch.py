"""A folder in which a job still dumps: followed without opening anything, and without losing the person's place."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Callable

import pytest
from textual.pilot import Pilot

from frtui.load import find
from frtui.load.discover import MAX_DEPTH
from frtui.tui import watch
from frtui.tui.app import FrtuiApp
from frtui.tui.loader import Folder
from frtui.tui.watch import PATIENCE, Follower, scan
from recorder.ring import Ring
from tests.dumps import DEFAULT, dump, entry, write
from tests.tui.screens import main, pane, press, rest, said, text

CONFIG = {DEFAULT: range(4)}


def arrive(folder: Path, *ranks: int, calls: int = 3) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for rank in ranks:
        rows = [entry(seq, site=("train.py", seq)) for seq in range(1, calls)]
        last = entry(calls, site=("train.py", calls), state="started")
        write(folder, {rank: dump([*rows, *([last] if rank != 2 else [])], pg_config=CONFIG)})


def grow(file: Path, size: int) -> None:
    file.write_bytes(bytes(size))


# When to read again


def test_what_changed_is_read_once_it_has_come_to_rest(tmp_path: Path) -> None:
    follower = Follower(str(tmp_path), None)
    follower.note()
    assert not follower.due()
    grow(tmp_path / "nccl_trace_rank_0", 10)
    assert not follower.due(), "it has only just appeared"
    grow(tmp_path / "nccl_trace_rank_0", 20)
    assert not follower.due(), "it still grows"
    assert follower.due()
    follower.note()
    assert not follower.due()
    os.utime(tmp_path / "nccl_trace_rank_0", (1, 1))
    assert follower.due(), "written anew, with as many bytes"
    follower.note()
    (tmp_path / "nccl_trace_rank_0").unlink()
    assert [follower.due(), follower.due()] == [False, True]


def test_files_that_arrive_all_the_time_do_not_put_it_off_for_ever(tmp_path: Path) -> None:
    now = [0.0]
    follower = Follower(str(tmp_path), None, lambda: now[0])
    follower.note()
    due = []
    for rank in range(int(PATIENCE) + 3):
        grow(tmp_path / f"nccl_trace_rank_{rank}", 10)
        due.append(follower.due())
        now[0] += 1
    assert due.index(True) == PATIENCE


def test_only_what_may_be_a_dump_counts_and_no_fifo_is_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "nccl_trace_rank_1.pipe")
    os.mkfifo(tmp_path / "nccl_trace_rank_2")
    (tmp_path / "round").symlink_to(tmp_path)
    (tmp_path / "gone").symlink_to(tmp_path / "nowhere")
    node = tmp_path / "node1"
    node.mkdir()
    for name in ("nccl_trace_rank_3", "train.log", "notes"):
        grow(node / name, 5)
    assert [Path(path).name for path in scan(str(tmp_path), None)] == ["nccl_trace_rank_3"]
    assert scan(str(tmp_path), "other_") == {}


def test_archives_are_followed_if_they_would_be_read(tmp_path: Path) -> None:
    archives = ["JOB.TGZ", "job.TAR", "x.tar.gz", ".hidden.tar"]
    for name in (*archives, "x.tar.xz", "a.tar.asc"):
        grow(tmp_path / name, 5)
    grow(tmp_path / "empty.tar", 0)
    followed = {Path(path).name for path in scan(str(tmp_path), None)}
    assert followed == set(archives)
    assert {"x.tar.xz", "a.tar.asc", "empty.tar"} == {p.file for p in find(tmp_path, None, None).problems} - followed


def test_folders_are_followed_as_deep_as_they_are_read(tmp_path: Path) -> None:
    folder = tmp_path
    for depth in range(MAX_DEPTH + 2):
        arrive(folder, depth)
        folder /= "deeper"
    assert sorted(map(os.path.realpath, scan(str(tmp_path), None))) == sorted(
        os.path.realpath(file.path) for file in find(tmp_path, None, None).files
    )


def test_a_folder_that_is_not_there_yet_is_waited_for_and_one_that_goes_is_an_error(tmp_path: Path) -> None:
    source = tmp_path / "job"
    follower = Follower(str(source), None)
    follower.note()
    assert not follower.due()
    arrive(source, 0)
    assert [follower.due(), follower.due()] == [False, True]
    follower.note()
    shutil.rmtree(source)
    with pytest.raises(FileNotFoundError):
        follower.due()


def test_a_ring_is_followed_though_its_size_and_time_stay(tmp_path: Path) -> None:
    now = [0.0]
    source = tmp_path / "recorder"
    source.mkdir()
    ring = Ring(str(source / "ring.r0.frr"), 8, 0, 2)
    follower = Follower(str(tmp_path), None, lambda: now[0])
    follower.note()
    assert not follower.due()
    ring.beat()
    os.utime(ring.path, (1, 1))
    follower.note()
    ring.beat()
    os.utime(ring.path, (1, 1))
    assert not follower.due(), "it changes ten times a second: too often to read each time"
    now[0] += PATIENCE
    assert follower.due()
    follower.note()
    now[0] += PATIENCE
    assert not follower.due(), "the rank is dead"
    ring.beat()
    grow(tmp_path / "nccl_trace_rank_1", 10)
    assert [follower.due(), follower.due()] == [False, True], "a dump doesn't wait for rings"
    grow(tmp_path / "nccl_trace_rank_0", 10)
    assert [Path(path).name for path in sorted(scan(str(tmp_path), None))] == ["nccl_trace_rank_0", "nccl_trace_rank_1"]
    alone = Follower(ring.path, None, lambda: now[0])
    alone.note()
    ring.beat()
    os.utime(ring.path, (1, 1))
    now[0] += PATIENCE
    assert alone.due()


# On the screen


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "EVERY", 0.02)


async def until(pilot: Pilot[None], test: Callable[[], bool]) -> None:
    for _ in range(500):
        await pilot.pause(0.02)
        if test() and not main(pilot).loader.busy:
            break
    await rest(pilot)
    assert test(), text(pilot)


def ranks(pilot: Pilot[None]) -> int:
    panes = main(pilot).panes
    return len(panes.job.ranks) if panes else 0


def watching(source: Path) -> FrtuiApp:
    return FrtuiApp(str(source), Folder(str(source), None, None), watch=True)


async def test_it_waits_for_the_first_dump_and_then_follows(tmp_path: Path) -> None:
    source = tmp_path / "job"
    async with watching(source).run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: "Nothing to show" in text(pilot))
        assert "Watching: it opens as soon as there is a dump" in text(pilot)
        source.mkdir()
        arrive(source, 0, 1)
        await until(pilot, lambda: ranks(pilot) == 2)
        assert "watching, 2 of 4 ranks" in text(pilot).splitlines()[0]
        assert "4 Calls" in text(pilot)
        arrive(source, 2, 3)
        await until(pilot, lambda: ranks(pilot) == 4)
        assert "watching, 4 of 4 ranks" in text(pilot).splitlines()[0]
        assert said(pilot) == "", "nobody asked"


async def test_the_person_stays_where_they_are(tmp_path: Path) -> None:
    arrive(tmp_path, 0, 1, 2, calls=9)
    async with watching(tmp_path).run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: ranks(pilot) == 3)
        await press(pilot, "number_sign", *"rank 1", "enter", "4", "g", "j", "j", "5", "G")
        before = main(pilot).trail.now
        line = main(pilot).desk.pane("call").cursor
        assert (before.rank, line > 3) == (1, True)
        arrive(tmp_path, 3, calls=9)
        await until(pilot, lambda: ranks(pilot) == 4)
        now = main(pilot).trail.now
        assert (now.rank, now.row, now.topic) == (1, before.row, "call")
        assert main(pilot).desk.pane("call").cursor == line
        assert str(main(pilot).desk.active.id) == "call"
        await press(pilot, "m")
        arrive(tmp_path, 1, calls=10)
        await until(pilot, lambda: len(main(pilot).panes.job.ranks[1].calls) == 10)  # type: ignore[union-attr]
        assert main(pilot).trail.now.topic == "matrix"
        await press(pilot, "escape")
        assert (main(pilot).trail.now.rank, main(pilot).trail.now.topic) == (1, "call")


async def test_nothing_is_written_while_nothing_changes_and_a_lost_folder_ends_it(tmp_path: Path) -> None:
    arrive(tmp_path / "job", 0, 1)
    async with watching(tmp_path / "job").run_test() as pilot:
        await until(pilot, lambda: ranks(pilot) == 2)
        screen = main(pilot)
        read = screen.panes
        await pilot.pause(0.3)
        assert screen.panes is read
        shutil.rmtree(tmp_path / "job")
        await until(pilot, lambda: screen.loader.watcher is None)
        assert said(pilot).startswith("no longer watching")
        assert "watching" not in text(pilot).splitlines()[0]
        assert ranks(pilot) == 2, "what was read stays"


async def test_files_that_cannot_be_read_any_longer_leave_the_screen_as_it_was(tmp_path: Path) -> None:
    arrive(tmp_path, 0, 1)
    async with watching(tmp_path).run_test() as pilot:
        await until(pilot, lambda: ranks(pilot) == 2)
        for rank in (0, 1):
            (tmp_path / f"nccl_trace_rank_{rank}").write_bytes(b"")
        await until(pilot, lambda: bool(said(pilot)))
        assert "could be read as a dump" in said(pilot)
        assert ranks(pilot) == 2
        arrive(tmp_path, 0, 1, 3)
        await until(pilot, lambda: ranks(pilot) == 3)


async def test_attempts_are_stepped_through_and_told_in_the_headline(tmp_path: Path) -> None:
    for number in (1, 2, 3):
        arrive(tmp_path / f"attempt_{number}", 0, 1, calls=2 + number)
        for file in (tmp_path / f"attempt_{number}").iterdir():
            os.utime(file, (1e9 + number,) * 2)
    app = FrtuiApp(str(tmp_path), Folder(str(tmp_path), None, None))
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: ranks(pilot) == 2)
        seen = []
        for _ in range(4):
            seen.append(text(pilot).splitlines()[0].split("attempt ")[-1].split("  ")[0])
            panes = main(pilot).panes
            await pilot.press("v")
            await until(pilot, lambda was=panes: main(pilot).panes is not was)  # type: ignore[misc]
        assert seen == ["attempt_3 of 3", "attempt_2 of 3", "attempt_1 of 3", "attempt_3 of 3"]
        assert len(pane(pilot, "calls")) > 1
