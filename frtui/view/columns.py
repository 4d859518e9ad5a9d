"""The columns of the matrix: groups that share no rank and are of one kind stand in one column."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from frtui.model import Group
from frtui.text import count
from frtui.view.index import Index

MOST = 32
"""Columns; more are told of by their number."""


class Column(NamedTuple):
    name: str
    of: dict[int, int]
    """By rank, its group in this column."""
    single: bool
    """It stands for one group, not for one of each kind."""


def columns(index: Index, first: Iterable[int]) -> tuple[list[Column], int]:
    """The columns, those of the groups named in `first` first, then by how many of the members are stuck there.

    And how many groups found no place.
    """
    groups = index.job.groups
    stuck: dict[int, int] = {}
    for rank in index.job.ranks:
        for number in index.ends(rank).open:
            stuck[number] = stuck.get(number, 0) + 1
    ahead = {number: n for n, number in enumerate(dict.fromkeys(first))}
    by_kind: dict[str, list[int]] = {}
    for number, group in enumerate(groups):
        by_kind.setdefault(kind(group), []).append(number)
    packed = [column for name, numbers in by_kind.items() for column in pack(groups, name, numbers)]

    def weight(column: tuple[str, list[int]]) -> tuple[int, int, int]:
        return (
            min(ahead.get(n, len(groups)) for n in column[1]),
            -sum(stuck.get(n, 0) for n in column[1]),
            min(column[1]),
        )

    packed.sort(key=weight)
    shown = packed[:MOST]
    return [made(groups, *column) for column in shown], sum(len(numbers) for _, numbers in packed[MOST:])


def kind(group: Group) -> str:
    """What groups in one column have in common: their description, else their size."""
    return group.desc if group.desc and group.desc != "undefined" else f"of {count(len(group.ranks), 'rank')}"


def pack(groups: Sequence[Group], name: str, numbers: list[int]) -> list[tuple[str, list[int]]]:
    """Groups of one kind in as few columns as it takes for no rank to be in two groups of a column."""
    found: list[tuple[set[int], list[int]]] = []
    for number in numbers:
        members = groups[number].ranks
        # A look at the first columns only: groups that overlap in many ways get a column each.
        place = next((held for held in found[:MOST] if held[0].isdisjoint(members)), None)
        if place is None:
            found.append((set(members) if len(found) < MOST else set(), [number]))
        else:
            place[0].update(members)
            place[1].append(number)
    return [(name, held) for _, held in found]


def made(groups: Sequence[Group], name: str, numbers: list[int]) -> Column:
    label = groups[numbers[0]].label if len(numbers) == 1 else name
    return Column(label, {rank: number for number in numbers for rank in groups[number].ranks}, len(numbers) == 1)
