"""Whole panes as files beside this one. `GOLDEN=write` writes them anew; look at the difference before you keep it."""

from __future__ import annotations

import os
from pathlib import Path

FOLDER = Path(__file__).parent


def check(name: str, shown: str) -> None:
    file = FOLDER / f"{name}.txt"
    if os.environ.get("GOLDEN") == "write":
        file.write_text(shown)
    assert shown == file.read_text()
