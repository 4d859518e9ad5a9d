"""Pipeline schedules: what one stage does for one step, as sends and recvs and the passes between them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Union

from tests.faults.program import Op, Shapes, Site

FILE = "/job/schedules.py"
LINES = {"recv_forward": 40, "send_forward": 48, "recv_backward": 56, "send_backward": 64, "both": 72}
Made = Union[Op, str]
"""A call, or `forward` or `backward` for the calls of a pass."""


@dataclass(frozen=True)
class Pipe:
    group: int
    before: int
    after: int
    """Global ranks of the neighbours; -1 at the ends."""
    shape: Shapes
    dtype: str

    def half(self, what: str, line: str = "") -> Op | None:
        op, way = what.split("_")
        peer = self.after if (op == "send") == (way == "forward") else self.before
        site: Site = (FILE, LINES[line or what])
        return None if peer < 0 else Op(self.group, op, site, self.shape, self.shape, self.dtype, peer=peer)

    def single(self, what: str) -> Iterator[Op]:
        half = self.half(what)
        if half:
            yield half

    def batch(self, *what: str) -> Iterator[Op]:
        line = what[0] if len(what) == 1 else "both"
        halves = tuple(half for name in what if (half := self.half(name, line)))
        if halves:
            yield Op(self.group, "batch", halves[0].site, parts=halves)


def gpipe(pipe: Pipe, micro: int) -> Iterator[Made]:
    """All forward passes, then all backward ones; single sends and recvs."""
    for _ in range(micro):
        yield from pipe.single("recv_forward")
        yield "forward"
        yield from pipe.single("send_forward")
    for _ in range(micro):
        yield from pipe.single("recv_backward")
        yield "backward"
        yield from pipe.single("send_backward")


def one_f_one_b(pipe: Pipe, stage: int, stages: int, micro: int) -> Iterator[Made]:
    """One forward, one backward, after a warm-up; exchanges with one neighbour in one batch."""
    warm = min(stages - stage - 1, micro)
    for _ in range(warm):
        yield from pipe.batch("recv_forward")
        yield "forward"
        yield from pipe.batch("send_forward")
    if micro > warm:
        yield from pipe.batch("recv_forward")
    for n in range(micro - warm):
        yield "forward"
        yield from pipe.batch("send_forward", "recv_backward")
        yield "backward"
        last = n == micro - warm - 1
        yield from pipe.batch("send_backward") if last else pipe.batch("send_backward", "recv_forward")
    for _ in range(warm):
        yield from pipe.batch("recv_backward")
        yield "backward"
        yield from pipe.batch("send_backward")
