"""docs/parity.md says what both tools do, and names all that torchfrtrace can be asked."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

if importlib.util.find_spec("torch") is None:
    pytest.skip("torch is not installed", allow_module_level=True)

from tests.parity.__main__ import BLOCK, PAGE, ROOT, Outcome, Outcomes, all_of, options, tables
from tests.parity.cases import CASES, FILES, JOBS, Case

NAMES = [case.name for case in CASES]
WORSE = {"finished", "rewritten"}
"""Where frtui does not name the rank: all of it is in the page, under "Where torchfrtrace does more"."""


@pytest.fixture(scope="module")
def outcomes() -> dict[str, Outcomes]:
    return all_of(CASES)


@pytest.fixture
def ours(outcomes: dict[str, Outcomes], case: Case) -> Outcome:
    return outcomes[case.name][1]


def test_the_page_has_the_tables_that_the_script_prints(outcomes: dict[str, Outcomes]) -> None:
    found = BLOCK.search(PAGE.read_text(encoding="utf-8"))
    assert found
    assert found[2] == tables(outcomes), "python -m tests.parity --write"


def test_the_page_names_every_option_of_torchfrtrace() -> None:
    table = PAGE.read_text(encoding="utf-8").partition("## Options")[2].partition("\n## ")[0]
    named = {name for row in table.splitlines() for name in re.findall(r"`([\w-]+)`", row.split(" | ")[0])}
    assert set(options()) <= named


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_frtui_ends_as_documented_and_says_what_it_should(case: Case, ours: Outcome) -> None:
    assert (ours.code, ours.crashed) == (case.code, False)
    assert case.says in ours.text or case.says in ours.line


@pytest.mark.parametrize("case", [case for case in (*FILES, *JOBS) if case.truth is not None], ids=lambda c: c.name)
def test_frtui_names_the_true_ranks(case: Case, ours: Outcome) -> None:
    assert ours.right(case) == (case.name not in WORSE)


def test_only_torchfrtrace_runs_what_a_pickle_says(outcomes: dict[str, Outcomes]) -> None:
    torch, ours, _ = outcomes["global"]
    assert (torch.ran, ours.ran) == (True, False)


def test_only_torchfrtrace_sends_the_escape_codes_of_a_dump_to_the_terminal(
    outcomes: dict[str, Outcomes], tmp_path: Path
) -> None:
    assert "\x1b[2J" in outcomes["markup"][0].text
    next(case for case in CASES if case.name == "markup").make(tmp_path / "dumps")
    for command in ("report", "entries"):
        ours = [sys.executable, "-m", "frtui", command, str(tmp_path / "dumps")]
        printed = subprocess.run(ours, cwd=ROOT, capture_output=True, timeout=60, check=False).stdout
        assert b"dp" in printed
        assert b"\x1b" not in printed


def test_both_write_the_flat_database(outcomes: dict[str, Outcomes]) -> None:
    assert all(done.wrote for done in outcomes["-o"][:2] if done)
