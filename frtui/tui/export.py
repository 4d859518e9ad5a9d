"""The selected finding as a file."""

from __future__ import annotations

import re
from pathlib import Path

from frtui.report import render
from frtui.view.panes import Panes
from frtui.view.select import Selection


def default_name(panes: Panes, now: Selection) -> str:
    """`./frtui-<folder>-<kind>.md`, numbered where such a file exists."""
    folder = Path(panes.job.source).resolve().name
    kind = panes.findings[now.finding].kind if now.finding is not None else "report"
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
    told = render(panes.job, list(panes.findings), "markdown", only=now.finding)
    with path.open("xb") as file:
        file.write(told)
    return str(path.resolve())
