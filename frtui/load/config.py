"""`pg_config` and `pg_status`: what a rank says of its groups, beside its entries."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from frtui.load.columns import Faults, integer
from frtui.load.limits import Budget, text
from frtui.load.names import MAX_RANK
from frtui.model import NONE, Status

GroupName = tuple[str, str]
"""(name, desc) as entries spell it."""


def as_dict(value: object) -> dict[Any, Any]:
    return value if isinstance(value, dict) else {}


def config(value: object, faults: Faults, budget: Budget) -> dict[GroupName, tuple[int, ...]]:
    """`pg_config`: {name: {name, desc, ranks: "[0, 1]"}}, or {pg_id: [0, 1]} in version 1.4.

    gloo writes one group under the name '' and without, or with other groups', members: no use.
    """
    groups: dict[GroupName, tuple[int, ...]] = {}
    for key, item in as_dict(value).items():
        desc: object = ""
        ranks = item
        if isinstance(item, dict):
            key, desc, ranks = item.get("name", key), item.get("desc", ""), item.get("ranks")
        members = _members(ranks, budget)
        if members is None:
            faults.add("the ranks of a group in pg_config are no list of ranks")
        elif not isinstance(key, (str, int)):  # anything else may be endless when it is written out
            faults.add("the name of a group in pg_config is no text")
        elif members and key != "":
            groups[text(str(key)), text(desc) if isinstance(desc, str) else ""] = members
    return groups


def _members(ranks: object, budget: Budget) -> tuple[int, ...] | None:
    """Ranks from a list of them, or from its text; None when it is neither."""
    if isinstance(ranks, str):
        members = _members_in(ranks)
        budget.spend(len(members or ()))
        return members
    if not isinstance(ranks, (list, tuple)):
        return None
    budget.spend(len(ranks))
    return _valid(ranks)


def _valid(ranks: list[Any] | tuple[Any, ...]) -> tuple[int, ...] | None:
    if not all(isinstance(r, int) and 0 <= r <= MAX_RANK for r in ranks):
        return None
    return tuple(dict.fromkeys(ranks))


@lru_cache(maxsize=1024)  # every rank repeats the list of all ranks: a million numbers in a job of 1,024
def _members_in(written: str) -> tuple[int, ...] | None:
    return _valid([int(digits) for digits in re.findall(r"-?\d{1,20}", written)])


def status(value: object, faults: Faults) -> dict[int, Status]:
    """`pg_status` by pg_id; in JSON the numbers are strings."""
    found: dict[int, Status] = {}
    for key, item in as_dict(value).items():
        pg_id = integer(key, "a key of pg_status", faults)
        if pg_id >= 0 and isinstance(item, dict):
            words = ("last_enqueued_collective", "last_started_collective", "last_completed_collective")
            found[pg_id] = Status(*(max(integer(item.get(word), word, faults), NONE) for word in words))
    return found
