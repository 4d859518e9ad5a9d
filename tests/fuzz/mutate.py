"""Ways to damage a dump: its bytes, the opcodes of its pickle, the object that it holds, or the head of an index."""

from __future__ import annotations

import pickletools
import struct
from random import Random
from typing import Any, Callable

EVIL = (
    "\x1b]0;owned\x07\x1b[31m",
    "\u202ecba\u2066",
    "<script>alert(1)</script>",
    '"><img src="http://e.com/x" onerror=alert(1)>',
    "[bold red]x[/] [@click=app.quit]y[/]",
    "\n# heading\n![x](http://e.com) ``` @everyone",
    "a\r\nb\tc\x85\u2028d",
    "nccl:send 0->1",
    "recv 1<-?",
    "nccl:" + "x" * 5_000,
    "=1+1",
    "coalesced",
    "\ud800",
    "",
)
NUMBERS = (
    *(0, 1, -1, 2, 7, 255, 256, 65_535, 65_536, 1 << 31, -(1 << 31), (1 << 31) - 1, 1 << 32, (1 << 53) + 1),
    *((1 << 62), (1 << 63) - 1, -(1 << 63), 1 << 63, 1 << 64, 10**30, -(10**30)),
)
FLOATS = (float("nan"), float("inf"), float("-inf"), 1e308, -1e308, 1.5, 0.0, -0.0, 5e-324)


def nonsense(chance: Random) -> Any:
    """A value of any type."""
    kind = chance.randrange(8)
    if kind < 2:
        return chance.choice(NUMBERS)
    if kind == 2:
        return chance.choice(FLOATS)
    if kind < 5:
        return chance.choice(EVIL)
    if kind == 5:
        return nested(chance, chance.choice([1, 3, 50, 300]))
    return chance.choice([None, True, False, [], {}, [[]], {"a": 1}, ["x"], [None], ("a", "b"), (), "[0, 1]", "99"])


def nested(chance: Random, depth: int) -> Any:
    value: Any = chance.choice([[], {}, 1, "x"])
    for _ in range(depth):
        value = [value] if chance.random() < 0.7 else {"a": value}
    return value


# Objects


def place(chance: Random, value: Any) -> tuple[Any, Any]:
    """(container, key) of something inside of `value`, which is a list or a dict, and not empty."""
    while True:
        key = chance.choice(list(value) if isinstance(value, dict) else range(len(value)))
        inner = value[key]
        if not isinstance(inner, (dict, list)) or not inner or chance.random() < 0.2:
            return value, key
        value = inner


def an_object(chance: Random, value: Any) -> Any:
    """`value`, changed in a few places."""
    for _ in range(chance.choice([1, 1, 2, 5, 40])):
        if not isinstance(value, (dict, list)) or not value:
            return nonsense(chance)
        holder, key = place(chance, value)
        chance.choice(_CHANGES)(chance, holder, key, value)
    return value


def _replace(chance: Random, holder: Any, key: Any, top: Any) -> None:
    if isinstance(holder[key], int) and chance.random() < 0.5:
        holder[key] = chance.choice([*NUMBERS, holder[key] + 1, holder[key] - 1])
    else:
        holder[key] = nonsense(chance)


def _everywhere(chance: Random, holder: Any, key: Any, top: Any) -> None:
    """In all entries from some on, as a fork might write it."""
    value, rows = nonsense(chance), top.get("entries") if isinstance(top, dict) else top
    alike = [row for row in rows if isinstance(row, dict) and key in row] if isinstance(rows, list) else []
    for row in alike[chance.randrange(len(alike)) :] if alike else ():
        row[key] = value


def _remove(chance: Random, holder: Any, key: Any, top: Any) -> None:
    del holder[key]


def _swap(chance: Random, holder: Any, key: Any, top: Any) -> None:
    other, at = place(chance, top)
    holder[key] = other[at]  # may become a circle or a list that is named twice


def _add(chance: Random, holder: Any, key: Any, top: Any) -> None:
    if isinstance(holder, list):
        holder.insert(key, holder[key] if chance.random() < 0.5 else nonsense(chance))
    else:
        holder[chance.choice(["x", *EVIL, *NUMBERS, None, 1.5])] = nonsense(chance)


def _repeat(chance: Random, holder: Any, key: Any, top: Any) -> None:
    if isinstance(holder, list):
        holder[key:key] = [holder[key]] * chance.choice([2, 50, 1_000])


_CHANGES = (_replace, _replace, _replace, _everywhere, _remove, _swap, _add, _repeat)


# Bytes


def some_bytes(chance: Random, data: bytes, other: bytes) -> bytes:
    """`data`, damaged a few times; `other` is another file, of which it may get a part."""
    for _ in range(chance.choice([1, 1, 1, 2, 8])):
        data = chance.choice(_DAMAGES)(chance, data, other)
    return data


def _at(chance: Random, data: bytes) -> int:
    return chance.randrange(len(data) + 1)


def _flip(chance: Random, data: bytes, other: bytes) -> bytes:
    at = _at(chance, data)
    return data[:at] + bytes(b ^ 1 << chance.randrange(8) for b in data[at : at + 1]) + data[at + 1 :]


def _set(chance: Random, data: bytes, other: bytes) -> bytes:
    at = _at(chance, data)
    new = chance.choice(
        [bytes([chance.randrange(256)]), b"\xff" * 4, b"\0" * 8, struct.pack("<Q", chance.getrandbits(64))]
    )
    return data[:at] + new + data[at + len(new) :]


def _insert(chance: Random, data: bytes, other: bytes) -> bytes:
    at = _at(chance, data)
    return (
        data[:at] + bytes(chance.choice(b"](}(eu.NhqK0\x86\x94") for _ in range(chance.choice([1, 2, 9]))) + data[at:]
    )


def _delete(chance: Random, data: bytes, other: bytes) -> bytes:
    at = _at(chance, data)
    return data[:at] + data[at + chance.choice([1, 2, 5, 100]) :]


def _duplicate(chance: Random, data: bytes, other: bytes) -> bytes:
    start, size = _at(chance, data), chance.choice([1, 5, 60, 700])
    return data[: start + size] + data[start : start + size] * chance.choice([1, 2, 30]) + data[start + size :]


def _splice(chance: Random, data: bytes, other: bytes) -> bytes:
    return data[: _at(chance, data)] + other[_at(chance, other) :]


def _truncate(chance: Random, data: bytes, other: bytes) -> bytes:
    return data[: _at(chance, data)]


_DAMAGES = (_flip, _flip, _flip, _set, _insert, _delete, _duplicate, _splice, _truncate)


# Opcodes


def opcodes(data: bytes) -> list[bytes]:
    """The opcodes of a whole pickle with their operands; empty for anything else."""
    try:
        starts = [at for _, _, at in pickletools.genops(data) if at is not None]
    except Exception:
        return []
    return [data[start:end] for start, end in zip(starts, [*starts[1:], len(data)])]


def some_opcodes(chance: Random, data: bytes) -> bytes:
    """A pickle in which some opcodes are others. Frames of protocol 4 are left out, whose lengths would be wrong."""
    ops = [op for op in opcodes(data) if op[:1] != b"\x95"]
    if len(ops) < 4:
        return data
    for _ in range(chance.choice([1, 1, 2, 6, 30])):
        chance.choice(_OF_OPCODES)(chance, ops)
    return b"".join(ops)


def _any(chance: Random, ops: list[bytes]) -> int:
    return chance.randrange(1, len(ops))


def _exchange(chance: Random, ops: list[bytes]) -> None:
    a, b = _any(chance, ops), _any(chance, ops)
    ops[a], ops[b] = ops[b], ops[a]


def _copy(chance: Random, ops: list[bytes]) -> None:
    ops[_any(chance, ops)] = ops[_any(chance, ops)]


def _copy_run(chance: Random, ops: list[bytes]) -> None:
    start, size = _any(chance, ops), chance.choice([1, 2, 10, 45, 90])
    at = _any(chance, ops) if chance.random() < 0.5 else start
    ops[at:at] = ops[start : start + size] * chance.choice([1, 3, 40])


def _drop(chance: Random, ops: list[bytes]) -> None:
    if len(ops) > 4:
        del ops[_any(chance, ops)]


def _new_op(chance: Random, ops: list[bytes]) -> None:
    ops.insert(_any(chance, ops), _made(chance))


def _made(chance: Random) -> bytes:
    number = chance.choice(NUMBERS)
    made: tuple[Callable[[], bytes], ...] = (
        lambda: bytes([chance.choice(b"N\x88\x89(}]ueas).\x85\x86\x87t\x94012")]),
        lambda: b"K" + bytes([number % 256]),
        lambda: b"M" + struct.pack("<H", number % 65_536),
        lambda: b"J" + struct.pack("<I", number % (1 << 32)),
        lambda: b"\x8a\x08" + struct.pack("<Q", number % (1 << 64)),
        lambda: b"\x8a\xff" + b"\x7f" * 255,
        lambda: b"G" + struct.pack(">d", chance.choice(FLOATS)),
        lambda: bytes([chance.choice(b"hq")]) + bytes([chance.randrange(256)]),
        lambda: (
            bytes([chance.choice(b"jr")]) + struct.pack("<I", chance.choice([0, 300, 0xFF000000, number % (1 << 32)]))
        ),
        lambda: _string(chance.choice(EVIL)),
    )
    return chance.choice(made)()


def _string(text: str) -> bytes:
    data = text.encode("utf-8", "surrogatepass")
    return b"X" + struct.pack("<I", len(data)) + data


def _operand(chance: Random, ops: list[bytes]) -> None:
    """Another operand of the same size: numbers, memo slots, lengths, letters."""
    at = _any(chance, ops)
    op = ops[at]
    if len(op) > 1:
        where = chance.randrange(1, len(op))
        ops[at] = op[:where] + bytes([chance.choice([0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)])]) + op[where + 1 :]


def _alike(chance: Random, ops: list[bytes]) -> None:
    """The same change to every opcode like this one, from some place on."""
    at = _any(chance, ops)
    old, new = ops[at], _made(chance)
    if chance.random() < 0.5 and len(new) != len(old):
        new = {1: b"N", 2: b"K\7", 5: b"J\7\0\0\0", 9: b"G" + bytes(8)}.get(len(old), new)
    for n in range(at, len(ops)):
        if ops[n] == old and chance.random() < 0.95:
            ops[n] = new


_OF_OPCODES = (_exchange, _copy, _copy_run, _drop, _new_op, _new_op, _operand, _operand, _operand, _alike)
