"""The screen while it reads, when it is stopped, and when it cannot read."""

from __future__ import annotations

import asyncio
import threading
import time
import weakref
from pathlib import Path

import pytest
from textual.pilot import Pilot

from frtui.load import Cancelled, Progress
from frtui.model import Job
from frtui.tui.app import FrtuiApp
from frtui.tui.loader import Folder
from frtui.view.panes import Panes
from tests.dumps import dump, entry, write
from tests.load.test_heads import job as behind
from tests.tui.screens import loaded, main, opened, press, said, text
from tests.view import jobs


class Slow:
    """Reads four ranks, each when the test lets it."""

    def __init__(self) -> None:
        self.step, self.read = threading.Semaphore(0), 0

    def __call__(self, progress, cancelled) -> Panes:  # type: ignore[no-untyped-def]
        for n in range(4):
            self.step.acquire(timeout=20)
            if cancelled():
                raise Cancelled
            progress(Progress(n + 1, 4, (n + 1) * 10_000, 40_000, 3 - n, 100 + n))
            self.read += 1
        return Panes(jobs.huge(10), ())


async def until(pilot: Pilot[None], wanted: str, words: bool = False) -> str:
    """The screen that shows what is wanted; `words`: over as many lines as it takes."""
    end = time.monotonic() + 60
    while wanted not in shown(pilot, words):
        assert time.monotonic() < end, text(pilot)
        await pilot.pause(0.02)
    return text(pilot)


def shown(pilot: Pilot[None], words: bool) -> str:
    return " ".join(text(pilot).split()) if words else text(pilot)


async def test_ranks_appear_while_their_files_are_read() -> None:
    slow = Slow()
    async with FrtuiApp("somewhere", slow).run_test(size=(80, 24)) as pilot:
        assert "reading somewhere" in await until(pilot, "2 Ranks")
        slow.step.release()
        screen = await until(pilot, "reading 1 of 4 files")
        assert "10 KB of 40 KB" in screen
        assert "100 entries" in screen
        for _ in range(3):
            await asyncio.sleep(0.12)  # two reports in a short time are one
            slow.step.release()
        screen = await until(pilot, "10 entries")
        assert "reading" not in screen
        assert pilot.app.is_running


class Waits(Folder):
    """A folder of which the entries are read when the test lets them."""

    def __init__(self, source: Path) -> None:
        super().__init__(str(source), None, None)
        self.go = threading.Event()

    def __call__(self, progress, cancelled) -> Panes:  # type: ignore[no-untyped-def]
        self.go.wait(20)
        return super().__call__(progress, cancelled)


@pytest.mark.parametrize("size", [(80, 24), (200, 50)])
async def test_the_heads_of_a_large_folder_answer_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: tuple[int, int]
) -> None:
    behind(tmp_path)
    waits = Waits(tmp_path)
    monkeypatch.setattr("frtui.load.WORTH", 1)
    async with FrtuiApp(str(tmp_path), waits).run_test(size=size) as pilot:
        first = "rank 2 enqueued collective #3 of default_pg at last, and ranks 0-1, 3 wait in #5"
        screen = await until(pilot, first, words=True)  # on a narrow screen, once the head has grown
        assert "preliminary" in screen
        assert "the entries are being read" in screen
        waits.go.set()
        await loaded(pilot)
        screen = text(pilot)
        assert "preliminary" not in screen
        assert "not-joined" in screen
        await pilot.press("r")  # what is on the screen is better than what the heads say
        await loaded(pilot)
        assert "preliminary" not in text(pilot)


def test_escape_stops_the_judging_too(tmp_path: Path) -> None:
    """When the files are read and the ranks are being sorted."""
    behind(tmp_path)
    asked = threading.Event()
    reads = Folder(str(tmp_path), None, None)

    def cancelled() -> bool:
        """As soon as the last file has been reported."""
        return asked.is_set()

    def progress(now: Progress) -> None:
        if now.files_done == now.files_total:
            asked.set()

    with pytest.raises(Cancelled):
        reads(progress, cancelled)


def test_of_a_small_folder_the_verdict_comes_as_soon(tmp_path: Path) -> None:
    behind(tmp_path)
    assert Folder(str(tmp_path), None, None).first(lambda: False) == []


async def test_escape_stops_the_reading_and_r_reads_again() -> None:
    slow = Slow()
    async with FrtuiApp("somewhere", slow).run_test(size=(80, 24)) as pilot:
        await until(pilot, "reading somewhere")
        await pilot.press("escape")
        slow.step.release()
        await until(pilot, "Stopped before all was read and judged.")
        assert slow.read == 0
        slow.step.release(4)
        await pilot.press("r")
        await until(pilot, "10 entries")


async def test_an_error_is_told_with_what_to_do(tmp_path: Path) -> None:
    async with opened(tmp_path, Folder(str(tmp_path), None, None)) as pilot:
        screen = text(pilot)
        assert "no flight recorder dump in" in screen
        assert "TORCH_FR_DUMP_TEMP_FILE" in screen
        assert "r reads again, q quits" in screen
        write(tmp_path, {0: dump([entry(1)], pg_config={("0", "default_pg"): (0,)})})
        await pilot.press("r")
        await loaded(pilot)
        assert "1 rank  1 group" in text(pilot)
        assert "3 Groups" in text(pilot)


async def test_a_folder_that_is_gone_keeps_the_job_on_the_screen(tmp_path: Path) -> None:
    jobs.stuck(tmp_path / "job")
    async with opened(tmp_path, Folder(str(tmp_path / "job"), None, None)) as pilot:
        (tmp_path / "job").rename(tmp_path / "elsewhere")
        await pilot.press("r")
        await loaded(pilot)
        assert said(pilot).startswith("cannot read")
        assert "4 ranks" in text(pilot)


async def test_what_was_shown_before_does_not_stay_in_memory(tmp_path: Path) -> None:
    """Of what is read all day, the last job and at most the one before: pages and indexes are in cycles."""
    jobs.stuck(tmp_path)
    seen: list[weakref.ref[Job]] = []
    async with opened(tmp_path, Folder(str(tmp_path), None, None)) as pilot:
        for _ in range(4):
            shown = main(pilot).panes
            assert shown is not None
            seen.append(weakref.ref(shown.job))
            del shown
            await press(pilot, *"x", "escape", "w", "escape", "m", "escape", "t", "escape", "4", "j", "1")
            await pilot.press("r")
            await loaded(pilot)
    assert [job() is None for job in seen[:-1]] == [True] * 3
