"""What can be had from a cut dump, and from a pickle that is too odd for `pickle.loads`.

A small interpreter of the harmless opcodes. It is about ten times slower than the C one, but it can stop
anywhere and hand out what is complete, and it makes no tuple that could take long to hash.
"""

from __future__ import annotations

import contextlib
import json
import re
import struct
from typing import Any, NamedTuple

from frtui.load.errors import Unusable
from frtui.load.opcodes import OPERAND, STRING_LENGTH, refusal, string_at

_INTEGERS = {ord("K"): "<B", ord("M"): "<H", ord("J"): "<i"}
_CONSTANTS = {ord("N"): None, 0x88: True, 0x89: False}
_SCALARS = (str, int, float, type(None))


class Salvaged(NamedTuple):
    raw: object
    """The top-level object with every complete entry; None when not even that begins."""
    byte: int
    """Where the data break off: the first byte that could not be used. -1 when they are whole."""


def pickled(data: bytes) -> Salvaged:
    """Interpret a pickle as far as it goes. Raises Unusable when it is not merely cut."""
    machine = _Machine(data)
    try:
        at = machine.run()
    except (IndexError, TypeError, ValueError, KeyError, AttributeError) as error:
        raise Unusable("refused", f"damaged near byte {machine.at:,}: {type(error).__name__}") from None
    if at < 0:
        return Salvaged(machine.stack[-1] if machine.stack else None, -1)
    return Salvaged(_unwind([*machine.levels, machine.stack]), at)


class _Machine:
    """The stack machine. `levels` are the stacks below the open MARKs, outermost first."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 2
        self.stack: list[Any] = []
        self.levels: list[list[Any]] = []
        self.memo: dict[int, Any] = {}

    def run(self) -> int:
        """Execute up to STOP (returns -1) or to the opcode that is cut (returns its byte)."""
        data, size = self.data, len(self.data)
        while self.at < size:
            code = data[self.at]
            if code == 0x2E:
                return -1
            end = self._end(code)
            if end > size:
                return self.at
            self._step(code, data[self.at + 1 : end])
            self.at = end
        return self.at

    def _end(self, code: int) -> int:
        """Where the opcode with its operand ends."""
        if code in STRING_LENGTH:
            start, length = string_at(self.data, self.at, code)
            return start + length if length >= 0 else len(self.data) + 1
        if code == 0x8A:  # LONG1: a count and that many bytes
            return self.at + 2 + self.data[self.at + 1] if self.at + 1 < len(self.data) else len(self.data) + 1
        if code not in OPERAND:
            raise refusal(self.data, self.at)
        return self.at + 1 + OPERAND[code]

    def _step(self, code: int, operand: bytes) -> None:
        if code in STRING_LENGTH:
            self.stack.append(operand[STRING_LENGTH[code][0] :].decode("utf-8", "surrogatepass"))
        elif code in _INTEGERS:
            self.stack.append(struct.unpack(_INTEGERS[code], operand)[0])
        elif code in _CONSTANTS:
            self.stack.append(_CONSTANTS[code])
        elif code == 0x8A:
            self.stack.append(int.from_bytes(operand[1:], "little", signed=True))
        elif code == ord("G"):
            self.stack.append(struct.unpack(">d", operand)[0])
        elif code in b"hj":
            self.stack.append(self.memo[int.from_bytes(operand, "little")])
        elif code in b"qr":
            self.memo[int.from_bytes(operand, "little")] = self.stack[-1]
        elif code == 0x94:
            self.memo[len(self.memo)] = self.stack[-1]
        elif code != 0x95:
            self._build(code)

    def _build(self, code: int) -> None:
        """Containers: make one, or fill one."""
        if code == ord("("):
            self.levels.append(self.stack)
            self.stack = []
        elif code in b"}])":
            self.stack.append({} if code == ord("}") else [] if code == ord("]") else ())
        elif code in b"\x85\x86\x87":
            count = code - 0x84
            self.stack[-count:] = [_tuple(self.stack[-count:], count)]
        elif code == ord("a"):
            _fill(self.stack[-2], [self.stack.pop()])
        elif code == ord("s"):
            pair = self.stack[-2:]
            del self.stack[-2:]
            _fill(self.stack[-1], pair)
        else:
            items, self.stack = self.stack, self.levels.pop()
            if code == ord("t"):
                self.stack.append(_tuple(items, len(items)))
            else:
                _fill(self.stack[-1], items)


def _tuple(items: list[Any], count: int) -> tuple[Any, ...]:
    """A tuple of scalars; anything deeper could take for ever to hash."""
    if len(items) != count or not all(isinstance(item, _SCALARS) or item == () for item in items):
        raise Unusable("refused", "a tuple of containers, which torch's dumps never have")
    return tuple(items)


def _fill(container: Any, items: list[Any]) -> None:
    if isinstance(container, list):
        container += items
        return
    if not isinstance(container, dict) or not all(isinstance(key, _SCALARS) for key in items[::2]):
        raise Unusable("refused", "damaged: fills what is no container, or under a key that is one")
    container.update(zip(items[::2], items[1::2]))


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
