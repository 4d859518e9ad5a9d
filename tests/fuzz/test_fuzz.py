"""A few of the cases, the same each time: `python -m tests.fuzz` has more of them."""

from __future__ import annotations

import io
from pathlib import Path
from random import Random

import pytest

from tests.fuzz import cases, mutate, parent, seeds, whole
from tests.fuzz.child import one


def test_some_cases(tmp_path: Path) -> None:
    done = parent.run(seed=7, seconds=120, most=60, keep=tmp_path, out=io.StringIO())
    assert done.found == []
    assert done.cases == 60


def test_a_case_is_the_same_each_time() -> None:
    made = [[cases.mutated(Random(f"1/{number}")) for number in range(40)] for _ in range(2)]
    assert made[0] == made[1]
    assert len(set(made[0])) > 35


def test_what_is_found_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise whole.Broken("as a test")

    monkeypatch.setattr(whole, "check", fails)
    found = one(1, 2, tmp_path)
    assert found is not None
    assert "as a test" in found.told
    assert (tmp_path / "seed1-case2" / "TOLD.txt").read_text() == found.told


@pytest.mark.parametrize("text", ["a\x1b[0m", "\u202e", "a\tb", "\ud800"])
def test_what_is_not_safe_is_seen(text: str) -> None:
    with pytest.raises(whole.Broken):
        whole.safe("a text", text)


@pytest.mark.parametrize("html", ["<script>", '<img src="x">', '<p onclick="x">', '<a href="x">', '<p style="x">'])
def test_html_that_loads_or_runs_something_is_seen(html: str) -> None:
    with pytest.raises(whole.Broken):
        whole.Page().feed(html)


def test_opcodes_together_are_the_pickle() -> None:
    for data in seeds.demos():
        assert b"".join(mutate.opcodes(data)) == data
