"""What is taken along: reports, copies, source files."""

from __future__ import annotations

import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from textual.pilot import Pilot

from frtui.tui import clipboard, editor
from frtui.tui.export import FORMATS
from frtui.tui.loader import Folder
from frtui.tui.screen import Main
from tests.dumps import DEFAULT, dump, entry, frame, write
from tests.tui.screens import focused, main, opened, pane, press, ready, rest, said, stuck, text
from tests.view import jobs

ROOT = Path(__file__).parents[2]


def printed(*arguments: str, cwd: Path) -> bytes:
    command = [sys.executable, "-m", "frtui", "report", *arguments]
    return subprocess.run(command, cwd=cwd, env={"PYTHONPATH": str(ROOT)}, capture_output=True, check=False).stdout


def two_causes(folder: Path) -> None:
    """In each of two pairs the ranks give other sizes; a file that is empty is noted below the findings."""
    for n, pair in enumerate([(0, 1), (2, 3)]):
        group = (str(n), "tp")
        done = [entry(seq, group=group) for seq in (1, 2, 3)]
        for size, rank in enumerate(pair):
            last = entry(4, group=group, sizes=((4 + size,),), state="started")
            write(folder, {rank: dump([*done, last], pg_config={group: pair})})
    (folder / "nccl_trace_rank_9").touch()


async def test_e_writes_what_the_command_line_prints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    two_causes(tmp_path / "job")
    async with opened("job", Folder("job", None, None)) as pilot:
        await press(pilot, "right_square_bracket")
        for ending in FORMATS:
            await press(pilot, "e", "ctrl+u", *f"one{ending}", "enter")
        await press(pilot, "1", "G")
        for ending in FORMATS:
            await press(pilot, "e", "ctrl+u", *f"all{ending.upper()}", "enter")
    for ending, name in FORMATS.items():
        one, every = (tmp_path / f"one{ending}").read_bytes(), (tmp_path / f"all{ending.upper()}").read_bytes()
        assert one == printed("job", "--format", name, "--finding", "2", cwd=tmp_path)
        assert every == printed("job", "--format", name, cwd=tmp_path)
        assert len(one) < len(every)


async def test_any_other_ending_is_markdown_and_the_prompt_names_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with stuck(tmp_path / "job") as pilot:
        assert "write to (.md .txt .json .html): ./frtui-job-size-mismatch.md" in await press(pilot, "e")
        await press(pilot, "ctrl+u", *"note", "enter")
    assert (tmp_path / "note").read_text().startswith("### SIZE-MISMATCH")


# Copying


def sent(pilot: Pilot[None]) -> list[str]:
    taken: list[str] = []
    driver = pilot.app._driver
    assert driver is not None
    driver.write = taken.append  # type: ignore[method-assign,assignment]
    return taken


def kept(pilot: Pilot[None]) -> Path:
    """The file that the last message names."""
    found = re.search(r"wrote (\S+)", said(pilot))
    assert found, said(pilot)
    return Path(found[1])


async def test_a_line_that_is_copied_twice_becomes_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    async with stuck(tmp_path / "job") as pilot:
        taken = sent(pilot)
        await press(pilot, "5", "j", "j", "y")
        assert said(pilot) == "copied 35 characters (OSC 52); not there? y again writes a file"
        await press(pilot, "y")
        path = kept(pilot)
        assert path.read_text() == "site    /home/user/job/layers.py:60\n"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert pilot.app.written == [str(path)]  # type: ignore[attr-defined]
        await press(pilot, "y")
        assert "copied 35 characters" in said(pilot), "not a file for every press"
        assert sum("\x1b]52;c;" in part for part in taken) == 2


async def test_Y_takes_the_whole_pane_with_what_is_out_of_sight(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    async with stuck(tmp_path / "job") as pilot:
        await press(pilot, "5", "Y")
        assert "not there? Y again writes a file" in said(pilot)
        await press(pilot, "Y")
        lines = kept(pilot).read_text().splitlines()
    assert lines[0].startswith("all_reduce  tp:7 #6  rank 2")
    assert "why     the history of rank 2 has [4128] at this line" in lines
    assert lines[-1].startswith("the other rank, 3, is in all_reduce #6")


async def test_what_is_too_long_to_copy_becomes_a_file_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    async with stuck(tmp_path / "job", entries=1_500) as pilot:
        await press(pilot, "4", "Y")
        assert "characters are too many to copy" in said(pilot)
        assert len(kept(pilot).read_text().splitlines()) == 1_500
        assert kept(pilot).stat().st_size > clipboard.LIMIT


async def test_two_million_lines_are_not_copied() -> None:
    from frtui.view.panes import Panes

    async with opened("made", ready(Panes(jobs.huge(2_000_000), ()))) as pilot:
        await press(pilot, "4", "Y")
        assert said(pilot).startswith("not copied: 2,000,000 lines; f leaves fewer")


async def test_no_room_for_the_file_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "gone"))
    async with stuck(tmp_path / "job") as pilot:
        await press(pilot, "5", "y", "y")
        assert said(pilot) == "no file could be written: No such file or directory"


# Source files


def running(folder: Path) -> Path:
    """A job that is stuck in a script which is on this machine, called from one that is not."""
    script = folder / "train.py"
    script.write_text("".join(f"line {n}\n" for n in range(1, 100)))
    site = [frame(str(script), 60, "step"), frame("/job/main.py", 9, "main"), frame("/dev/tty", 1, "tty")]
    calls = [entry(1, site=site, state="started")]
    write(folder / "job", {rank: dump(calls, pg_config={DEFAULT: (0, 1, 2)}) for rank in (0, 1)})
    return script


async def to_frame(pilot: Pilot[None], name: str) -> None:
    """The cursor of pane 5 to the frame of a function."""
    widget = main(pilot).desk.pane("call")
    await press(pilot, "5")
    widget.cursor = next(i for i in range(len(widget.rows)) if widget.rows.text(i)[2:].startswith(name + " "))
    await rest(pilot)


@pytest.mark.parametrize("size", [(80, 24), (200, 50)])
async def test_enter_on_a_frame_shows_its_source(tmp_path: Path, size: tuple[int, int]) -> None:
    running(tmp_path)
    async with opened(tmp_path, Folder(str(tmp_path / "job"), None, None), size) as pilot:
        await to_frame(pilot, "step")
        before = main(pilot).desk.pane("call").key
        screen = await press(pilot, "enter")
        assert "5 Source" in screen
        assert "▶ 60 line 60" in screen
        assert "  65 line 65" in screen, "the line stands in the middle"
        assert ("2 Ranks" in screen) == (size[0] > 100)
        assert "line 70" in await press(pilot, *["j"] * 10)
        await press(pilot, "enter", "escape")
        assert (focused(pilot), main(pilot).desk.pane("call").key) == ("call", before), "back on the frame"
        await to_frame(pilot, "main")
        assert "/job/main.py is not on this machine" in " ".join((await press(pilot, "enter")).split())
        await press(pilot, "escape")


async def test_a_source_that_vanishes_and_comes_back(tmp_path: Path) -> None:
    script = running(tmp_path)
    async with opened(tmp_path, Folder(str(tmp_path / "job"), None, None), (200, 50)) as pilot:
        await to_frame(pilot, "step")
        await press(pilot, "enter")
        assert "▶ 60 line 60" in "\n".join(pane(pilot, "call"))
        script.unlink()
        assert "is not on this machine" in await press(pilot, "escape", "enter")
        await press(pilot, "o")
        assert said(pilot) == f"{script} is not on this machine"


async def test_o_says_why_it_opens_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VISUAL", "no-such-editor-anywhere")
    running(tmp_path)
    async with opened(tmp_path, Folder(str(tmp_path / "job"), None, None), (200, 50)) as pilot:
        for name, why in (("main", "/job/main.py is not on this machine"), ("tty", "/dev/tty is no source file")):
            await to_frame(pilot, name)
            await press(pilot, "o")
            assert said(pilot) == why
        await to_frame(pilot, "step")
        await press(pilot, "o")
        assert said(pilot) == "an editor can't be opened here", "the test has no terminal to lend"


async def test_no_line_to_open(tmp_path: Path) -> None:
    async with stuck(tmp_path) as pilot:
        await press(pilot, "right_square_bracket", "o")
        assert said(pilot) == "no line here names a source file"
        assert isinstance(pilot.app.screen, Main)
        assert "3 Groups" in text(pilot)


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ({}, ["vi", "+7", "/a/b c.py"]),
        ({"EDITOR": "nano"}, ["nano", "+7", "/a/b c.py"]),
        ({"EDITOR": "nano", "VISUAL": "/opt/my\\ vim -u NONE"}, ["/opt/my vim", "-u", "NONE", "+7", "/a/b c.py"]),
        ({"VISUAL": "", "EDITOR": ""}, ["vi", "+7", "/a/b c.py"]),
        ({"VISUAL": "code --wait"}, ["code", "--wait", "--goto", "/a/b c.py:7"]),
        ({"VISUAL": "codium"}, ["codium", "--goto", "/a/b c.py:7"]),
        ({"VISUAL": "/usr/bin/hx"}, ["/usr/bin/hx", "/a/b c.py:7"]),
        ({"VISUAL": "subl -w"}, ["subl", "-w", "/a/b c.py:7"]),
    ],
)
def test_how_editors_are_told_the_line(setting: dict[str, str], words: list[str]) -> None:
    assert editor.command(setting, "/a/b c.py", 7) == words


@pytest.mark.parametrize("setting", ["'", "   "])
def test_a_setting_that_is_no_command(setting: str) -> None:
    with pytest.raises(editor.NoEditor):
        editor.command({"EDITOR": setting}, "/a.py", 1)
