"""Whole screens of the demos, as files in golden/. `GOLDEN=write` writes them anew; look at the difference first."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

import frtui.demo
from frtui.load import load
from frtui.tui.loader import Folder
from tests.tui.screens import opened, press, text
from tests.view import golden

GOLDEN = Path(__file__).parent / "golden"
PAGES = {"m": "matrix", "t": "times", "w": "waits", "a": "aligned", "x": "across", "question_mark": "help"}
SIZES = [(80, 24), (120, 40), (200, 50)]


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("demo", ["idle", "loader", "tutorial"])
async def test_whole_screens(demo: str, size: tuple[int, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pages of the tutorial's job, too, and the help."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(Path(frtui.demo.__file__).parent / demo, demo)
    stamp(Path(demo))
    async with opened(demo, Folder(demo, None, None), size) as pilot:
        parts = [text(pilot)]
        for key, name in PAGES.items() if demo == "tutorial" else ():
            parts.append(f"== {name}\n{await press(pilot, key)}")
    told = "\n".join(parts)
    assert all(len(line) <= size[0] for line in told.splitlines())
    golden.check(f"{demo}-{size[0]}x{size[1]}", told + "\n", GOLDEN)


def stamp(folder: Path) -> None:
    """A dump was written when its file says, which another checkout changes: here, a minute after the last call."""
    created = max(max(rank.entries.created) for rank in load(folder).ranks.values())
    for file in folder.iterdir():
        os.utime(file, (created / 1e9 + 60,) * 2)
