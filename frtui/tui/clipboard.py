"""Copying through the terminal (OSC 52), which also works over SSH; a file where that is not enough."""

from __future__ import annotations

import base64
import os
import tempfile

from textual.app import App

LIMIT = 64_000
"""Terminals drop longer sequences without a word."""


def sequences(text: str, in_tmux: bool) -> list[str]:
    """What to write: the plain form, and inside tmux also the one that it passes on to the outer terminal."""
    plain = f"\x1b]52;c;{base64.b64encode(text.encode()).decode()}\a"
    return [plain, "\x1bPtmux;" + plain.replace("\x1b", "\x1b\x1b") + "\x1b\\"] if in_tmux else [plain]


def copy(app: App[None], text: str, key: str) -> str:
    """Copies and says so; nobody can know whether the terminal took it."""
    driver = app._driver
    if driver is not None:
        for sequence in sequences(text, bool(os.environ.get("TMUX"))):
            driver.write(sequence)
    return f"copied {len(text):,} characters (OSC 52); not there? {key} again writes a file"


def keep(text: str) -> str:
    """Writes to a new file that nobody else can read, and returns its path. Raises OSError."""
    handle, path = tempfile.mkstemp(prefix="frtui-", suffix=".txt")
    with open(handle, "w", encoding="utf-8", errors="replace") as file:
        file.write(text + "\n")
    return path
