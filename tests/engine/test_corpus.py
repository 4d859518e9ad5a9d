"""Labelled dumps that others made, beside the project where it is developed; elsewhere these tests skip."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.corpus import CORPUS, needed


@needed
@pytest.mark.parametrize(("part", "floor"), [("simulated", 0.95), ("real", 1.0)])
def test_scores(part: str, floor: float, tmp_path: Path) -> None:
    cases = shutil.copytree(CORPUS / part, tmp_path / part, copy_function=shutil.copy)
    command = f"{sys.executable} -m frtui report {{dir}} --format json"
    # The scorer sets each file's mtime to the time of its dump, so it works on the copy.
    run = subprocess.run(
        [sys.executable, str(CORPUS / "score.py"), "-v", "--json", str(cases), "--cmd", command],
        capture_output=True,
        text=True,
        check=True,
    )
    total = json.loads(run.stdout.splitlines()[-1])
    assert total["ok"] >= floor * total["n"], run.stdout
    assert min(total["seq"], total["site"]) >= 0.9 * total["n"], run.stdout
