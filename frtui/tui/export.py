"""The selected finding, or the whole report, as a file. `frtui report` prints the same bytes."""

from __future__ import annotations

import re
from pathlib import Path

from frtui.report import render
from frtui.view.panes import Panes
from frtui.view.select import MISSING, PROBLEMS, Selection

FORMATS = {".md": "markdown", ".txt": "text", ".json": "json", ".html": "html"}
"""By the ending of a file's name; any other is Markdown."""


def chosen(now: Selection) -> int | None:
    """The finding that is written; None: all, for the cursor stands on what was read."""
    return None if now.topic in (PROBLEMS, MISSING) else now.finding


def default_name(panes: Panes, now: Selection) -> str:
    """`./frtui-<folder>-<kind>.md`, numbered where such a file exists."""
    folder, number = Path(panes.job.source).resolve().name, chosen(now)
    kind = panes.findings[number].kind if number is not None else "report"
    # Names that come from files are cut: a file system takes 255 bytes, and letters may take 4 each.
    stem = "-".join(["frtui", *(re.sub(r"[^\w.-]+", "_", part)[:24] or "job" for part in (folder, kind))])
    for n in range(1, 1000):
        name = f"./{stem}{'' if n == 1 else f'-{n}'}.md"
        if not Path(name).exists():
            return name
    return f"./{stem}-new.md"


def write(panes: Panes, now: Selection, name: str) -> str:
    """Writes the report and returns its path. Raises OSError; a file that exists is never replaced."""
    try:
        path = Path(name).expanduser()
    except RuntimeError as error:  # the home of a user that there is not
        raise OSError(str(error)) from None
    told = render(panes.job, panes.findings, FORMATS.get(path.suffix.lower(), "markdown"), only=chosen(now))
    with path.open("xb") as file:
        file.write(told)
    return str(path.resolve())
