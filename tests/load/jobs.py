"""Are two jobs the same, to the last entry?"""

from __future__ import annotations

from dataclasses import fields

from frtui.model import Entries, Job, Rank


def columns(entries: Entries) -> dict[str, tuple[str, list[float]]]:
    return {name: (getattr(entries, name).typecode, list(getattr(entries, name))) for name, _ in Entries.COLUMNS}


def told(rank: Rank) -> dict[str, object]:
    values = {field.name: getattr(rank, field.name) for field in fields(Rank)}
    return {**values, "entries": columns(rank.entries)}


def assert_same(one: Job, other: Job) -> None:
    assert list(one.ranks) == list(other.ranks)
    for field in fields(Job):
        if field.name != "ranks":
            assert getattr(one, field.name) == getattr(other, field.name), field.name
    for rank, mine in one.ranks.items():
        assert told(mine) == told(other.ranks[rank])
