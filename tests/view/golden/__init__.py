"""Whole panes as files beside this one. `GOLDEN=write` writes them anew; look at the difference before you keep it."""

from __future__ import annotations

import os
from pathlib import Path

FOLDER = Path(__file__).parent


def check(name: str, shown: str, folder: Path = FOLDER) -> None:
    file = folder / f"{name}.txt"
    if os.environ.get("GOLDEN") == "write":
        file.write_text(shown, encoding="utf-8")
    assert shown == file.read_text(encoding="utf-8")
