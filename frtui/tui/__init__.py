"""The screen: the only package that imports textual."""

from __future__ import annotations

import os
import sys

SLOW_LINK = {"TEXTUAL_FPS": "15", "ESCDELAY": "250"}
"""Over SSH: fewer frames, and more patience with an arrow key whose bytes arrive apart."""


def set_defaults() -> None:
    """Textual reads its settings when it is imported, so they must be there before."""
    os.environ.setdefault("TEXTUAL_ANIMATIONS", "none")
    if os.environ.get("SSH_CONNECTION"):
        for name, value in SLOW_LINK.items():
            os.environ.setdefault(name, value)


def run(
    source: str,
    *,
    prefix: str | None = None,
    attempt: str | None = None,
    mouse: bool = True,
    ascii: bool = False,  # noqa: A002 - the name of the option
    debug: bool = False,
) -> int:
    """Opens the screen on `source` and returns the exit code: 0, or 128 + the signal that ended it."""
    set_defaults()
    from frtui.tui.app import FrtuiApp
    from frtui.tui.loader import folder

    app = FrtuiApp(source, folder(source, prefix, attempt), plain=ascii, debug=debug)
    app.run(mouse=mouse)
    for path in app.written:
        print(f"wrote {path}", file=sys.stderr)
    return app.return_code or 0
