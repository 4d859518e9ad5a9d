"""What can be had from a cut dump, and from a pickle that is too odd for `pickle.loads`."""

from __future__ import annotations

import contextlib
import json
import re
from typing import Any, NamedTuple

from frtui.load.errors import Unusable
from frtui.load.machine import Machine


class Salvaged(NamedTuple):
    raw: object
    """The top-level object with every complete entry; None when not even that begins."""
    byte: int
    """Where the data break off: the first byte that could not be used. -1 when they are whole."""


def pickled(data: bytes) -> Salvaged:
    """Interpret a pickle as far as it goes. Raises Unusable when it is not merely cut."""
    machine = Machine(data)
    try:
        at = machine.run()
    except (IndexError, TypeError, ValueError, KeyError, AttributeError) as error:
        raise Unusable("refused", f"damaged near byte {machine.at:,}: {type(error).__name__}") from None
    if at < 0:
        return Salvaged(machine.stack[-1] if machine.stack else None, -1)
    return Salvaged(_unwind([*machine.levels, machine.stack]), at)


def _unwind(levels: list[list[Any]]) -> object:
    """Close what is open at the cut: the top-level object with its complete entries.

    levels: [dump] [key, value, ..., "entries", list] [entry, ..., entry begun] [parts of that] ...
    """
    top = levels[0][0] if levels[0] else None
    inner = levels[1:]
    entries = top
    if isinstance(top, dict):
        pairs = levels[0][1:] or (inner.pop(0) if inner else [])
        top.update((k, v) for k, v in zip(pairs[::2], pairs[1::2]) if isinstance(k, str))
        entries = pairs[-1] if len(pairs) > 1 and pairs[-2] == "entries" else None
    if isinstance(entries, list) and inner:
        entries += inner[0][:-1] if inner[0][-1:] == [{}] else inner[0]  # a dict is filled when it is whole
    return top


def from_json(text: str) -> Salvaged:
    """The leading complete entries of a cut JSON dump."""
    found = re.search(r'(?:^\s*|"entries"\s*:\s*)\[', text)
    if found is None:
        return Salvaged(None, len(text))
    head: object = None
    with contextlib.suppress(ValueError):
        head = json.loads(text[: found.start()].rstrip().rstrip(",") + "}")
    entries, at = _items(text, found.end())
    return Salvaged({**(head if isinstance(head, dict) else {}), "entries": entries}, at)


def _items(text: str, at: int) -> tuple[list[object], int]:
    """Complete values of a JSON list from `at`, and where the first incomplete one starts."""
    items: list[object] = []
    decoder, gap = json.JSONDecoder(), re.compile(r"[\s,]*")
    while True:
        start = gap.match(text, at).end()  # type: ignore[union-attr]
        try:
            item, at = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            return items, start
        items.append(item)
