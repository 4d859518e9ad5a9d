"""The fields that a filter may name, what the lines of each pane have in them, and what is wrong with a filter."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Callable, Optional, Union

from frtui.model import NONE
from frtui.view import ranks
from frtui.view.durations import measures, took
from frtui.view.index import Index
from frtui.view.lacking import MISSING_ROW
from frtui.view.words import operation, state

Value = Union[str, Sequence[int], float]
"""Text holds any part of itself; of several numbers one must be meant; of a time, it must be exceeded."""
Values = Callable[[int, str], Optional[Value]]

OF_PANE = {
    "ranks": ("rank", "state", "op", "group", "seq"),
    "groups": ("rank", "state", "group", "seq"),
    "calls": ("rank", "state", "op", "group", "seq", "slower"),
}
NUMBERS = ("rank", "seq")

_RANGE = re.compile(r"(\d{1,18})(?:-(\d{1,18}))?|([<>]=?)(\d{1,18})")
_TIME = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)(us|ms|s|m|min|h)")
_MS = {"us": 0.001, "ms": 1, "s": 1000, "m": 60_000, "min": 60_000, "h": 3_600_000}


def condition(field: str, wanted: str) -> Callable[[Value], bool] | None:
    """What a field's value must satisfy; None where there is no such field, or `wanted` cannot be read."""
    if field in NUMBERS:
        return in_range(wanted)
    if field == "slower":
        time = _TIME.fullmatch(wanted)
        most = float(time[1]) * _MS[time[2]] if time else 0.0
        return (lambda value: isinstance(value, float) and value > most) if time else None
    return (lambda value: wanted in str(value).lower()) if field in ("state", "op", "group") else None


def in_range(wanted: str) -> Callable[[Value], bool] | None:
    """`12`, `2-5`, `>80`, `<=80`; several with commas."""
    found = [_RANGE.fullmatch(part) for part in wanted.split(",")]
    bounds = [bound(part) for part in found if part]
    if len(bounds) < len(found):
        return None

    def holds(value: Value) -> bool:
        numbers = value if isinstance(value, (tuple, list)) else ()
        return any(low <= number <= high for number in numbers for low, high in bounds)

    return holds


def bound(part: re.Match[str]) -> tuple[int, int]:
    if part[1]:
        return int(part[1]), int(part[2] or part[1])
    number, least, most = int(part[4]), 0, 1 << 62
    return {">": (number + 1, most), ">=": (number, most), "<": (least, number - 1), "<=": (least, number)}[part[3]]


def complaint(index: Index, pane: str, text: str) -> str:
    """What is wrong with a filter for a pane; empty where it is good. Names of groups and files may hold a colon."""
    there = OF_PANE.get(pane, ())
    names = {group.label.lower().partition(":")[0] for group in index.job.groups}
    for word in text.lower().split() if there else ():
        field, colon, wanted = word.lstrip("!").partition(":")
        if not colon or not field.isalpha() or wanted.startswith(":"):
            continue
        if field in there and not wanted:
            return f"{field}: what? For example {EXAMPLES[field]}"
        if field in there and condition(field, wanted) is None:
            return f"{field}:{wanted} can't be read; write for example {EXAMPLES[field]}"
        if field in EXAMPLES and field not in there:
            return f"{pane.capitalize()} have no field {field}; there are: {', '.join(there)}"
        if field not in there and field not in names:
            return f"unknown field {field}; there are: {', '.join(there)}"
    return ""


EXAMPLES = {
    "rank": "rank:2, rank:2-5 or rank:>7",
    "state": "state:open or state:done",
    "op": "op:all_reduce",
    "group": "group:tp",
    "seq": "seq:85, seq:80-90 or seq:>80",
    "slower": "slower:1s or slower:250ms",
}


def of_calls(index: Index, rank: int) -> Values:
    """Fields of the calls of one rank."""
    e = index.job.ranks[rank].entries
    measured: list[bool] = []

    def value(row: int, field: str) -> Value | None:
        if row == MISSING_ROW:  # not made: its line's text says what it is
            return None
        if field == "slower":
            measured.append(measured[0] if measured else measures(e))
            return took(e, [row], measured[0])[0]
        if field == "seq":
            return (e.p2p_seq[row] if e.p2p[row] else e.seq[row],)
        if field == "rank":
            return (rank,)
        if field == "group":
            return index.job.groups[e.group[row]].label
        call = index.job.call(rank, row)
        if field == "op":
            return operation(index.job, call.group, call.signature)
        word = state(call, index.ends(rank).open.get(call.group, NONE))[1]
        return word if call.done else f"open {word}"

    return value


def of_ranks(index: Index) -> Values:
    """Fields of the ranks: the call is the one that the line tells of."""

    def value(rank: int, field: str) -> Value | None:
        if field == "rank":
            return (rank,)
        if field == "group":
            return " ".join(index.job.groups[group].label for group in index.groups_of(rank))
        if rank not in index.job.ranks:
            return "no dump" if field == "state" else ""
        if field == "state":
            return "open" if index.ends(rank).open else "done"
        number, op, _ = ranks.standing(index, rank)
        return op if field == "op" else (int(number.strip("p#")),) if number else ()

    return value


def of_groups(index: Index) -> Values:
    def value(group: int, field: str) -> Value | None:
        if field == "rank":
            return index.job.groups[group].ranks
        if field == "group":
            return index.job.groups[group].label
        frontier = index.frontier(group)
        return ("open" if frontier.open else "done") if field == "state" else (frontier.seq,)

    return value
