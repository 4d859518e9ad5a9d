"""The person's own editor at a source line, while the screen steps aside."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
from collections.abc import Mapping
from typing import Any

from textual.app import App, SuspendNotSupported

from frtui.model import Frame
from frtui.view.source import NotHere, locate

GOTO = ("code", "code-insiders", "codium", "vscodium", "cursor")
COLON = ("subl", "sublime_text", "hx", "helix", "zed")


class NoEditor(Exception):
    """Says what is wrong with the person's setting."""


def command(environ: Mapping[str, str], path: str, line: int) -> list[str]:
    """What to run; no shell ever sees the path, which is absolute and so begins with no `-`."""
    setting = environ.get("VISUAL") or environ.get("EDITOR") or "vi"
    try:
        words = shlex.split(setting)
    except ValueError as error:
        raise NoEditor(f"VISUAL or EDITOR can't be understood ({error}): {setting}") from None
    if not words:
        raise NoEditor("VISUAL or EDITOR is blank")
    name, line = os.path.basename(words[0]).removesuffix(".exe"), max(1, line)
    if name in GOTO:
        return [*words, "--goto", f"{path}:{line}"]
    return [*words, f"{path}:{line}"] if name in COLON else [*words, f"+{line}", path]


def edit(app: App[Any], frame: Frame) -> str:
    """Runs the editor until the person leaves it, and says what went wrong; empty where nothing did."""
    try:
        words = command(os.environ, locate(frame.filename), frame.line)
        with app.suspend():
            code = _run(words)
    except (NotHere, NoEditor) as why:
        return str(why)
    except SuspendNotSupported:
        return "an editor can't be opened here"
    except OSError as error:
        return f"{words[0]}: {error.strerror}; VISUAL or EDITOR names another editor"
    return f"{words[0]} ended with {code}" if code else ""


def _run(words: list[str]) -> int:
    # ctrl+c in the editor reaches this process, too: not ignored, which the editor would inherit, but without effect.
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        return subprocess.call(words)
    finally:
        signal.signal(signal.SIGINT, before)
