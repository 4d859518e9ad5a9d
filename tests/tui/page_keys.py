"""The keys of the pages that pane 5 can show; `test_keys` runs these checks."""

from __future__ import annotations

from pathlib import Path

from textual.pilot import Pilot

from frtui.view.select import ACROSS, WAITS
from tests.tui.checks import checks
from tests.tui.screens import focused, main, press, said, text


async def opens_the_last_line_and_leads_back(pilot: Pilot[None], rank: int) -> str:
    """The screen after Enter on the page's last line, which is of `rank`, and Esc."""
    await press(pilot, "G", "enter")
    assert (main(pilot).trail.now.rank, main(pilot).trail.now.topic) == (rank, "call")
    return await press(pilot, "escape")


@checks("x")
async def across(pilot: Pilot[None], _: Path) -> None:
    screen = await press(pilot, "x")
    assert "made by 2 of 2 ranks" in screen
    assert screen.index("[4096] f32") < screen.index("[4128] f32")
    await opens_the_last_line_and_leads_back(pilot, 3)
    assert main(pilot).trail.now.topic == ACROSS
    await press(pilot, "x")
    assert main(pilot).trail.now.topic == "call"
    await press(pilot, "2", "x")
    assert focused(pilot) == "call"
    await press(pilot, "x")
    assert focused(pilot) == "ranks"


@checks("w")
async def waits(pilot: Pilot[None], _: Path) -> None:
    screen = await press(pilot, "w")
    assert "5 Who waits for whom" in screen
    assert "✗ rank 2 is in all_reduce #50 of tp:7" in screen
    await opens_the_last_line_and_leads_back(pilot, 1)
    assert main(pilot).trail.now.topic == WAITS
    await press(pilot, "w")
    assert main(pilot).trail.now.topic == "call"


@checks("a")
async def aligned(pilot: Pilot[None], _: Path) -> None:
    screen = await press(pilot, "a")
    assert "5 Beside its witnesses" in screen
    assert screen.index("#50 all_reduce [4096] f32") < screen.index(" ≠ ") < screen.index("#50 all_reduce [4128] f32")
    assert "… 43 calls before (c shows)" in screen
    assert "calls before" not in await press(pilot, "c")
    await press(pilot, "k", "enter")
    now = main(pilot).trail.now
    assert (now.rank, now.topic) == (2, "aligned"), "where they part is no call"
    await press(pilot, "a", "a", "enter")
    assert (main(pilot).trail.now.rank, main(pilot).trail.now.topic) == (2, "call")
    await press(pilot, "escape", "a", "right_square_bracket", "a")
    assert said(pilot) == "without a dump there are no calls to line up"


@checks("m")
async def matrix(pilot: Pilot[None], _: Path) -> None:
    assert "5 Ranks by groups" in await press(pilot, "m")
    assert "2 ranks 0-1" in text(pilot)
    assert "rank 0" in await press(pilot, "c"), "a line for each rank"
    assert main(pilot).trail.now.topic == "matrix"
    assert "2 ranks 0-1" in await press(pilot, "c")
    assert "5 Ranks by groups" in await opens_the_last_line_and_leads_back(pilot, 0)
    assert "5 Ranks by groups" not in await press(pilot, "m")


@checks("t")
async def times(pilot: Pilot[None], _: Path) -> None:
    screen = await press(pilot, "t")
    assert "5 Times" in screen
    assert "Late for all_reduce #50, which rank 2 made first" in screen
    assert "5 Times" in await opens_the_last_line_and_leads_back(pilot, 3)
    assert "5 Times" not in await press(pilot, "escape")


@checks("c")
async def unfold(pilot: Pilot[None], _: Path) -> None:
    await press(pilot, "5", "z")
    assert "1 torch frame (c shows)" in text(pilot)
    assert "distributed_c10d.py:2810" in await press(pilot, "c")
    assert "1 torch frame (c shows)" in await press(pilot, "c")
