"""Two million calls: only the lines that are asked for are made."""

from __future__ import annotations

import pytest

from frtui.model import Job
from frtui.view.panes import Panes
from frtui.view.select import Selection
from tests.view import jobs

CALLS = 2_000_000


def test_a_pane_of_two_million_lines_makes_objects_only_for_the_lines_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    panes = Panes(jobs.huge(CALLS), ())
    made: list[int] = []
    original = Job.call

    def counted(self: Job, rank: int, row: int):  # type: ignore[no-untyped-def]
        made.append(row)
        return original(self, rank, row)

    monkeypatch.setattr(Job, "call", counted)
    rows = panes.pane("calls", Selection(rank=0)).rows
    assert len(rows) == CALLS
    assert not made
    assert "#1000001" in rows.text(1_000_000)
    assert set(made) == {1_000_000}
    assert rows.position(1_999_999) == 1_999_999
