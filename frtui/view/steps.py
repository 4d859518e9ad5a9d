"""An alignment as steps: which calls of a rank and of its witness stand side by side, and where the two part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from frtui.engine.finding import Beside
from frtui.model import NONE
from frtui.view.words import DIFFERS

ONLY_LEFT, ONLY_RIGHT, LATER, SOONER, ALIKE = "<", ">", "↓", "↑", " "


class Step(NamedTuple):
    """What stands side by side: rows of the rank's and of the witness' entries; NONE: no call."""

    left: int
    right: int
    mark: str = ALIKE


class Steps(NamedTuple):
    all: list[Step]
    first: int
    """Of the parting; as many as there are steps where nothing comes after it."""
    last: int
    op: str
    """How they part: as in the edits, or `behind` or `ahead` where one side ends."""


def steps_of(beside: Beside) -> Steps:
    found: list[Step] = []
    first, last, op = NONE, NONE, ""
    for n, edit in enumerate(beside.edits):
        mine = [at(beside.rows, edit.i + k) for k in range({"skip": 0, "swap": 2}.get(edit.op, 1))]
        theirs = [at(beside.witness_rows, edit.j + k) for k in range({"extra": 0, "swap": 2}.get(edit.op, 1))]
        made = pairs(edit.op, mine, theirs)
        if n == beside.at:
            first, last, op = len(found), len(found) + max(0, len(made) - 1), edit.op
        found += made
    rest = remaining(beside)
    if first == NONE:
        first = last = len(found)
        op = "ahead" if rest and rest[0].left != NONE else "behind"
        rest = [step._replace(mark=ONLY_LEFT if op == "ahead" else ONLY_RIGHT) for step in rest[:1]] + rest[1:]
    return Steps(found + rest, first, last, op)


def at(rows: Sequence[int], n: int) -> int:
    """NONE after the last one: the engine goes on with what it expects, which nobody has done."""
    return rows[n] if n < len(rows) else NONE


def pairs(op: str, mine: list[int], theirs: list[int]) -> list[Step]:
    if op == "swap":
        return [Step(mine[0], theirs[0], LATER), Step(mine[1], theirs[1], SOONER)]
    if op == "skip":
        return [Step(NONE, row, ONLY_RIGHT) for row in theirs if row != NONE]
    if op == "extra" or (op == "replace" and theirs[0] == NONE):
        return [Step(mine[0], NONE, ONLY_LEFT)]
    return [Step(mine[0], theirs[0], DIFFERS if op == "replace" else ALIKE)]


def remaining(beside: Beside) -> list[Step]:
    """What the side that got further did after the other one ended."""
    i = j = 0
    if beside.edits:
        op, i, j = beside.edits[-1]
        i, j = i + {"skip": 0, "swap": 2}.get(op, 1), j + {"extra": 0, "swap": 2}.get(op, 1)
    return [Step(row, NONE) for row in beside.rows[i:]] + [Step(NONE, row) for row in beside.witness_rows[j:]]
