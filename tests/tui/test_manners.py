"""Every page in a real terminal: bytes, colours, keys torn apart, signals, resizes, and how it is left in the end."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tui.terminal import Terminal
from tests.tui.test_terminal import colours
from tests.view import jobs

PAGES = {
    "m": b"5 Ranks by groups",
    "t": b"5 Times",
    "w": b"5 Who waits for whom",
    "a": b"5 Beside its witnesses",
    "x": b"5 This call on every rank",
}
ENTERED, LEFT = b"\x1b[?1049h", b"\x1b[?1049l"
MODES = {b"1049": False, b"1000": False, b"1003": False, b"1006": False, b"1015": False, b"2004": False, b"25": True}
"""Alternate screen, mouse, bracketed paste, cursor: what each must be in the end."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Rank 2 gives other sizes than rank 3."""
    return jobs.stuck(tmp_path / "job", entries=60)


def opened(
    folder: Path, *arguments: str, size: tuple[int, int] = (80, 24), environ: dict[str, str] | None = None
) -> Terminal:
    terminal = Terminal(str(folder), *arguments, size=size, environ=environ)
    terminal.until(b"size-mismatch")
    terminal.settle()
    return terminal


def is_clean(seen: bytes | bytearray) -> bool:
    """Whether the last thing that was said of each mode leaves the terminal as it was."""
    for mode, on in MODES.items():
        set_at, reset_at = seen.rfind(b"\x1b[?" + mode + b"h"), seen.rfind(b"\x1b[?" + mode + b"l")
        if max(set_at, reset_at) >= 0 and (set_at > reset_at) is not on:
            return False
    return True


@pytest.mark.parametrize(("size", "page_bytes"), [((80, 24), 6_000), ((200, 50), 24_000)])
def test_bytes_of_every_page(folder: Path, size: tuple[int, int], page_bytes: int) -> None:
    with opened(folder, size=size) as terminal:
        for key, title in PAGES.items():
            before = len(terminal.seen)
            assert 0 < terminal.press(key.encode(), 0.3) < page_bytes, key
            assert title in terminal.seen[before:], key
            os.write(terminal.fd, b"j")
            assert terminal.burst() < 600, f"j on page {key}"
            terminal.settle(0.2)
        assert terminal.read(1) == 0, "idle on a page"


def test_another_pane_costs_two_titles_and_two_cursors(folder: Path) -> None:
    with opened(folder, size=(200, 50)) as terminal:
        for key in b"24513":
            assert 0 < terminal.press(bytes([key]), 0.3) < 2_000, key


def test_watching_writes_nothing_while_nothing_changes(folder: Path) -> None:
    with opened(folder, "--watch") as terminal:
        assert b"watching, 4 of 5 ranks" in terminal.seen
        assert terminal.read(3) == 0


@pytest.mark.parametrize(
    ("environ", "allowed"),
    [
        ({"TERM": "xterm", "COLORTERM": ""}, {b"31", b"32", b"33"}),
        ({"TERM": "linux", "COLORTERM": ""}, {b"31", b"32", b"33"}),
        ({"NO_COLOR": "1", "TERM": "xterm", "COLORTERM": ""}, set()),
    ],
    ids=["xterm", "linux", "NO_COLOR"],
)
def test_pages_use_the_terminals_own_colours(folder: Path, environ: dict[str, str], allowed: set[bytes]) -> None:
    """So they are as readable on a light terminal as on a dark one: neither black nor white is ever asked for."""
    with opened(folder, environ=environ) as terminal:
        for key, title in PAGES.items():
            terminal.press(key.encode(), 0.3)
            assert title in terminal.seen
        assert colours(terminal.seen) <= {b"0", b"1", b"2", b"4", b"7", b"39", b"49"} | allowed
        os.write(terminal.fd, b"q")
        assert terminal.end() == 0
        assert is_clean(terminal.seen)


def test_keys_torn_apart_by_a_slow_link_are_the_keys_they_were(folder: Path) -> None:
    with opened(folder) as terminal:
        terminal.press(b"4g")
        for parts, wanted in (((b"\x1b", b"[B"), b"#2 "), ((b"\x1b[", b"B"), b"#3 "), ((b"\x1b", b"OB"), b"#4 ")):
            before = len(terminal.seen)
            for part in parts:
                os.write(terminal.fd, part)
                time.sleep(0.05)
            terminal.settle(0.2)
            assert wanted in terminal.seen[before:], parts
        # Too far apart for anybody to know: Esc, and a letter that does nothing.
        os.write(terminal.fd, b"\x1b")
        terminal.settle()
        before = len(terminal.seen)
        os.write(terminal.fd, b"A")
        assert terminal.settle(0.2) == 0


@pytest.mark.parametrize("size", [(300, 100), (40, 10)], ids=lambda size: f"{size[0]}x{size[1]}")
def test_resizes_while_loading_and_on_every_page(folder: Path, size: tuple[int, int]) -> None:
    # With a resize at once, two sizes are under way. Some shells export these; they would be believed for ever.
    with Terminal(str(folder), environ={"COLUMNS": "80", "LINES": "24"}) as terminal:
        terminal.until(ENTERED)
        terminal.resize(*size)
        terminal.until(b"size-mismatch" if size[0] > 80 else b"size-mis")
        terminal.settle()
        assert size[0] < 80 or ("━" * 200).encode() in terminal.seen
        for key in PAGES:
            terminal.press(key.encode(), 0.3)
            before = len(terminal.seen)
            terminal.resize(80, 24)
            terminal.settle(0.2)
            assert PAGES[key] in terminal.seen[before:], f"drawn anew: {key}"
            terminal.resize(*size)
            terminal.settle(0.2)
        os.write(terminal.fd, b"q")
        assert terminal.end() == 0
        assert is_clean(terminal.seen)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP], ids=["SIGTERM", "SIGHUP"])
@pytest.mark.parametrize("keys", [b"", b"w", b"?", b":", b"f"], ids=["loading", "page", "help", "palette", "prompt"])
def test_signals_leave_the_terminal_clean_wherever_one_is(folder: Path, keys: bytes, number: signal.Signals) -> None:
    with Terminal(str(folder)) as terminal:
        terminal.until(ENTERED)
        if keys:
            terminal.until(b"size-mismatch")
            terminal.press(keys)
        else:
            terminal.until(b"frtui  ")  # the program runs, and reads
        os.kill(terminal.pid, number)
        assert terminal.end() == 128 + number
        assert is_clean(terminal.seen)
        assert LEFT in terminal.seen


def test_a_page_is_drawn_again_after_ctrl_z_and_fg(folder: Path) -> None:
    with opened(folder) as terminal:
        terminal.press(b"m")
        os.write(terminal.fd, b"\x1a")
        terminal.until(LEFT)
        os.waitpid(terminal.pid, os.WUNTRACED)
        assert is_clean(terminal.seen), "while it sleeps, the shell has the terminal"
        before = len(terminal.seen)
        os.kill(terminal.pid, signal.SIGCONT)
        terminal.settle()
        assert PAGES["m"] in terminal.seen[before:]
        os.write(terminal.fd, b"q")
        assert terminal.end() == 0


BROKEN = """
from frtui.tui import set_defaults
set_defaults()
from frtui.tui.app import FrtuiApp
def read(progress, cancelled):
    secret = "of the user"
    raise LookupError("broken inside")
app = FrtuiApp("job", read)
app.run()
raise SystemExit(app.return_code)
"""


def test_a_fault_inside_leaves_the_terminal_clean_and_tells_no_data() -> None:
    with Terminal(program=("-c", BROKEN)) as terminal:
        assert terminal.end() == 1
        after = terminal.seen[terminal.seen.rindex(LEFT) :]
        assert is_clean(terminal.seen)
        assert b"LookupError: broken inside" in after
        assert b"This is a bug in frtui; --debug shows more." in after
        assert b"secret =" not in after.replace(b'secret = "of the user"', b"")


def test_a_lost_connection_ends_the_program(folder: Path) -> None:
    with opened(folder) as terminal:
        os.close(terminal.fd)
        end = time.monotonic() + 20
        while (done := os.waitpid(terminal.pid, os.WNOHANG)[0]) == 0 and time.monotonic() < end:
            time.sleep(0.05)
        if done:
            terminal.pid = 0
        terminal.fd = os.open(os.devnull, os.O_RDWR)
        assert done, "still running, for nobody"


# Inside of another terminal


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    if shutil.which("tmux"):
        subprocess.run(["tmux", "-L", f"frtui-m-{os.getpid()}", "kill-server"], capture_output=True, check=False)


def tmux(*arguments: str) -> str:
    command = ["tmux", "-L", f"frtui-m-{os.getpid()}", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def shows(*wanted: str) -> str:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        screen = tmux("capture-pane", "-p")
        if all(part in screen for part in wanted):
            return screen
        time.sleep(0.1)
    raise AssertionError(f"{wanted} not in\n{screen}")


@pytest.mark.skipif(shutil.which("tmux") is None, reason="no tmux")
def test_every_page_under_tmux_from_300x100_to_80x24(folder: Path, home: Path) -> None:
    root = Path(__file__).parents[2]
    command = f"cd {home}; PYTHONPATH={root} {sys.executable} -m frtui job; echo ended $?; sleep 60"
    tmux("new-session", "-d", "-x", "300", "-y", "100", command)
    shows("1 Findings", "size-mismatch")
    for key, title in PAGES.items():
        tmux("resize-window", "-x", "300", "-y", "100")
        tmux("send-keys", key)
        wide = shows(title.decode(), "3 Groups", "q Quit")
        assert max(map(len, wide.splitlines())) <= 300
        tmux("resize-window", "-x", "80", "-y", "24")
        small = shows(title.decode(), "q Quit")
        assert max(map(len, small.splitlines())) <= 80
        assert len(small.splitlines()) <= 24
    tmux("send-keys", "q")
    assert "Findings" not in shows("ended 0")


@pytest.mark.skipif(shutil.which("screen") is None, reason="no screen")
def test_under_screen(folder: Path) -> None:
    program = ("-c", f"import os; os.execlp('screen', 'screen', {sys.executable!r}, '-m', 'frtui', {str(folder)!r})")
    with Terminal(program=program, environ={"SCREENDIR": str(folder.parent / "screens")}) as terminal:
        terminal.until(b"size-mismatch")
        for key, title in PAGES.items():
            terminal.press(key.encode(), 0.3)
            assert title in terminal.seen
        os.write(terminal.fd, b"q")
        terminal.end()
        assert is_clean(terminal.seen)
