"""An interpreter of the harmless opcodes of a pickle.

Slower than the C one, but it can stop anywhere and go on, it keeps its memo where it can be looked at, and it makes no
tuple that could take long to hash.
"""

from __future__ import annotations

import struct
from typing import Any, Callable

from frtui.load.errors import Unusable
from frtui.load.opcodes import OPERAND, STRING_LENGTH, refusal, string_at

STOP, LONG1 = ord("."), 0x8A
_SCALARS = (str, int, float, type(None))


class Machine:
    """The stack machine. `levels` are the stacks below the open MARKs, outermost first."""

    def __init__(self, data: bytes, at: int = 2) -> None:
        self.data = data
        self.at = at
        self.stack: list[Any] = []
        self.levels: list[list[Any]] = []
        self.memo: dict[int, Any] = {}

    def run(self) -> int:
        """Execute up to STOP (returns -1) or to the opcode that is cut (returns its byte)."""
        data, size = self.data, len(self.data)
        while self.at < size:
            at, code = self.at, data[self.at]
            width, do = _STEPS.get(code, _UNKNOWN)
            if not width:
                if code == STOP:
                    return -1
                if not self.step():
                    break
                continue
            if at + width > size:
                break
            do(self, at + 1, at + width)
            self.at = at + width
        return self.at

    def step(self) -> bool:
        """Execute the opcode here; False when it is cut."""
        at = self.at
        code = self.data[at]
        width, do = _STEPS.get(code, _UNKNOWN)
        end = at + width if width else self._end(code)
        if end > len(self.data):
            return False
        do(self, at + 1, end)
        self.at = end
        return True

    def put(self, slot: int) -> None:
        self.memo[slot] = self.stack[-1]

    def frame(self) -> None:
        """FRAME of protocol 4: how much belongs together, which is of no interest here."""

    def close(self) -> list[Any]:
        """What stands above the last MARK, which goes with it."""
        items, self.stack = self.stack, self.levels.pop()
        return items

    def _end(self, code: int) -> int:
        """Where an opcode ends that says how long it is."""
        if code in STRING_LENGTH:
            start, length = string_at(self.data, self.at, code)
            return start + length if length >= 0 else len(self.data) + 1
        if code == LONG1:  # a count and that many bytes
            return self.at + 2 + self.data[self.at + 1] if self.at + 1 < len(self.data) else len(self.data) + 1
        raise refusal(self.data, self.at)


Step = Callable[[Machine, int, int], None]


def _integer(signed: bool) -> Step:
    def do(m: Machine, at: int, end: int) -> None:
        m.stack.append(int.from_bytes(m.data[at:end], "little", signed=signed))

    return do


def _string(code: int) -> Step:
    width = STRING_LENGTH[code][0]

    def do(m: Machine, at: int, end: int) -> None:
        m.stack.append(m.data[at + width : end].decode("utf-8", "surrogatepass"))

    return do


def _pushes(make: Callable[[], Any]) -> Step:
    return lambda m, at, end: m.stack.append(make())


def _long(m: Machine, at: int, end: int) -> None:
    m.stack.append(int.from_bytes(m.data[at + 1 : end], "little", signed=True))


def _float(m: Machine, at: int, end: int) -> None:
    m.stack.append(struct.unpack_from(">d", m.data, at)[0])


def _get(m: Machine, at: int, end: int) -> None:
    m.stack.append(m.memo[m.data[at]])


def _long_get(m: Machine, at: int, end: int) -> None:
    m.stack.append(m.memo[int.from_bytes(m.data[at:end], "little")])


def _put(m: Machine, at: int, end: int) -> None:
    m.put(int.from_bytes(m.data[at:end], "little"))


def _mark(m: Machine, at: int, end: int) -> None:
    m.levels.append(m.stack)
    m.stack = []


def _tuple_of(count: int) -> Step:
    def do(m: Machine, at: int, end: int) -> None:
        m.stack[-count:] = [_tuple(m.stack[-count:], count)]

    return do


def _tuple_from_mark(m: Machine, at: int, end: int) -> None:
    items = m.close()
    m.stack.append(_tuple(items, len(items)))


def _append(m: Machine, at: int, end: int) -> None:
    _extend(m.stack[-2], [m.stack.pop()])


def _set_item(m: Machine, at: int, end: int) -> None:
    pair = m.stack[-2:]
    del m.stack[-2:]
    _update(m.stack[-1], pair)


def _appends(m: Machine, at: int, end: int) -> None:
    items = m.close()
    _extend(m.stack[-1], items)


def _set_items(m: Machine, at: int, end: int) -> None:
    items = m.close()
    _update(m.stack[-1], items)


def _tuple(items: list[Any], count: int) -> tuple[Any, ...]:
    """A tuple of scalars; anything deeper could take for ever to hash."""
    if len(items) != count or not all(isinstance(item, _SCALARS) or item == () for item in items):
        raise Unusable("refused", "a tuple of containers, which torch's dumps never have")
    return tuple(items)


def _extend(container: Any, items: list[Any]) -> None:
    if not isinstance(container, list):
        raise Unusable("refused", "damaged: appends to what is no list")
    container += items


def _update(container: Any, items: list[Any]) -> None:
    keys = items[::2]
    if not isinstance(container, dict) or len(items) % 2 or not all(isinstance(key, _SCALARS) for key in keys):
        raise Unusable("refused", "damaged: fills what is no dict, or under a key that is none")
    container.update(zip(keys, items[1::2]))


_DO: dict[int, Step] = {
    **{ord(code): _integer(False) for code in "KM"},
    ord("J"): _integer(True),
    LONG1: _long,
    ord("G"): _float,
    **{code: _string(code) for code in STRING_LENGTH},
    ord("N"): _pushes(lambda: None),
    0x88: _pushes(lambda: True),
    0x89: _pushes(lambda: False),
    ord("}"): _pushes(dict),
    ord("]"): _pushes(list),
    ord(")"): _pushes(tuple),
    ord("h"): _get,
    ord("j"): _long_get,
    **{ord(code): _put for code in "qr"},
    0x94: lambda m, at, end: m.put(len(m.memo)),
    0x95: lambda m, at, end: m.frame(),
    ord("("): _mark,
    **{0x84 + count: _tuple_of(count) for count in (1, 2, 3)},
    ord("t"): _tuple_from_mark,
    ord("a"): _append,
    ord("s"): _set_item,
    ord("e"): _appends,
    ord("u"): _set_items,
}
_STEPS = {code: (1 + OPERAND[code] if code in OPERAND else 0, do) for code, do in _DO.items()}
"""What to do, and how many bytes an opcode takes with its operand; 0 where it says so itself."""
_UNKNOWN = 0, _mark
