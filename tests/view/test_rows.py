"""Cutting, padding and wrapping by columns, and lines that keep their keys."""

from __future__ import annotations

import pytest

from frtui.view.ordered import Picked
from frtui.view.rows import Keyed, Page, cells, cut, cut_left, pad, wrap


@pytest.mark.parametrize("text", ["plain", "層層層層", "é́x", "a層b層", ""])
@pytest.mark.parametrize("width", [0, 1, 2, 3, 5, 9])
def test_every_way_of_fitting_keeps_the_width(text: str, width: int) -> None:
    assert cells(cut(text, width)) <= width
    assert cells(cut_left(text, width)) <= width
    assert cells(pad(text, width)) == width


def test_cut_keeps_the_beginning_and_cut_left_the_end() -> None:
    assert cut("/home/user/layers.py:60", 8) == "/home/u…"
    assert cut_left("/home/user/layers.py:60", 13) == "…layers.py:60"


def test_wrap_loses_nothing() -> None:
    text = "rank 2 gives [4096] where 層層層層層層層層 gives [4128]"
    lines = wrap(text, 20)
    assert " ".join(lines) == text
    assert all(cells(line) <= 20 for line in lines)


def test_picked_lines_keep_their_keys() -> None:
    rows = Keyed([10, 20, 30, 40], lambda key, width: [(f"row {key}", "plain")])
    picked = Picked(rows, [1, 3])
    assert [picked.key(i) for i in range(len(picked))] == [20, 40]
    assert picked.text(1) == "row 40"
    assert [picked.position(key) for key in (20, 30, 40, 99)] == [0, 1, 1, 1]


def test_a_page_is_laid_out_for_each_width_and_copied_whole() -> None:
    page = Page(lambda width: [[(cut("/a/very/long/path.py:60", width), "plain")]])
    page.fit(8)
    assert page.line(0, 8) == [("/a/very…", "plain")]
    assert page.text(0) == "/a/very/long/path.py:60"
