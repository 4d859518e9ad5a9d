"""The screen in tests: opened on a job, read as text."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Callable

from textual.pilot import Pilot

from frtui.load import load
from frtui.tui import set_defaults

set_defaults()

from frtui.tui.app import FrtuiApp  # noqa: E402
from frtui.tui.base import REST  # noqa: E402
from frtui.tui.loader import Reader  # noqa: E402
from frtui.tui.screen import Main  # noqa: E402
from frtui.view.panes import Panes  # noqa: E402
from tests.view import jobs  # noqa: E402


def reader(folder: Path) -> Reader:
    """Reads a folder as the program does, but judges it as `jobs` does: what the engine thinks is not tested here."""

    def read(progress: Callable[..., None], cancelled: Callable[[], bool]) -> Panes:
        job = load(folder, progress=progress, cancelled=cancelled)
        return Panes(job, jobs.findings(job))

    return read


def ready(panes: Panes) -> Reader:
    return lambda progress, cancelled: panes


@asynccontextmanager
async def opened(
    source: Path | str, read: Reader, size: tuple[int, int] = (80, 24), plain: bool = False
) -> AsyncIterator[Pilot[None]]:
    app = FrtuiApp(str(source), read, plain=plain)
    async with app.run_test(size=size) as pilot:
        await loaded(pilot)
        yield pilot


@asynccontextmanager
async def stuck(folder: Path, size: tuple[int, int] = (80, 24), entries: int = 6) -> AsyncIterator[Pilot[None]]:
    jobs.stuck(folder, entries)
    async with opened(folder, reader(folder), size) as pilot:
        yield pilot


async def loaded(pilot: Pilot[None]) -> None:
    end = time.monotonic() + 60  # other tests run beside this one
    await pilot.pause(0.01)
    while main(pilot).loader.busy:
        assert time.monotonic() < end
        await pilot.pause(0.01)
    await rest(pilot)


async def rest(pilot: Pilot[None]) -> None:
    """Waits until the panes have followed the cursor."""
    await pilot.pause()
    while main(pilot)._resting is not None:
        await pilot.pause(REST / 4)
    await pilot.app.workers.wait_for_complete()
    await pilot.pause()


async def press(pilot: Pilot[None], *keys: str) -> str:
    """Presses keys, lets the panes follow, and returns the screen."""
    await pilot.press(*keys)
    await rest(pilot)
    return text(pilot)


def main(pilot: Pilot[None]) -> Main:
    screen = pilot.app.screen_stack[0]
    assert isinstance(screen, Main)
    return screen


def text(pilot: Pilot[None]) -> str:
    """What the terminal would show. Private to Textual, hence in this one place only."""
    strips = pilot.app.screen._compositor.render_strips()
    return "\n".join(strip.text.rstrip() for strip in strips)


def focused(pilot: Pilot[None]) -> str:
    widget = main(pilot).focused
    return str(widget.id) if widget else ""


def pane(pilot: Pilot[None], name: str) -> list[str]:
    """The lines that one pane shows now."""
    widget = main(pilot).desk.pane(name)
    return [widget.render_line(y).text.rstrip() for y in range(widget.size.height)]


def said(pilot: Pilot[None]) -> str:
    """What the last line of the screen says instead of the keys."""
    return main(pilot).hints.said
