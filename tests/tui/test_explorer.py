"""The matrix, the times, sorting, jumping and filtering on the screen, at its sizes."""

from __future__ import annotations

from pathlib import Path

import pytest

from frtui.view.panes import Panes
from tests.tui.screens import focused, main, opened, pane, press, ready, said, stuck, text
from tests.tui.test_screen import HOSTILE, hostile_job
from tests.view import jobs
from tests.view.test_matrix import TABLE
from tests.view.test_times import late

SIZES = [(80, 24), (120, 40), (200, 50)]


@pytest.mark.parametrize("size", SIZES)
async def test_the_matrix_shows_where_each_rank_is(tmp_path: Path, size: tuple[int, int]) -> None:
    async with stuck(tmp_path, size) as pilot:
        screen = await press(pilot, "m")
        shown = [line for line in pane(pilot, "call")[1:] if line]
        assert "\n".join(shown[-5:]) == TABLE
        assert "  ".join(shown[:-5]).endswith("? no dump  ✗ blamed  c shows each rank")
        assert all(len(line) <= size[0] for line in screen.splitlines())
        assert ("3 Groups" in screen) == (size[0] >= 120)


@pytest.mark.parametrize("size", SIZES)
async def test_the_times_say_what_the_clocks_are_worth_and_who_is_late(tmp_path: Path, size: tuple[int, int]) -> None:
    from frtui.tui.loader import Folder

    async with opened(tmp_path, Folder(str(late(tmp_path)), None, None), size) as pilot:
        await press(pilot, "2", "g", "j", "3", "g", "enter", "G", "t")
        shown = pane(pilot, "call")
        assert "5 Times" in shown[0]
        assert " ".join(shown[1:3]).startswith("clocks of 2 hosts agree to 1 ms, by the ends of 5")
        assert any(line.startswith("       +7 s  rank 1  usually 0 us  host1") for line in shown)
        await press(pilot, "G")
        assert "clocks of 2 hosts agree" in pane(pilot, "call")[1], "never out of sight"


async def test_the_names_of_the_columns_stay_while_thousands_of_ranks_scroll() -> None:
    async with opened("made", ready(Panes(jobs.wide(512, 77), ())), (100, 24)) as pilot:
        await press(pilot, "m", "c", "G")
        shown = pane(pilot, "call")
        assert shown[3].split() == ["default_pg", "tp", "dp"]
        assert "rank 511" in shown[-1]
        await press(pilot, "g")
        assert "rank 0 " in pane(pilot, "call")[4]


async def test_a_filter_with_a_typo_is_told_of_and_not_applied(tmp_path: Path) -> None:
    async with stuck(tmp_path) as pilot:
        await press(pilot, "2", "f", *"rnk:2", "enter")
        assert said(pilot) == "unknown field rnk; there are: rank, state, op, group, seq"
        assert focused(pilot) == "ranks"
        assert len(main(pilot).desk.pane("ranks").rows) == 5
        await press(pilot, "f", *"rank:2-3", "enter")
        assert len(main(pilot).desk.pane("ranks").rows) == 2


async def test_a_sorted_pane_stays_sorted_while_the_rank_changes_and_can_be_filtered(tmp_path: Path) -> None:
    async with stuck(tmp_path, entries=30) as pilot:
        await press(pilot, "4", "s", "2", "G")
        assert "4 Calls by duration  rank 3" in pane(pilot, "calls")[0]
        await press(pilot, "4", "f", *"seq:>27", "enter")
        assert "4 Calls by duration  filter: seq:>27 (3 of 30)" in pane(pilot, "calls")[0]
        assert ["1.5 ms" in line for line in pane(pilot, "calls")[1:4]] == [True, True, False]


@pytest.mark.parametrize("name", HOSTILE[::3])
async def test_hostile_names_do_no_harm(name: str) -> None:
    job, found = hostile_job(name)
    async with opened(name, ready(Panes(job, found)), (120, 40)) as pilot:
        for keys in (["m", "c", "G"], ["t"], ["escape"], ["4", "s", "s"], ["2", "s", "s", "s"]):
            await press(pilot, *keys)
        await press(pilot, "number_sign", *"[/x]#0", "enter", "f", *"[/x]:y", "enter", "escape", "escape")
        assert pilot.app.is_running


async def test_all_of_it_in_ascii() -> None:
    async with opened("made", ready(Panes(jobs.wide(64, 3), ())), (120, 40), plain=True) as pilot:
        for keys in ("m", "c", "t", "2", "s", "number_sign", "escape"):
            assert (await press(pilot, keys)).isascii(), keys
        assert "x Across" in text(pilot)
