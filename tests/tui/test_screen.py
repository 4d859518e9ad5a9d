"""What the screen shows: at its sizes, and with hostile names."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from textual.events import Resize
from textual.geometry import Size

from frtui.engine.finding import Finding
from frtui.model import Entries, Frame, Group, Job, Problem, Rank, Signature
from frtui.text import clean
from frtui.tui import hints
from frtui.tui.loader import Folder
from frtui.view.panes import Panes
from frtui.view.rows import Line, Page, Rows
from frtui.view.select import NAMES
from tests.dumps import dump, entry, frame, write
from tests.recorded import SLEEPS, recorded, thread
from tests.tui.screens import focused, main, opened, pane, press, ready, rest, said, stuck, text
from tests.view import jobs

SIZES = [(80, 24), (120, 40), (200, 50)]


@pytest.mark.parametrize("size", SIZES)
async def test_the_first_screen_answers(tmp_path: Path, size: tuple[int, int]) -> None:
    async with stuck(tmp_path, size) as pilot:
        screen = text(pilot)
    lines = screen.splitlines()
    assert len(lines) == size[1]
    assert all(len(line) <= size[0] for line in lines)
    for fact in ("size-mismatch", "proven", "rank 2", "tp:7 all_reduce #6", "layers.py:60"):
        assert fact in lines[2], fact
    sentence = "rank 2 makes all_reduce #6 of tp:7 with [4096], rank 3 with [4128]; ranks 0, 1 and 3 wait"
    assert sentence in " ".join(screen.split())
    for title in ("1 Findings", "2 Ranks", "3 Groups", "4 Calls  rank 2 · tp:7", "5 Call"):
        assert title in screen, title
    assert "site    /home/user/job/layers.py:60" in screen
    assert "q Quit" in lines[-1]


async def test_every_pane_stands_on_the_evidence(tmp_path: Path) -> None:
    async with stuck(tmp_path, (200, 50)) as pilot:
        await press(pilot, "4")
        assert any(line.startswith("✗ 2 blamed") for line in pane(pilot, "ranks"))
        assert any(line.startswith("✗ tp:7") for line in pane(pilot, "groups"))
        assert any("≠▶ #6" in line for line in pane(pilot, "calls"))
        assert "all_reduce  tp:7 #6  rank 2  size-mismatch" in pane(pilot, "call")[1]


@pytest.mark.parametrize("size", [(1, 1), (20, 5), (40, 12)])
async def test_tiny_terminals_and_resizes_do_no_harm(tmp_path: Path, size: tuple[int, int]) -> None:
    async with stuck(tmp_path, size) as pilot:
        await press(pilot, "4", "j", "x", "escape", "question_mark", "a", "z")
        await pilot.resize_terminal(120, 40)
        await press(pilot, "escape", "escape")
        await rest(pilot)
        assert "4 Calls" in text(pilot)
        await pilot.resize_terminal(*size)
        await rest(pilot)


async def test_panes_follow_the_cursor_once_it_rests(tmp_path: Path) -> None:
    async with stuck(tmp_path, entries=30) as pilot:
        before = pane(pilot, "call")
        await pilot.press("4", "k", "k")
        assert pane(pilot, "call") == before, "not while keys are pressed"
        await rest(pilot)
        assert "all_reduce  tp:7 #28  rank 2" in pane(pilot, "call")[1]
        await press(pilot, "2", "G")
        assert "4 Calls  rank 3 · tp:7" in pane(pilot, "calls")[0]
        assert "#28" in pane(pilot, "call")[1], "the same call of another rank"


async def test_what_could_not_be_read_is_one_enter_away(tmp_path: Path) -> None:
    async with stuck(tmp_path) as pilot:
        screen = await press(pilot, "j", "j", "enter")
        assert focused(pilot) == "call"
        assert "5 What could not be read" in screen
        assert "nccl_trace_rank_9  rank 9  empty" in screen
        screen = await press(pilot, "1", "j", "enter")
        assert "5 Ranks without a dump" in screen
        assert "? rank 4" in screen
        await press(pilot, "escape", "escape")
        assert "5 Call " in text(pilot)


HOSTILE = [
    "[/red]",
    "operator[]",
    "std::string[abi:cxx11]",
    "\\[",
    "[@click=app.quit]x[/]",
    clean("\x1b[31m\x1b]0;x\a"),
    clean("\u202ereversed"),
    "層" * 30,
    "x" * 700,
    "",
]


def hostile_job(name: str) -> tuple[Job, tuple[Finding, ...]]:
    """`name` in every field that comes from a file."""
    rank = Rank(0, name, name, name, name)
    e: Entries = rank.entries
    for column, code in Entries.COLUMNS:
        getattr(e, column).append(0 if code != "d" else 1.0)
    rank.calls.append(0)
    part = Signature(name, name, ((1,),), ((2,),), (name,), (name,), 0, 1)
    signature = Signature(name, name, ((1,),), ((2,),), (name,), (name,), parts=(part, part))
    stack = (Frame(name, name, 1), Frame(name, name + ".py", 2))
    problems = (Problem(name, 7, name, name, 3),)
    job = Job(name, {0: rank}, (Group(name, name, (0, 1)),), (signature,), (stack,), (name,), problems, (name,), name)
    found = Finding(name, name, name, (0,), 0, name, 0, False, stack[0], (name,), (1,), (), (name,), (0, 0))
    return job, (found, replace(found, focus=None))


@pytest.mark.parametrize("name", HOSTILE)
async def test_hostile_names_are_ordinary_text(name: str) -> None:
    job, found = hostile_job(name)
    async with opened(name, ready(Panes(job, found)), (200, 50)) as pilot:
        for keys in (["x"], ["escape"], ["c"], ["slash", *"[/", "enter"], ["right_square_bracket"], ["y"]):
            await press(pilot, *keys)
        await press(pilot, "1", "G", "enter", "z", "e", "escape", "colon", "escape")
        assert pilot.app.is_running
        await press(pilot, *["escape"] * 6, "1", "g")
        if 0 < len(name) < 30:
            assert name in pane(pilot, "findings")[1]
            assert name in "\n".join(pane(pilot, "call"))
            assert len(name) > 16 or name in "\n".join(pane(pilot, "groups"))


async def test_raw_control_characters_never_reach_the_terminal() -> None:
    job, found = hostile_job("\x1b[31m\a\x9b\u202e")
    async with opened("x", ready(Panes(job, found))) as pilot:
        assert not set(text(pilot)) & {"\x1b", "\a", "\x9b", "\u202e"}


async def test_ascii_only(tmp_path: Path) -> None:
    jobs.stuck(tmp_path)
    job, found = hostile_job("層é")
    async with opened("x", ready(Panes(job, found)), (120, 40), plain=True) as pilot:
        for keys in (["x"], ["escape"], ["question_mark"], ["q"], ["f"], ["escape"], ["y"], ["colon", "a"]):
            assert (await press(pilot, *keys)).isascii(), keys


async def test_two_million_calls_are_drawn_a_screen_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    panes = Panes(jobs.huge(2_000_000), ())
    asked: list[int] = []
    async with opened("made", ready(panes)) as pilot:
        await press(pilot, "4", "g")
        calls = main(pilot).desk.pane("calls")
        assert len(calls.rows) == 2_000_000
        original = calls.rows.line

        def line(i: int, width: int) -> Line:
            asked.append(i)
            return original(i, width)

        monkeypatch.setattr(calls.rows, "line", line)
        await pilot.press("j")
        await pilot.pause()
        assert 0 < len(asked) <= 2 * calls.page_height
        for key in ("G", "k", "ctrl+u"):
            asked.clear()
            await press(pilot, key)
            assert 0 < len(asked) <= 6 * calls.page_height, key
        assert "#1,99" not in text(pilot)
        assert calls.cursor > 1_999_980


async def test_a_search_in_two_million_calls_leaves_the_keys_alive() -> None:
    async with opened("made", ready(Panes(jobs.huge(2_000_000), ()))) as pilot:
        await press(pilot, "4", "g")
        await pilot.press("slash", *"zz", "enter")
        await pilot.press("j")
        await asyncio.sleep(0.1)
        calls = main(pilot).desk.pane("calls")
        assert calls.cursor == 1
        assert len(calls.workers) > 0, "still searching"
        await pilot.press("escape")
        assert len(calls.workers) == 0


async def test_a_report_never_replaces_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.txt").write_text("mine")
    async with stuck(tmp_path / "job") as pilot:
        await press(pilot, "e", "ctrl+u", *"mine.txt", "enter")
        assert said(pilot) == "not written: File exists: mine.txt"
        assert (tmp_path / "mine.txt").read_text() == "mine"
        await press(pilot, "e", "ctrl+u", *"no/such/folder.md", "enter")
        assert said(pilot).startswith("not written: No such file or directory")


async def test_keys_that_arrive_together_go_where_they_should(tmp_path: Path) -> None:
    """A slow link delivers a second's typing at once."""
    async with stuck(tmp_path, entries=30) as pilot:
        await press(pilot, "2", "g", "3", "G", "enter", "g", "slash", *"#2", "enter", "x")
        assert "tp:6 #2 " in text(pilot)


async def test_tab_and_escape_leave_a_prompt_as_they_should(tmp_path: Path) -> None:
    async with stuck(tmp_path) as pilot:
        await press(pilot, "4", "slash", *"abc", "tab")
        assert focused(pilot) == "answer"
        await press(pilot, "escape")
        assert focused(pilot) == "calls"
        assert main(pilot).desk.pane("calls").wanted is None


async def test_a_filter_stays_while_the_rank_changes(tmp_path: Path) -> None:
    async with stuck(tmp_path, entries=30) as pilot:
        await press(pilot, "4", "f", *"state:open", "enter")
        await press(pilot, "2", "G")
        assert "filter: state:open" in pane(pilot, "calls")[0]
        assert sum("#" in line for line in pane(pilot, "calls")[1:]) == 1
        await press(pilot, "4", "f", "ctrl+u", *"zzz", "enter")
        assert "nothing passes the filter; Esc clears it" in pane(pilot, "calls")[1]


async def test_the_mouse_moves_the_cursor_and_opens(tmp_path: Path) -> None:
    async with stuck(tmp_path, entries=30) as pilot:
        ranks = main(pilot).desk.pane("ranks")
        await pilot.click(ranks, offset=(3, 3))
        await rest(pilot)
        assert (focused(pilot), main(pilot).trail.now.rank) == ("ranks", 0)
        await pilot.click(ranks, offset=(3, 3))
        await rest(pilot)
        assert focused(pilot) == "calls"


def test_all_panes_are_there() -> None:
    assert NAMES == ("findings", "ranks", "groups", "calls", "call")
    assert len(Rows()) == 0


async def test_what_is_cut_at_the_edge_says_so(tmp_path: Path) -> None:
    async with stuck(tmp_path) as pilot:
        widget = main(pilot).desk.pane("calls")
        width = widget.size.width
        cut, fits = "x" * (width + 1), "x" * width
        for text in (cut, fits, fits[:-1] + " y"):
            widget.show(Page(partial(shown_as, text)))
            shown = widget.render_line(1).text
            assert len(shown) == width
            assert shown.endswith("…") == (text == cut)


def shown_as(text: str, _width: int) -> list[Line]:
    return [[(text, "plain")]]


async def test_keys_typed_without_a_pause_are_for_what_the_next_pane_shows_then(tmp_path: Path) -> None:
    """`j 5 G` went to the end of the call before, and the call that followed began at its top."""
    async with stuck(tmp_path, (120, 40)) as pilot:
        await press(pilot, "4", "g")
        calls, call = main(pilot).desk.pane("calls"), main(pilot).desk.pane("call")
        calls.action_move(1)
        await pilot.pause(0)
        main(pilot).action_pane("call")
        call.action_goto(-1)
        await rest(pilot)
        assert main(pilot).trail.now.row == calls.key
        assert call.cursor == len(call.rows) - 1 > 3


async def test_a_message_stands_in_the_last_line_for_a_while(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hints, "SECONDS", 0.3)
    async with stuck(tmp_path) as pilot:
        offered = text(pilot).splitlines()[-1]
        assert offered.startswith("w Waits  x Across")
        await press(pilot, "n", "n", "n")
        assert text(pilot).splitlines()[-1].rstrip() == said(pilot) == "nothing to find yet; / asks"
        await pilot.pause(0.5)
        assert text(pilot).splitlines()[-1] == offered


async def test_a_long_message_is_wrapped_and_leaves_room(tmp_path: Path) -> None:
    async with stuck(tmp_path) as pilot:
        main(pilot).say("[/bold]\x1b[31m " + "name " * 20)
        await rest(pilot)
        assert text(pilot).splitlines()[-2].startswith("[/bold]\\x1b[31m name name")
        main(pilot).say("name " * 200)
        await rest(pilot)
        assert sum(line.startswith("name") for line in text(pilot).splitlines()) == hints.MOST
        main(pilot).hints.offer()
        await rest(pilot)
        assert text(pilot).splitlines()[-1].startswith("w Waits  x Across")
        assert not text(pilot).splitlines()[-2].startswith("name")


async def test_the_call_pane_of_an_idle_rank_shows_its_threads(tmp_path: Path) -> None:
    config = {("0", "default_pg"): (0, 1)}
    waits = recorded(dump([entry(1, state="started")], pg_config=config), 0, world_size=2)
    hostile = frame("[/red]\x1b.py", 7, "[@click=app.quit]x[/]")
    idle = recorded(dump([], pg_config=config), 1, [thread(*SLEEPS, hostile)], world_size=2)
    async with opened(tmp_path, Folder(str(write(tmp_path, {0: waits, 1: idle})), None, None), (200, 60)) as pilot:
        assert "not-joined" in pane(pilot, "findings")[1]
        assert "✗ 1 blamed" in "\n".join(pane(pilot, "ranks"))
        call = "\n".join(pane(pilot, "call"))
        assert "▶ sleep_forever  /job/train.py:13" in call
        assert "[@click=app.quit]x[/] [/red]\\x1b.py:7" in call
        assert "threading.py" not in call
        await press(pilot, "c")
        assert "threading.py:327" in "\n".join(pane(pilot, "call"))


@pytest.mark.parametrize("key", ["", "question_mark", "colon"], ids=["main", "help", "palette"])
async def test_two_sizes_in_quick_succession_come_to_rest(tmp_path: Path, key: str) -> None:
    """The terminal was resized before the first size was dealt with: Textual would go to and fro between them."""
    async with stuck(tmp_path) as pilot:
        await press(pilot, *([key] if key else []))
        screen = pilot.app.screen
        for size in (Size(100, 30), pilot.app.size):
            screen.post_message(Resize(size, size))
            screen.call_later(lambda: None)  # else the second would take the place of the first
        await asyncio.sleep(0.1)
        for _ in range(20):
            await asyncio.sleep(0.01)
            assert screen._compositor.size == pilot.app.size


async def test_the_lines_stand_as_if_the_screen_had_always_had_its_size(tmp_path: Path) -> None:
    """Else it would depend on what is laid out first, too: the panes, or the head above them."""
    found = Finding("size-mismatch", "proven", "It differs.", ranks=(0,), group=0, seq=391, focus=(0, 390))
    panes = Panes(jobs.huge(400), (found,))
    seen = []
    for height in (24, 26, 33, 21):
        async with opened(tmp_path, ready(panes), (80, height)) as pilot:
            await pilot.resize_terminal(80, 24)
            await rest(pilot)
            seen.append(text(pilot))
    assert "#391" in seen[0]
    assert seen == [seen[0]] * 4
