"""Find and filter: what the person types, as tests of a line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Callable

from frtui.view import fields
from frtui.view.fields import Values
from frtui.view.rows import Line, Rows

SLICE = 200
"""Lines that are looked at before the screen may draw again."""

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


def line_test(rows: Rows, text: str, values: Values) -> Test:
    """All words must hold: `rank:2-5`, `seq:>80`, `slower:1s`, `!state:done`, or plain text.

    `values(key, field)` says what a line has in a field; None where the pane has no such field, and
    then the word is looked for in the text of the line.
    """
    tests = [word_test(rows, word, values) for word in text.split()]
    return lambda i: all(test(i) for test in tests)


def word_test(rows: Rows, word: str, values: Values) -> Test:
    if word.startswith("!") and len(word) > 1:
        test = word_test(rows, word[1:], values)
        return lambda i: not test(i)
    field, colon, wanted = word.lower().partition(":")
    word = word.lower()
    holds = fields.condition(field, wanted) if colon and wanted else None

    def passes(i: int) -> bool:
        value = values(rows.key(i), field) if holds else None
        return holds(value) if holds and value is not None else word in rows.text(i).lower()

    return passes


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
