"""The page behind `m`: ranks by groups, and where each rank is in each. Ranks that look alike share a line."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from frtui.engine.finding import Finding
from frtui.model import NONE
from frtui.text import count, ranges
from frtui.view.columns import Column, columns
from frtui.view.index import Index
from frtui.view.listing import Listing
from frtui.view.rows import FULL, Line, cells, cut, flow, pad, plain, wrap
from frtui.view.select import Selection, selected, telling_row
from frtui.view.standing import BLAMED, MARKS, NO_DUMP, Standing, standings
from frtui.view.words import BAD, label

NAMES = 16
"""Columns that a group's name may take."""

Cell = tuple[Standing, int]
"""Where a rank is, and in which group; NONE where several ranks that share a line are in several groups."""


class Alike(NamedTuple):
    """Ranks that are equally far in all their groups."""

    ranks: tuple[int, ...]
    cells: tuple[Cell | None, ...]
    blamed: bool


class Matrix(Listing):
    def __init__(self, index: Index, findings: tuple[Finding, ...], now: Selection) -> None:
        self.index, self.standings, self.each = index, standings(index), now.unfolded
        finding = selected(findings, now)
        told = findings if finding is None else (finding, *findings)
        self.accused = {(rank, f.group) for f in findings for rank in f.ranks}
        self.blamed = frozenset(rank for rank, _ in self.accused)
        self.columns, self.left_out = columns(index, [f.group for f in told if f.group is not None])
        self.folds = {} if self.each else {fold.ranks[0]: fold for fold in self.fold(index.world)}
        self.fold_of = {rank: first for first, fold in self.folds.items() for rank in fold.ranks}
        self.widths: list[int] = []
        keys = index.world if self.each else list(self.folds)
        self.digits = max(4, *(len(str(rank)) for rank in index.world[-1:]))
        super().__init__(self.lay_out, keys, self.say, self.first_call)

    def cell(self, rank: int, column: Column) -> Cell | None:
        group = column.of.get(rank)
        if group is None:
            return None
        standing = self.standings.of(rank, group)
        blamed = standing.state != NO_DUMP and (rank, group) in self.accused
        return (standing._replace(state=BLAMED) if blamed else standing), group

    def fold(self, ranks: Iterable[int]) -> list[Alike]:
        """Ranks by where they are, the blamed ones first, then the fewest."""
        kinds: dict[tuple[object, ...], list[int]] = {}
        held: dict[tuple[object, ...], list[tuple[Cell | None, ...]]] = {}
        for rank in ranks:
            mine = tuple([self.cell(rank, column) for column in self.columns])
            key = (rank in self.blamed, *[found and found[0] for found in mine])
            kinds.setdefault(key, []).append(rank)
            held.setdefault(key, []).append(mine)
        found = [Alike(tuple(those), tuple(map(same, zip(*held[key]))), bool(key[0])) for key, those in kinds.items()]
        return sorted(found, key=lambda alike: (not alike.blamed, len(alike.ranks), alike.ranks))

    def lay_out(self, width: int) -> list[Line]:
        """What is said before the lines for ranks, which are made when they are seen."""
        self.links.clear()
        self.widths = [self.width_of(column) for column in self.columns]
        more = f"and {count(self.left_out, 'group')} more, which 3 Groups lists"
        return [[(part, "warn")] for part in wrap(more, width)] if self.left_out else []

    def head(self, width: int) -> list[Line]:
        marks = [f"{mark} {word}" for mark, word, _ in MARKS if mark != " "]
        zoom = "c folds ranks that are alike" if self.each else "c shows each rank"
        lines: list[Line] = [[(part, "dim")] for part in flow([*marks, zoom], width)]
        names = "".join(pad(label(c.name, w - 2), w) for c, w in zip(self.columns, self.widths))
        return [*lines, [(" " * (self.names(width) + 2) + names, "bold")]]

    def width_of(self, column: Column) -> int:
        name = cells(label(column.name, NAMES))
        own = 0 if column.single else 1 + max(cells(self.own(group)) for group in set(column.of.values()))
        return max(name, 2 + self.index.number_width + own) + 2

    def own(self, group: int) -> str:
        """Of a group that shares its column, what tells it from the others."""
        name = self.index.job.groups[group].label.rpartition(":")[2]
        return ":" + cut(name, 8)

    def names(self, width: int) -> int:
        """Columns for the ranks of a line."""
        if self.each:
            return 2 + len("rank ") + self.digits
        longest = max((cells(self.said(fold.ranks)) for fold in self.folds.values()), default=0)
        return 2 + min(longest, max(12, min(40, width // 3)))

    def said(self, ranks: tuple[int, ...]) -> str:
        return ("rank " if len(ranks) == 1 else f"{len(ranks):,} ranks ") + ranges(list(ranks))

    def say(self, key: int, width: int) -> Line:
        fold = self.alone(key) if self.each else self.folds[key]
        name, role = self.said(fold.ranks), "bad" if fold.blamed else "plain"
        line: Line = [((BAD if fold.blamed else " ") + " ", "bad"), (pad(name, self.names(width) - 2) + "  ", role)]
        for column, cell, room in zip(self.columns, fold.cells, self.widths):
            line += self.say_cell(column, cell, room)
        return line

    def say_cell(self, column: Column, cell: Cell | None, room: int) -> Line:
        if cell is None:
            return [(" " * room, "plain")]
        (standing, group), (mark, word, role) = cell, MARKS[cell[0].state]
        own = " " + self.own(group) if group != NONE and not column.single else ""
        free = room - cells(own) - 2
        word = word if cells(word) + 2 <= free else ""  # the glyph says it, too
        return [(pad(f"{mark} {standing.number or word}", free), role), (own + "  ", "dim")]

    def alone(self, rank: int) -> Alike:
        return Alike((rank,), tuple(self.cell(rank, column) for column in self.columns), rank in self.blamed)

    def whole(self) -> list[str]:
        return [plain(line).rstrip() for line in self.head(FULL)] + super().whole()

    def position(self, key: int) -> int:
        return super().position(self.fold_of.get(key, key))

    def first_call(self, key: int) -> tuple[int, int] | None:
        """The open, else the last call of the line's first rank."""
        row = telling_row(self.index, key, None)
        return None if row is None else (key, row)


def same(found: tuple[Cell | None, ...]) -> Cell | None:
    """One cell for ranks that are equally far: with their group, where they have one in common."""
    first = found[0]
    if first is None:
        return None
    return first[0], first[1] if all(cell and cell[1] == first[1] for cell in found) else NONE


def matrix(index: Index, findings: tuple[Finding, ...], now: Selection) -> Matrix | None:
    return Matrix(index, findings, now) if index.world else None
