"""Jobs that the recorder left; and are two jobs the same, to the last entry?"""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

from frtui.model import Entries, Job, Rank
from tests.dumps import DEFAULT, dump, entry, write
from tests.recorded import recorded

RECORDED = {DEFAULT: (0, 1, 2, 3)}


def dumps(folder: Path, *ranks: int) -> Path:
    """Dumps of the recorder, as old as the rings that `tests.recorded.ring` makes."""
    return write(folder, {r: recorded(dump([entry(1)], pg_config=RECORDED), r) for r in ranks}, "rank_{}")


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
