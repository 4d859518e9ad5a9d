"""The person's editor in a real terminal: what it is started with, and that the screen comes back."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tests.dumps import DEFAULT, dump, entry, frame, write
from tests.tui.terminal import Terminal

SCRIPT = "a; touch $(echo owned) 'x\".py"
"""A name that a shell would run."""


@pytest.fixture
def fake(tmp_path: Path) -> Path:
    """An editor that notes how it was called, asks for a line, and sees to it that it has the terminal."""
    path = tmp_path / "bin" / "ed it"
    path.parent.mkdir()
    path.write_text(
        f"#!/bin/sh\nprintf '%s\\n' \"$@\" >{tmp_path}/argv\ntest -t 0 && test -t 1 && echo EDITING\nread line\n"
    )
    path.chmod(0o755)
    return path


def job(folder: Path) -> Path:
    script = folder / SCRIPT
    script.write_text("".join(f"line {n}\n" for n in range(1, 100)))
    calls = [entry(1, site=[frame(str(script), 60, "step"), frame("-rf.py", 9, "main")], state="started")]
    return write(folder / "job", {rank: dump(calls, pg_config={DEFAULT: (0, 1, 2)}) for rank in (0, 1)})


def test_the_editor_opens_at_the_line_and_the_screen_comes_back(tmp_path: Path, fake: Path) -> None:
    environ = {"VISUAL": f"'{fake}' -n", "EDITOR": "false"}
    with Terminal(str(job(tmp_path)), size=(120, 40), environ=environ) as terminal:
        terminal.until(b"5 Call")
        terminal.settle()
        terminal.press(b"4")
        os.write(terminal.fd, b"o")
        terminal.until(b"EDITING")
        before = len(terminal.seen)
        os.write(terminal.fd, b"\x03")  # of the editor's concern alone
        end = time.monotonic() + 10
        while b"\x1b[?1049h" not in terminal.seen[before:] and time.monotonic() < end:
            terminal.read(0.1)
        terminal.settle()
        assert all(title in terminal.seen[before:] for title in (b"\x1b[?1049h", b"1 Findings", b"5 Call"))
        assert (tmp_path / "argv").read_text().splitlines() == ["-n", "+60", str(tmp_path / SCRIPT)]
        assert not (tmp_path / "owned").exists()
        os.write(terminal.fd, b"q")
        assert terminal.end() == 0
