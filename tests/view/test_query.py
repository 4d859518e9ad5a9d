"""Find and filter."""

from __future__ import annotations

from pathlib import Path

import pytest

from frtui.view import fields, query
from frtui.view.panes import Panes
from frtui.view.rows import Keyed, Rows, plain
from tests.view import jobs


@pytest.fixture
def panes(tmp_path: Path) -> Panes:
    return jobs.panes(tmp_path)


def kept(panes: Panes, name: str, text: str) -> list[int]:
    now = panes.first()
    rows = panes.pane(name, now).rows
    result = [r for r in query.pick(rows, query.line_test(rows, text, panes.values(name, now))) if r is not None]
    return [rows.key(i) for i in result[0]]


@pytest.mark.parametrize(
    ("text", "ranks"),
    [
        ("rank:2", [2]),
        ("rank:1-3", [1, 2, 3]),
        ("group:tp:7", [2, 3]),
        ("state:open", [0, 1, 2, 3]),
        ("blamed", [2]),
        ("!waits", [2, 4]),
        ("group:tp !rank:3", [0, 1, 2]),
        ("nothing like it", []),
    ],
)
def test_ranks_are_filtered_by_fields_and_text(panes: Panes, text: str, ranks: list[int]) -> None:
    assert sorted(kept(panes, "ranks", text)) == ranks


def test_calls_are_filtered(panes: Panes) -> None:
    rows = list(panes.index.rows(2, panes.first().group))
    assert kept(panes, "calls", "state:open") == rows[-1:]
    assert kept(panes, "calls", "state:done op:all_reduce") == rows[:-1]
    assert kept(panes, "calls", "#4") == [row for row in rows if panes.job.call(2, row).seq == 4]


def test_groups_are_filtered(panes: Panes) -> None:
    labels = [panes.job.groups[n].label for n in kept(panes, "groups", "rank:3")]
    assert sorted(labels) == ["default_pg", "tp:7"]


@pytest.mark.parametrize(
    ("pane", "text", "left"),
    [
        ("calls", "seq:>4", 2),
        ("calls", "seq:2-3,5", 3),
        ("calls", "seq:<=1", 1),
        ("calls", "slower:1ms", 5),
        ("calls", "slower:2ms", 0),
        ("calls", "!slower:1ms !state:open", 0),
        ("calls", "!state:done", 1),
        ("calls", "!done", 1),
        ("calls", "op:all_reduce group:tp rank:2 seq:<3", 2),
        ("ranks", "seq:2", 2),
        ("ranks", "op:all_reduce rank:>=3", 1),
        ("ranks", "state:no", 1),
        ("groups", "seq:>2 state:open", 1),
        ("groups", "rank:4", 1),
    ],
)
def test_fields_hold_numbers_ranges_and_times(panes: Panes, pane: str, text: str, left: int) -> None:
    assert fields.complaint(panes.index, pane, text) == ""
    assert len(kept(panes, pane, text)) == left


@pytest.mark.parametrize(
    ("pane", "text", "told"),
    [
        ("ranks", "rnk:2", "unknown field rnk; there are: rank, state, op, group, seq"),
        ("calls", "!sloer:1s", "unknown field sloer; there are: rank, state, op, group, seq, slower"),
        ("groups", "slower:1s", "Groups have no field slower; there are: rank, state, group, seq"),
        ("ranks", "rank:two", "rank:two can't be read; write for example rank:2, rank:2-5 or rank:>7"),
        ("calls", "seq:8-", "seq:8- can't be read; write for example seq:85, seq:80-90 or seq:>80"),
        ("calls", "slower:5", "slower:5 can't be read; write for example slower:1s or slower:250ms"),
        ("calls", "state:", "state: what? For example state:open or state:done"),
    ],
)
def test_a_filter_that_cannot_be_meant_is_refused(panes: Panes, pane: str, text: str, told: str) -> None:
    assert fields.complaint(panes.index, pane, text) == told


@pytest.mark.parametrize("text", ["tp:7", "layers.py:60", "std::vector", "#6", "TP:7 !waits", "14:13", ""])
def test_text_with_a_colon_is_text(panes: Panes, text: str) -> None:
    assert fields.complaint(panes.index, "ranks", text) == ""
    assert fields.complaint(panes.index, "call", "rnk:2") == "", "a pane without fields"


def numbers(n: int) -> Rows:
    return Keyed(range(n), lambda key, width: [(f"line {key} [x]", "plain")])


def test_search_goes_round_in_both_directions() -> None:
    rows = numbers(5)
    assert list(query.search(rows, query.pattern("line [13]"), 3, 1)) == [1]
    assert list(query.search(rows, query.pattern("line [13]"), 1, -1)) == [3]
    assert list(query.search(rows, query.pattern("nine"), 0, 1)) == []


def test_search_yields_between_slices() -> None:
    steps = list(query.search(numbers(query.SLICE * 3), query.pattern("nine"), 0, 1))
    assert steps == [None] * 3


def test_a_pattern_is_a_regex_or_plain_text_and_case_counts_when_used() -> None:
    assert query.pattern("operator[]").search("std::operator[](int)")
    assert query.pattern("abc").search("xABCx")
    assert not query.pattern("Abc").search("xABCx")


def test_marks_fall_on_what_was_found() -> None:
    marked = query.mark([("ab", "dim"), ("cd", "bold")], query.pattern("bc"))
    assert marked == [("a", "dim"), ("b", "find"), ("c", "find"), ("d", "bold")]
    assert plain(marked) == "abcd"
