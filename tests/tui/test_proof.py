"""From a finding to what proves it and back: who waits for whom, and the calls beside those of the witnesses."""

from __future__ import annotations

from pathlib import Path

import pytest

from frtui.view.select import ALIGNED, CALL, WAITS
from tests.tui.screens import focused, main, opened, pane, press, ready, text
from tests.view import proof_jobs
from tests.view.test_proof import WIDTHS


async def test_from_the_finding_along_the_waits_and_back(tmp_path: Path) -> None:
    panes = proof_jobs.panes(tmp_path, proof_jobs.JOBS["not-joined"]())
    async with opened("job", ready(panes), (80, 24)) as pilot:
        first = main(pilot).trail.now
        await press(pilot, "w")
        assert (focused(pilot), main(pilot).trail.now.topic) == ("call", WAITS)
        assert pane(pilot, "call")[2].startswith("✗ rank 5 is in no call")
        await press(pilot, "j", "j", "enter")
        now = main(pilot).trail.now
        assert (now.topic, now.rank, now.row) == (CALL, 0, panes.index.ends(0).open[now.group or 0])
        assert "all_reduce  dp" in pane(pilot, "call")[1]
        await press(pilot, "escape")
        assert main(pilot).trail.now.topic == WAITS
        before = len(main(pilot).desk.pane("call").rows)
        await press(pilot, "c")
        assert (main(pilot).trail.now.topic, main(pilot).trail.now.unfolded) == (WAITS, True)
        assert len(main(pilot).desk.pane("call").rows) > before
        await press(pilot, "escape")
        assert main(pilot).trail.now == first


async def test_from_the_finding_to_the_alignment_and_back(tmp_path: Path) -> None:
    panes = proof_jobs.panes(tmp_path, proof_jobs.JOBS["skipped-call"]())
    async with opened("job", ready(panes), (80, 24)) as pilot:
        first = main(pilot).trail.now
        await press(pilot, "a")
        assert "rank 1 left this call out" in text(pilot)
        await press(pilot, "enter")
        now = main(pilot).trail.now
        assert (now.topic, now.rank) == (CALL, 0), "the witness' call: the blamed rank made none"
        assert pane(pilot, "call")[1].endswith("rank 0")
        await press(pilot, "escape")
        assert main(pilot).trail.now.topic == ALIGNED
        await press(pilot, "w")
        assert main(pilot).trail.now.topic == WAITS
        await press(pilot, "escape")
        assert main(pilot).trail.now == first


@pytest.mark.parametrize(("size", "zoom", "width"), [((80, 24), "", 0), ((120, 40), "", 0), ((200, 50), "", 1)])
async def test_the_pane_has_the_width_that_the_pages_are_checked_at(
    tmp_path: Path, size: tuple[int, int], zoom: str, width: int
) -> None:
    panes = proof_jobs.panes(tmp_path, proof_jobs.JOBS["skipped-call"]())
    async with opened("job", ready(panes), size) as pilot:
        await press(pilot, "a")
        assert main(pilot).desk.pane("call").size.width == WIDTHS[width]
        assert "rank 1 left this call out" in text(pilot)
