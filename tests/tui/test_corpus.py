"""The first screen answers: on a small terminal it names the kind and the blamed ranks of any labelled case."""

from __future__ import annotations

from pathlib import Path
from typing import Callable

import pytest

from frtui.engine import diagnose
from frtui.load import load
from frtui.text import ranges
from frtui.view.panes import Panes
from tests import corpus
from tests.tui.screens import opened, text

CASES = sorted(corpus.CORPUS.glob("real/*.truth.json")) + sorted(corpus.CORPUS.glob("simulated/*-s[12].truth.json"))


def read(folder: Path) -> Panes:
    job = load(folder)
    return Panes(job, tuple(diagnose(job)))


@corpus.needed
@pytest.mark.parametrize("case", CASES, ids=lambda path: path.name.split(".truth")[0])
async def test_first_screen(case: Path) -> None:
    panes = read(case.with_name(case.name[: -len(".truth.json")]))
    finding = panes.findings[0]

    def reader(progress: Callable[..., None], cancelled: Callable[[], bool]) -> Panes:
        return panes

    async with opened(case, reader, size=(80, 24)) as pilot:
        shown = text(pilot)
    assert finding.kind in shown
    if finding.ranks:
        assert f"rank{'s' if len(finding.ranks) > 1 else ''} {ranges(finding.ranks)[:20]}" in shown
