"""The screen: the only package that imports textual."""

from __future__ import annotations

import os
import sys

from frtui.text import clean

FRAMES = "120"
"""Drawn a second, at most: what a key changes is seen with the next one, at the same bytes."""
PATIENCE = "250"
"""Milliseconds that the bytes of an arrow key may arrive apart, over SSH."""


def set_defaults() -> None:
    """Textual reads its settings when it is imported, so they must be there before."""
    os.environ.setdefault("TEXTUAL_ANIMATIONS", "none")
    os.environ.setdefault("TEXTUAL_FPS", FRAMES)
    for name in ("COLUMNS", "LINES"):  # where a shell exports them, they would hide every later resize
        os.environ.pop(name, None)
    if os.environ.get("SSH_CONNECTION"):
        os.environ.setdefault("ESCDELAY", PATIENCE)


def say_at_once(text: str = "") -> None:
    """A line for the time in which textual is imported, most of the start; without a text it is gone again."""
    if sys.stderr.isatty():
        from frtui.view.rows import cut

        told = cut(text, os.get_terminal_size(sys.stderr.fileno()).columns - 1)
        print(f"\r\x1b[K{told}", end="", file=sys.stderr, flush=True)


def run(
    source: str,
    *,
    prefix: str | None = None,
    attempt: str | None = None,
    watch: bool = False,
    mouse: bool = True,
    ascii: bool = False,  # noqa: A002 - the name of the option
    debug: bool = False,
) -> int:
    """Opens the screen on `source` and returns the exit code: 0, or 128 + the signal that ended it."""
    set_defaults()
    opening = f"opening {clean(source)}"
    say_at_once(opening.encode("ascii", "replace").decode() if ascii else opening)
    try:
        from frtui.tui.app import FrtuiApp
        from frtui.tui.loader import Folder

        app = FrtuiApp(source, Folder(source, prefix, attempt), plain=ascii, watch=watch, debug=debug)
    finally:
        say_at_once()
    app.run(mouse=mouse)
    for path in app.written:
        print(f"wrote {path}", file=sys.stderr)
    return app.return_code or 0
