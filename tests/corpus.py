"""Labelled dumps, simulated and real, beside the repository. It does without them: then these tests skip."""

from __future__ import annotations

from pathlib import Path

import pytest

CORPUS = Path(__file__).parents[2] / "shared" / "corpus"
needed = pytest.mark.skipif(not CORPUS.is_dir(), reason="no ../shared/corpus beside the project")


def cases() -> list[Path]:
    """The folder of each job; at least one, or a loop over them would test nothing."""
    found = sorted(path for path in CORPUS.glob("*/*") if path.is_dir())
    assert found
    return found
