"""Text from strangers' files, made safe to print."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import datetime, timezone

# C0 and C1 controls, and what reorders or hides text around it: bidirectional marks, embeddings and
# isolates, characters of no width or without ink, line and paragraph separators, surrogates, tags.
_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e0fff]"
)


def _escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def clean(text: str) -> str:
    """`text` with every character that could control a terminal or hide text shown as an escape.

    >>> clean("rank\\x1b[31m")
    'rank\\\\x1b[31m'
    """
    return text if text.isascii() and text.isprintable() else _UNSAFE.sub(_escape, text)


def ranges(numbers: tuple[int, ...] | list[int]) -> str:
    """Sorted ranks as people write them.

    >>> ranges([0, 1, 2, 5, 7, 8])
    '0-2, 5, 7-8'
    """
    runs: list[list[int]] = []
    for number in sorted(set(numbers)):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(f"{a}" if a == b else f"{a}-{b}" for a, b in runs)


def who(ranks: Iterable[int]) -> str:
    """`rank 2`, `ranks 0-2, 5`."""
    numbers = sorted(set(ranks))
    return f"rank{'s' * (len(numbers) != 1)} {ranges(numbers)}"


def count(number: int, noun: str) -> str:
    """So many of a thing.

    >>> count(1, "entry"), count(1200, "entry")
    ('1 entry', '1,200 entries')
    """
    several = f"{noun[:-1]}ies" if noun.endswith("ry") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else several}"


def utc(ns: int, form: str) -> str:
    """Nanoseconds since the epoch, in a format of `strftime`. Raises ValueError for a time that there is not."""
    try:
        return datetime.fromtimestamp(ns / 1e9, timezone.utc).strftime(form)
    except (OverflowError, OSError) as error:
        raise ValueError(str(error)) from None


def together(places: Mapping[int, str], listed: int = 3) -> str:
    """The place that most ranks have in common, and which of them have another one.

    >>> together({0: "train.py:247", 1: "train.py:244", 2: "train.py:244"})
    'train.py:244 (rank 0 at :247)'
    """
    ranks: dict[str, list[int]] = {}
    for rank, place in sorted(places.items()):
        if place:
            ranks.setdefault(place, []).append(rank)
    if not ranks:
        return ""
    first, *others = sorted(ranks, key=lambda place: -len(ranks[place]))
    file = first.rpartition(":")[0] + ":"
    told = [
        f"{_few(ranks[place])} at {place[len(file) - 1 :] if place.startswith(file) else place}"
        for place in others[:listed]
    ]
    more = sum(len(ranks[place]) for place in others[listed:])
    told += [f"{more} more elsewhere"] if more else []
    return f"{first} ({', '.join(told)})" if told else first


def _few(ranks: list[int], named: int = 4) -> str:
    told = who(ranks)
    return told if told.count(",") < named else f"{len(ranks):,} ranks"
