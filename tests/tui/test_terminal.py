"""In a real terminal: bytes, signals, colours; and the main path under tmux."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.dumps import DEFAULT, dump, entry, write
from tests.tui.terminal import Terminal
from tests.view import jobs

RESTORED = (b"\x1b[?1049l", b"\x1b[?25h", b"\x1b[?1003l")
"""Main screen, cursor, no mouse."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two ranks with many calls, both stuck in the last one."""
    config = {DEFAULT: (0, 1)}
    calls = [entry(seq, site=("train.py", seq % 7)) for seq in range(1, 400)]
    last = entry(400, site=("train.py", 99), state="started")
    return write(tmp_path / "job", {rank: dump([*calls, last], pg_config=config) for rank in (0, 1)})


def opened(folder: Path, *arguments: str, **environ: str) -> Terminal:
    terminal = Terminal(str(folder), *arguments, environ=environ)
    terminal.until(b"train.py:99")
    terminal.settle()
    return terminal


def test_bytes_per_key(folder: Path) -> None:
    with opened(folder) as terminal:
        assert len(terminal.seen) < 25_000, "the first screen"
        assert terminal.read(2) == 0, "idle"
        terminal.press(b"4g")
        costs = []
        for _ in range(5):
            os.write(terminal.fd, b"j")
            costs.append(terminal.burst())
            terminal.settle()
        assert 0 < max(costs) < 600, costs
        settled = sorted(terminal.press(b"k") for _ in range(3))
        assert settled[1] < 1_000, "with the panes that follow"
        assert terminal.press(b"\x1b[<35;20;10M\x1b[<35;21;11M") == 0, "the mouse moves"
        assert terminal.press(b"\x0c") > 1_500, "ctrl+l draws all again"


def test_a_wide_screen_costs_little_more(folder: Path) -> None:
    with Terminal(str(folder), size=(200, 50)) as terminal:
        terminal.until(b"train.py:99")
        terminal.settle()
        terminal.press(b"4g")
        os.write(terminal.fd, b"j")
        assert 0 < terminal.burst() < 1_000


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)], ids=["SIGTERM", "SIGHUP"])
def test_signals_restore_the_terminal(folder: Path, number: signal.Signals, code: int) -> None:
    with opened(folder) as terminal:
        os.kill(terminal.pid, number)
        assert terminal.end() == code
        assert all(sequence in terminal.seen[-400:] for sequence in RESTORED)


@pytest.mark.parametrize("key", [b"q", b"\x03"], ids=["q", "ctrl+c"])
def test_quitting_restores_the_terminal_and_ends_with_0(folder: Path, key: bytes) -> None:
    with opened(folder) as terminal:
        os.write(terminal.fd, key)
        assert terminal.end() == 0
        assert all(sequence in terminal.seen[-400:] for sequence in RESTORED)


def test_ctrl_z_suspends_and_comes_back(folder: Path) -> None:
    with opened(folder) as terminal:
        os.write(terminal.fd, b"\x1a")
        terminal.until(RESTORED[0])
        pid, status = os.waitpid(terminal.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status)
        before = len(terminal.seen)
        os.kill(pid, signal.SIGCONT)
        terminal.settle()
        assert b"\x1b[?1049h" in terminal.seen[before:]
        assert all(title in terminal.seen[before:] for title in (b"1 Findings", b"2 Ranks", b"5 Call")), "drawn again"
        assert terminal.press(b"4") > 0


def colours(seen: bytes | bytearray) -> set[bytes]:
    return {code for part in re.findall(rb"\x1b\[([0-9;]*)m", seen) for code in part.split(b";") if code}


def test_only_the_16_colours_of_the_terminal_are_used(folder: Path) -> None:
    with opened(folder) as terminal:
        for key in (b":", b"\x1b", b"e", b"\x1b", b"?", b" "):
            terminal.press(key)
        assert colours(terminal.seen) <= {b"0", b"1", b"2", b"4", b"7", b"31", b"32", b"33", b"39", b"49"}


def test_no_color_leaves_bold_and_reverse(folder: Path) -> None:
    with opened(folder, NO_COLOR="1") as terminal:
        for key in (b":", b"\x1b", b"e", b"\x1b", b"?", b" "):
            terminal.press(key)
        assert colours(terminal.seen) <= {b"0", b"1", b"2", b"4", b"7", b"39", b"49"}


def test_an_export_is_told_after_the_screen_is_gone(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder.parent)
    with opened(folder) as terminal:
        terminal.press(b"e")
        terminal.press(b"\r")
        os.write(terminal.fd, b"q")
        assert terminal.end() == 0
        written = next(folder.parent.glob("frtui-job-*.md"))
        assert f"wrote {written}".encode() in terminal.seen[terminal.seen.rindex(RESTORED[0]) :]


def test_an_arrow_key_torn_apart_is_still_an_arrow_over_ssh(folder: Path) -> None:
    with opened(folder, SSH_CONNECTION="1 2 3 4") as terminal:
        terminal.press(b"4g")
        before = len(terminal.seen)
        os.write(terminal.fd, b"\x1b")
        time.sleep(0.15)
        os.write(terminal.fd, b"[B")
        terminal.settle()
        assert b"#2 " in terminal.seen[before:]


# tmux

TMUX = ["tmux", "-L", f"frtui-test-{os.getpid()}"]


@pytest.fixture
def tmux() -> Iterator[None]:
    if shutil.which("tmux") is None:
        pytest.skip("no tmux")
    yield
    subprocess.run([*TMUX, "kill-server"], capture_output=True, check=False)


def captured() -> str:
    return subprocess.run([*TMUX, "capture-pane", "-p"], capture_output=True, text=True, check=True).stdout


def wait_for(*wanted: str) -> str:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        screen = captured()
        if all(part in screen for part in wanted):
            return screen
        time.sleep(0.1)
    raise AssertionError(f"{wanted} not in\n{captured()}")


def send(*keys: str) -> None:
    subprocess.run([*TMUX, "send-keys", *keys], check=True)


@pytest.mark.usefixtures("tmux")
def test_the_main_path_under_tmux(tmp_path: Path) -> None:
    """From the command to the report: look, doubt, look across the ranks, export, quit."""
    jobs.stuck(tmp_path / "job")
    root = Path(__file__).parents[2]
    command = f"cd {tmp_path}; PYTHONPATH={root} {sys.executable} -m frtui job; echo ended $?; sleep 60"
    subprocess.run([*TMUX, "new-session", "-d", "-x", "80", "-y", "24", command], check=True)
    first = wait_for("1 Findings", "2 Ranks", "5 Call", "q Quit", "4 Calls  rank")
    assert all(len(line) <= 80 for line in first.splitlines())
    send("2", "G")
    wait_for("4 Calls  rank 4")
    send("g")  # the blamed rank, and its group, stand on top
    wait_for("4 Calls  rank 2")
    send("3", "g", "Enter")
    wait_for("rank 2 · tp:7")
    send("G")
    wait_for("#6 ", "≠▶ #6")
    send("x")
    screen = wait_for("made by 2 of 2 ranks")
    assert screen.index("[4096] f32") < screen.index("[4128] f32")
    send("Escape")
    wait_for("3 Groups")
    send("e")
    wait_for("write to (.md .txt .json .html): ./frtui-job-")
    send("Enter")
    wait_for("wrote")
    send("q")
    screen = wait_for("ended 0")
    assert "wrote" in screen
    assert list(tmp_path.glob("frtui-job-*.md"))


def test_a_line_is_there_at_once_and_gone_with_the_screen(folder: Path) -> None:
    with opened(folder) as terminal:
        opening, screen = terminal.seen.index(b"opening "), terminal.seen.index(b"\x1b[?1049h")
        assert opening < screen
        assert b"\r\x1b[K" in terminal.seen[opening:screen]
