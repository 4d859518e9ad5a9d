"""Every key that the help names does something."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
from textual.command import CommandPalette
from textual.pilot import Pilot

from frtui.tui import keys
from frtui.tui.app import FrtuiApp
from frtui.tui.help import Help, page
from frtui.tui.loader import Folder
from frtui.view.select import ACROSS
from tests.tui import (
    page_keys,  # noqa: F401  its checks count here
    screens,
)
from tests.tui.checks import CHECKS, Check, checks
from tests.tui.screens import focused, main, pane, press, rest, said, stuck, text


def cursor(pilot: Pilot[None], name: str = "calls") -> int:
    return main(pilot).desk.pane(name).cursor


async def moved(pilot: Pilot[None], *pressed: str) -> int:
    """How far keys move the cursor of the calls, from its middle."""
    await press(pilot, "4")
    main(pilot).desk.pane("calls").cursor = 25
    await rest(pilot)
    await press(pilot, *pressed)
    return cursor(pilot) - 25


@checks("j", "down")
async def down(pilot: Pilot[None], _: Path) -> None:
    assert [await moved(pilot, "j"), await moved(pilot, "down")] == [1, 1]
    assert main(pilot).trail.now.row == main(pilot).desk.pane("calls").key


@checks("k", "up")
async def up(pilot: Pilot[None], _: Path) -> None:
    assert [await moved(pilot, "k"), await moved(pilot, "up")] == [-1, -1]


@checks("ctrl+d", "pagedown", "ctrl+u", "pageup")
async def pages(pilot: Pilot[None], _: Path) -> None:
    height = main(pilot).desk.pane("calls").page_height - 1
    assert [await moved(pilot, key) for key in ("ctrl+d", "pagedown")] == [height, height]
    assert [await moved(pilot, key) for key in ("ctrl+u", "pageup")] == [-height, -height]


@checks("g", "home", "G", "end")
async def ends(pilot: Pilot[None], _: Path) -> None:
    last = len(main(pilot).desk.pane("calls").rows) - 1
    assert [await moved(pilot, key) + 25 for key in ("g", "home", "G", "end")] == [0, 0, last, last]


@checks("h", "left", "l", "right")
async def sideways(pilot: Pilot[None], _: Path) -> None:
    await press(pilot, "4")
    assert "14:13:20" not in "\n".join(pane(pilot, "calls"))
    for there, back in (("l", "h"), ("right", "left")):
        await press(pilot, *[there] * 4)
        assert "14:13:20" in "\n".join(pane(pilot, "calls"))
        await press(pilot, *[back] * 9)
        assert main(pilot).desk.pane("calls").left == 0
    await press(pilot, "2", "l")
    assert focused(pilot) == "calls"


@checks("enter")
async def enter(pilot: Pilot[None], _: Path) -> None:
    await press(pilot, "enter")
    assert focused(pilot) == "calls"
    await press(pilot, "enter")
    assert focused(pilot) == "call"
    await press(pilot, "2", "G", "enter")
    assert (focused(pilot), main(pilot).trail.now.rank) == ("calls", 3)
    await press(pilot, "3", "G", "enter")
    assert (focused(pilot), main(pilot).trail.now.group) == ("calls", main(pilot).desk.pane("groups").key)


@checks("1", "2", "3", "4", "5")
async def digits(pilot: Pilot[None], _: Path) -> None:
    seen = [(await press(pilot, digit)) and focused(pilot) for digit in "54321"]
    assert seen == ["call", "calls", "groups", "ranks", "findings"]


@checks("tab", "shift+tab")
async def cycle(pilot: Pilot[None], _: Path) -> None:
    seen = [(await press(pilot, "tab")) and focused(pilot) for _ in range(5)]
    assert seen == ["ranks", "groups", "calls", "call", "findings"]
    await press(pilot, "shift+tab")
    assert focused(pilot) == "call"


@checks("escape")
async def back(pilot: Pilot[None], _: Path) -> None:
    first = main(pilot).trail.now
    await press(pilot, "2", "G", "enter", "escape")
    assert main(pilot).trail.now == first
    await press(pilot, *["escape"] * 5)
    assert main(pilot).trail.now.group is None
    assert pilot.app.is_running


@checks("slash", "n", "N")
async def find(pilot: Pilot[None], _: Path) -> None:
    await press(pilot, "4", "g", "slash", *"#1", "enter")
    assert cursor(pilot) == 9, "the first line is #1 itself, the next one that matches is #10"
    await press(pilot, "n")
    assert cursor(pilot) == 10
    await press(pilot, "N")
    assert cursor(pilot) == 9
    await press(pilot, "escape")
    assert main(pilot).desk.pane("calls").wanted is None
    await press(pilot, "slash", *"zzz", "enter")
    assert said(pilot) == "not found: zzz"


@checks("f")
async def filter_(pilot: Pilot[None], _: Path) -> None:
    await press(pilot, "4", "f", *"state:open", "enter")
    assert "filter: state:open (1 of 50)" in pane(pilot, "calls")[0]
    assert sum("#" in line for line in pane(pilot, "calls")[1:]) == 1
    await press(pilot, "escape")
    assert len(main(pilot).desk.pane("calls").rows) == 50


@checks("left_square_bracket", "right_square_bracket")
async def findings(pilot: Pilot[None], _: Path) -> None:
    await press(pilot, "right_square_bracket")
    assert "rank 4 left no readable dump" in text(pilot)
    assert "rank 4 left no dump" in text(pilot)
    await press(pilot, "left_square_bracket")
    assert main(pilot).trail.now.finding == 0
    await press(pilot, "escape")
    assert main(pilot).trail.now.finding == 1


@checks("left_curly_bracket", "right_curly_bracket")
async def turning(pilot: Pilot[None], _: Path) -> None:
    await press(pilot, "4", "g", "right_curly_bracket")
    assert cursor(pilot) == 49
    await press(pilot, "1", "left_curly_bracket")
    assert focused(pilot) == "calls"
    assert said(pilot) == "no further open or differing call"


@checks("s")
async def sort(pilot: Pilot[None], _: Path) -> None:
    key = (await press(pilot, "4")) and main(pilot).desk.pane("calls").key
    assert "4 Calls by duration  rank 2" in await press(pilot, "s")
    assert main(pilot).desk.pane("calls").key == key, "the cursor stays on its call"
    assert cursor(pilot) == 49, "that has no duration yet"
    assert "4 Calls by lag  rank 2" in await press(pilot, "s")
    assert "4 Calls  rank 2" in await press(pilot, "s")
    assert "2 Ranks by calls behind" in await press(pilot, "2", "G", "s")
    assert main(pilot).desk.pane("ranks").cursor == 0, "on who is furthest behind"
    await press(pilot, "3", "s")
    assert said(pilot) == "Ranks and Calls can be sorted; 2 and 4 lead there"


@checks("number_sign")
async def jump(pilot: Pilot[None], _: Path) -> None:
    assert "go to rank 12, tp:7, #85 or tp:7#85:" in await press(pilot, "number_sign")
    await press(pilot, *"tp:6#7", "enter")
    assert (focused(pilot), main(pilot).trail.now.rank, cursor(pilot)) == ("calls", 0, 6)
    await press(pilot, "number_sign", *"12", "enter")
    assert cursor(pilot) == 11
    await press(pilot, "number_sign", *"rank 3", "enter")
    assert (focused(pilot), main(pilot).trail.now.rank) == ("ranks", 3)
    await press(pilot, "number_sign", *"rank 33", "enter")
    assert said(pilot) == "there is no rank 33; there are 0-4"
    await press(pilot, "escape")
    assert main(pilot).trail.now.rank == 0, "a jump is a step that leads back"


@checks("z")
async def zoom(pilot: Pilot[None], _: Path) -> None:
    assert "3 Groups" not in await press(pilot, "4", "z")
    assert "2 Ranks" in await press(pilot, "2"), "another pane takes the place of the zoomed one"
    assert "4 Calls" not in text(pilot)
    assert "3 Groups" in await press(pilot, "z")
    await press(pilot, "z", "escape")
    assert "3 Groups" in text(pilot)


@checks("e")
async def export(pilot: Pilot[None], folder: Path) -> None:
    await press(pilot, "e")
    assert "write to (.md .txt .json .html): ./frtui-job-size-mismatch.md" in text(pilot)
    await press(pilot, "enter")
    written = folder / "frtui-job-size-mismatch.md"
    told = written.read_text().lower()
    assert "size-mismatch" in told
    assert "no-dump" not in told, "the selected finding only"
    assert said(pilot) == f"wrote {written}"
    assert isinstance(pilot.app, FrtuiApp)
    assert pilot.app.written == [str(written)]
    assert "write to (.md .txt .json .html): ./frtui-job-size-mismatch-2.md" in await press(pilot, "e")


@checks("y")
async def copy(pilot: Pilot[None], _: Path) -> None:
    sent: list[str] = []
    driver = pilot.app._driver
    assert driver is not None
    driver.write = sent.append  # type: ignore[method-assign,assignment]
    await press(pilot, "5", "j", "j", "y")  # to the third line: the call site
    line = "site    /home/user/job/layers.py:60"
    assert f"\x1b]52;c;{base64.b64encode(line.encode()).decode()}\a" in sent
    assert said(pilot).startswith(f"copied {len(line)} characters (OSC 52)")


@checks("Y")
async def copy_pane(pilot: Pilot[None], _: Path) -> None:
    sent: list[str] = []
    driver = pilot.app._driver
    assert driver is not None
    driver.write = sent.append  # type: ignore[method-assign,assignment]
    await press(pilot, "3", "Y")
    lines = "\n".join(main(pilot).desk.pane("groups").rows.whole())
    assert "default_pg" in lines
    assert f"\x1b]52;c;{base64.b64encode(lines.encode()).decode()}\a" in sent


@checks("o")
async def editor(pilot: Pilot[None], _: Path) -> None:
    await press(pilot, "o")  # with an editor: tests/tui/test_editor.py
    assert said(pilot) == "/home/user/job/layers.py is not on this machine"


@checks("r")
async def reload(pilot: Pilot[None], folder: Path) -> None:
    await press(pilot, "right_square_bracket")
    (folder / "job" / "nccl_trace_rank_9").unlink()
    await pilot.press("r")
    await screens.loaded(pilot)
    assert "could not be read" not in text(pilot)
    assert main(pilot).trail.now.finding == 1, "the finding stays selected"
    assert said(pilot).startswith("read again: 4 ranks")


@checks("W")
async def watch(pilot: Pilot[None], folder: Path) -> None:
    await press(pilot, "W")  # followed: tests/tui/test_watch.py
    assert said(pilot) == "there is no folder to watch"
    main(pilot).loader.reader = Folder(str(folder / "job"), None, None)
    assert "watching, 4 of 5 ranks" in (await press(pilot, "W")).splitlines()[0]
    assert "watching" not in (await press(pilot, "W")).splitlines()[0]
    assert said(pilot) == "no longer watching"


@checks("v")
async def attempt(pilot: Pilot[None], _: Path) -> None:
    await press(pilot, "v")  # where there are some: tests/tui/test_watch.py
    assert said(pilot) == "there is only one attempt here"


@checks("question_mark")
async def help_(pilot: Pilot[None], _: Path) -> None:
    await press(pilot, "question_mark")
    assert isinstance(pilot.app.screen, Help)
    assert "frtui keys" in text(pilot)
    await press(pilot, "q")
    assert len(pilot.app.screen_stack) == 1
    assert pilot.app.is_running


@checks("colon", "ctrl+p")
async def commands(pilot: Pilot[None], _: Path) -> None:
    for opening in ("colon", "ctrl+p"):
        await press(pilot, opening)
        assert isinstance(pilot.app.screen_stack[-1], CommandPalette)
        await press(pilot, "escape")
        assert pilot.app.screen_stack == [main(pilot)]
    await press(pilot, "colon", *"Across")
    await pilot.pause(0.5)
    await press(pilot, "enter")
    assert main(pilot).trail.now.topic == ACROSS


@checks("q", "ctrl+c")
async def quit_(pilot: Pilot[None], _: Path) -> None:
    await pilot.press("slash")
    await pilot.pause()
    await pilot.press("q")
    assert pilot.app._exit is False, "in a prompt q is a letter"
    await pilot.press("ctrl+c")
    await pilot.pause()
    assert pilot.app._exit is True


# Needs a real terminal: tests/tui/test_terminal.py.
ELSEWHERE = {"ctrl+z", "ctrl+l"}


def test_every_documented_key_has_a_check() -> None:
    documented = {key for binding in keys.EVERY for key in binding.key.split(",")}
    assert documented == set(CHECKS) | ELSEWHERE


@pytest.mark.parametrize("check", list(dict.fromkeys(CHECKS.values())), ids=lambda check: check.__name__)
async def test_key(check: Check, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    async with stuck(tmp_path / "job", entries=50) as pilot:
        await check(pilot, tmp_path)


async def test_q_quits(tmp_path: Path) -> None:
    async with stuck(tmp_path) as pilot:
        await pilot.press("q")
        await pilot.pause()
        assert pilot.app._exit is True


def test_every_binding_explains_itself() -> None:
    assert all(binding.id and binding.description and binding.tooltip for binding in keys.EVERY)
    ids = [binding.id for binding in keys.EVERY]
    assert len(ids) == len(set(ids))


def test_no_key_is_one_that_a_slow_link_could_fake() -> None:
    """Arrow, Home and End sequences end in these letters; some control keys are other keys to a terminal."""
    documented = {key for binding in keys.EVERY for key in binding.key.split(",")}
    assert not documented & {*"ABCDHF", "ctrl+h", "ctrl+i", "ctrl+j", "ctrl+m", "ctrl+s", "ctrl+q", "ctrl+a", "ctrl+b"}


def test_the_help_fits_a_small_terminal_and_names_every_key() -> None:
    lines = page(80).splitlines()
    assert len(lines) <= 24
    assert all(len(line) <= 80 and "…" not in line for line in lines)
    for shown, told in keys.families():
        assert any(shown in line and told in line for line in lines), shown


async def test_an_export_to_nobodys_home_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    async with stuck(tmp_path / "job") as pilot:
        await press(pilot, "e")
        await press(pilot, *["backspace"] * 60, *"~nobody-at-all/x", "enter")
        assert said(pilot).startswith("not written")
        assert pilot.app.is_running
