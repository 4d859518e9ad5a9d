"""Dumps in, findings out: the whole way through real files."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from frtui.engine import Finding, diagnose
from frtui.load import load
from tests.dumps import write

Judge = Callable[..., list[Finding]]


@pytest.fixture
def judge(tmp_path: Path) -> Judge:
    """Write one dump per rank, read them back, and say what the engine finds.

    `dumped_s` sets the files' mtime to so many seconds after the newest entry; without it the files are
    as new as the test, that is, much later.
    """

    def judge(ranks: Mapping[int, Any], dumped_s: float | None = None) -> list[Finding]:
        folder = write(tmp_path / "dumps", ranks)
        if dumped_s is not None:
            newest = max(e["time_created_ns"] for raw in ranks.values() for e in raw["entries"])
            at = newest + int(dumped_s * 1e9)
            for file in folder.iterdir():
                os.utime(file, ns=(at, at))
        return diagnose(load(folder))

    return judge
