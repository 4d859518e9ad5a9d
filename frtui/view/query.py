"""Find and filter: what the person types, as tests of a line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Callable

from frtui.model import NONE
from frtui.view.index import Index
from frtui.view.rows import Line, Rows
from frtui.view.words import named, state

SLICE = 200
"""Lines that are looked at before the screen may draw again."""

FIELDS = ("rank", "state", "op", "group")
Test = Callable[[int], bool]
"""Of a line number."""


def pattern(text: str) -> re.Pattern[str]:
    """A regular expression where `text` is one, else the text itself; a capital makes case count."""
    flags = 0 if any(c.isupper() for c in text) else re.IGNORECASE
    try:
        return re.compile(text, flags)
    except re.error:
        return re.compile(re.escape(text), flags)


def search(rows: Rows, wanted: re.Pattern[str], start: int, step: int) -> Iterator[int | None]:
    """The next line that matches after `start`, going round; None now and then, to let others work."""
    size = len(rows)
    for n in range(1, size + 1):
        i = (start + n * step) % size
        if wanted.search(rows.text(i)):
            yield i
            return
        if n % SLICE == 0:
            yield None


def scan(size: int, test: Test, start: int, step: int) -> Iterator[int | None]:
    """As `search`, but stops at the ends."""
    i, n = start + step, 0
    while 0 <= i < size:
        if test(i):
            yield i
            return
        i, n = i + step, n + 1
        if n % SLICE == 0:
            yield None


def pick(rows: Rows, test: Test) -> Iterator[list[int] | None]:
    """All lines that pass, at last; None now and then."""
    kept: list[int] = []
    for i in range(len(rows)):
        if test(i):
            kept.append(i)
        if i % SLICE == SLICE - 1:
            yield None
    yield kept


def line_test(rows: Rows, text: str, values: Callable[[int, str], str | None]) -> Test:
    """All words must hold: `rank:2`, `state:open`, `op:all_reduce`, `group:tp`, or plain text.

    `values(key, field)` says what a line has in a field; None where the pane has no such field, and
    then the word is looked for in the text of the line.
    """
    words = text.split()

    def holds(i: int, word: str) -> bool:
        if word.startswith("!") and len(word) > 1:
            return not holds(i, word[1:])
        field, colon, wanted = word.partition(":")
        if colon and wanted and field.lower() in FIELDS:
            value = values(rows.key(i), field.lower())
            if value is not None:
                return equal(field.lower(), wanted.lower(), value.lower())
        return word.lower() in rows.text(i).lower()

    return lambda i: all(holds(i, word) for word in words)


def equal(field: str, wanted: str, value: str) -> bool:
    """Ranks are numbers or ranges of them; other fields hold any part of their value."""
    if field != "rank":
        return wanted in value
    held = set(value.split())
    low, dash, high = wanted.partition("-")
    if dash and low.isdigit() and high.isdigit():
        return any(int(low) <= int(rank) <= int(high) for rank in held)
    return wanted in held


def call_values(index: Index, rank: int) -> Callable[[int, str], str | None]:
    """Fields of the calls of one rank."""

    def value(row: int, field: str) -> str | None:
        call = index.job.call(rank, row)
        if field == "op":
            return named(index.job, call.group, call.signature)
        if field == "group":
            return index.job.groups[call.group].label
        if field == "rank":
            return str(rank)
        word = state(call, index.ends(rank).open.get(call.group, NONE))[1]
        return word if call.done else f"open {word}"

    return value


def rank_values(index: Index) -> Callable[[int, str], str | None]:
    def value(rank: int, field: str) -> str | None:
        if field == "rank":
            return str(rank)
        if field == "group":
            return " ".join(group.label for group in index.job.groups if rank in group.ranks)
        return ("open" if index.ends(rank).open else "done") if field == "state" and rank in index.job.ranks else None

    return value


def group_values(index: Index) -> Callable[[int, str], str | None]:
    def value(group: int, field: str) -> str | None:
        if field == "rank":
            return " ".join(map(str, index.job.groups[group].ranks))
        if field == "group":
            return index.job.groups[group].label
        return ("open" if index.frontier(group).open else "done") if field == "state" else None

    return value


def mark(line: Line, wanted: re.Pattern[str]) -> Line:
    """The same line with what was found in the role `find`."""
    text = "".join(part for part, _ in line)
    hits = [match.span() for match in wanted.finditer(text) if match.group()]
    if not hits:
        return line
    marked: Line = []
    at = 0
    for part, role in line:
        cuts = sorted({at, at + len(part), *(c for hit in hits for c in hit if at < c < at + len(part))})
        for begin, end in zip(cuts, cuts[1:]):
            inside = any(low <= begin and end <= high for low, high in hits)
            marked.append((text[begin:end], "find" if inside else role))
        at += len(part)
    return marked
