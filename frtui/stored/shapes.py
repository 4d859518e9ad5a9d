"""What the head of an index holds, as JSON lists, and back.

A file that says otherwise is refused: it may be a stranger's. A shape is a function that checks a value, and makes of
it what the model has.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Callable, TypeVar

from frtui.engine.align import Edit
from frtui.engine.finding import Beside, Finding, Wait
from frtui.model import Failure, Frame, Group, Problem, Rank, Signature, Status, Thread
from frtui.text import clean

T = TypeVar("T")
Shape = Callable[[Any], Any]


class Wrong(ValueError):
    """This is no index, or a damaged one."""


def text(value: object) -> str:
    if not isinstance(value, str):
        raise Wrong("no text where one belongs")
    return clean(value)


def integer(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or abs(value) >= 1 << 63:
        raise Wrong("no integer where one belongs")
    return value


def flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise Wrong("neither true nor false where one belongs")
    return value


def maybe(shape: Callable[[Any], T]) -> Callable[[Any], T | None]:
    return lambda value: None if value is None else shape(value)


def many(shape: Callable[[Any], T]) -> Callable[[Any], tuple[T, ...]]:
    return lambda value: tuple(map(shape, _items(value)))


def record(make: Callable[..., T], *shapes: Shape) -> Callable[[Any], T]:
    """As many values as shapes, of which `make` makes one thing."""
    return lambda value: make(*(shape(item) for shape, item in zip(shapes, _items(value, len(shapes)))))


def _pair(*items: Any) -> tuple[Any, ...]:
    return items


def _items(value: object, count: int | None = None) -> list[Any]:
    if not isinstance(value, list) or count is not None and len(value) != count:
        raise Wrong("no list of the right length where one belongs")
    return value


integers = many(integer)
texts = many(text)
pairs = many(record(_pair, integer, integer))
frame = record(Frame, text, text, integer)
stack = many(frame)
group = record(Group, text, text, integers, flag)
problem = record(Problem, text, maybe(integer), text, text, maybe(integer))
_sizes = many(integers)


def _no_parts(value: object) -> tuple[Signature, ...]:
    """Of a member of a batch, which is none itself: however deep a stranger nests them, nobody follows."""
    _items(value, 0)
    return ()


_call = (text, text, _sizes, _sizes, texts, texts, integer, integer, integer)
_member = record(Signature, *_call, _no_parts)
signature = record(Signature, *_call, many(_member))


_beside = record(
    Beside,
    *(integer, integers, integer, integers, many(record(Edit, text, integer, integer)), integer),
    *(text, integers, integer, integers),
)
finding = record(
    Finding,
    *(text, text, text, integers, maybe(integer), text, maybe(integer), flag, maybe(frame), texts, integers),
    *(pairs, texts, maybe(record(_pair, integer, integer)), many(record(Wait, integer, integer, integers))),
    maybe(_beside),
)


def finding_out(found: Finding) -> list[Any]:
    return [getattr(found, field.name) for field in fields(Finding)]


_RANK: dict[str, Shape] = {
    "rank": integer,
    "file": text,
    "host": text,
    "version": text,
    "library": text,
    "dumped_ns": integer,
    "truncated": flag,
    "by": text,
    "reason": text,
    "later_reasons": texts,
    "pid": integer,
    "alive": maybe(flag),
    "heartbeat_ns": integer,
    "ended": text,
    "judged_stuck": flag,
    "threads": many(record(Thread, text, stack)),
    "error": maybe(record(Failure, text, text, stack)),
    "cause": maybe(record(Failure, text, text, stack)),
    "crash": maybe(record(Failure, text, text, stack)),
}
_status = many(record(_pair, integer, record(Status, integer, integer, integer)))
_errors = many(record(_pair, integer, text))
_config = many(record(_pair, integer, maybe(integers)))


def rank(value: object, groups: tuple[Group, ...]) -> Rank:
    """All of a rank but its columns."""
    told, status, errors, config = _items(value, 4)
    made = Rank(**{name: shape(item) for (name, shape), item in zip(_RANK.items(), _items(told, len(_RANK)))})
    made.status, made.call_errors = dict(_status(status)), dict(_errors(errors))
    made.config = {place: groups[place].ranks if members is None else members for place, members in _config(config)}
    return made


def rank_out(one: Rank, groups: tuple[Group, ...]) -> list[Any]:
    # Nearly always the members are those of the group: a million numbers in a job of 1,024 ranks.
    config = [[place, None if members == groups[place].ranks else members] for place, members in one.config.items()]
    told = [getattr(one, name) for name in _RANK]
    return [told, [*one.status.items()], [*one.call_errors.items()], config]
