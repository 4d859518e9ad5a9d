"""Small jobs with one fault each, for what proves a finding: the waits and the alignment."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Callable

from frtui.engine import diagnose
from frtui.load import load
from frtui.view.panes import Panes
from tests.dumps import Raw, dump, entry, write
from tests.engine.jobs import OPEN, WORLD, steps, world

Ranks = dict[int, Any]
JOBS: dict[str, Callable[[], Ranks]] = {}


def job(make: Callable[[], Ranks]) -> Callable[[], Ranks]:
    JOBS[make.__name__.replace("_", "-")] = make
    return make


def panes(folder: Path, ranks: Ranks) -> Panes:
    read = load(write(folder, ranks))
    return Panes(read, tuple(diagnose(read)))


def at(line: int, seq: int, **more: Any) -> Raw:
    return entry(seq, site=("train.py", line), **more)


@job
def skipped_call() -> Ranks:
    """Rank 1 leaves out the second call of its pair: rank 0 waits for it there, it for rank 0 in the world."""
    ranks = {}
    for r, made in {0: "t w t", 1: "t w w", 2: "t w t w", 3: "t w t w"}.items():
        pair = ("12"[r // 2], "tp")
        rows: list[Raw] = []
        for kind in made.split():
            group, line = (pair, 12) if kind == "t" else (WORLD, 16)
            rows.append(at(line, 1 + sum(row["process_group"] == group for row in rows), group=group))
        rows[-1].update(state=OPEN, retired=False)
        ranks[r] = dump(rows, pg_config={WORLD: range(4), pair: [r // 2 * 2, r // 2 * 2 + 1]})
    return ranks


@job
def extra_call() -> Ranks:
    """Rank 2 evaluates once more than the others."""
    ranks = {}
    for r in range(4):
        lines = [30, 31] * 5
        more = [("eval.py", 17, 7)] if r == 2 else []
        calls = [("train.py", line, 4096) for line in lines[:9]] + more + [("train.py", line, 4096) for line in lines]
        ranks[r] = dump(
            [
                entry(n, sizes=[[size]], site=(file, line), state="completed" if n < 10 else OPEN)
                for n, (file, line, size) in enumerate(calls[:12], 1)
            ],
            pg_config=world(4),
        )
    return ranks


@job
def order_swap() -> Ranks:
    """Rank 1 makes the calls of two lines in the other order."""
    ranks = {}
    for r in range(4):
        lines = [30, 31, 32] * 3
        if r == 1:
            lines[7:9] = [32, 31]
        ranks[r] = dump(
            [
                at(line, n, sizes=[[line * 1000]], state="completed" if n < 8 else OPEN)
                for n, line in enumerate(lines, 1)
            ],
            pg_config=world(4),
        )
    return ranks


@job
def size_mismatch() -> Ranks:
    """Of three pairs one disagrees; the others have gone on and wait for it."""
    ranks = {}
    for r in range(6):
        pair, stuck = (str(1 + r // 2), "tp"), r in (2, 3)
        size = 4096 if r == 2 else 4128
        rows = [*steps(2, group=pair), at(60, 3, group=pair, sizes=[[size]], state=OPEN if stuck else "completed")]
        rows += [] if stuck else [at(90, 1, op="barrier", sizes=(), state=OPEN)]
        ranks[r] = dump(rows, pg_config={WORLD: range(6), pair: [r // 2 * 2, r // 2 * 2 + 1]})
    return ranks


@job
def not_joined() -> Ranks:
    return cascade(8, idle=5)


def cascade(n: int, idle: int, name: str = "tp") -> Ranks:
    """Pairs and, across them, two halves. One rank does not come; the waiting spreads over all."""
    ranks = {}
    for r in range(n):
        tp, dp = (f"{'a' * 35}{r // 2:05}", name), (f"{'b' * 39}{r % 2}", "dp")
        config = {WORLD: range(n), tp: [r // 2 * 2, r // 2 * 2 + 1], dp: range(r % 2, n, 2)}
        rows = [at(20 + s, s, group=tp) for s in (1, 2, 3)] + [at(40, 1, group=dp)]
        if r == idle ^ 1:
            rows.append(entry(4, group=tp, state=OPEN, site=("layers.py", 30)))
        elif r != idle:
            rows += [entry(4, group=tp, site=("layers.py", 30)), entry(2, group=dp, state=OPEN, site=("optim.py", 9))]
        ranks[r] = dump(rows, pg_config=config)
    return ranks


@job
def group_deadlock() -> Ranks:
    """Half of the ranks enter one group first, half the other; a pair waits for one of them."""
    a, b, c = ("1", "a"), ("2", "b"), ("3", "c")
    config = {WORLD: range(6), a: range(4), b: range(4), c: [3, 4, 5]}
    ranks = {}
    for r in range(6):
        group, line = (a, 10) if r < 2 else (b, 20) if r < 4 else (c, 30)
        ranks[r] = dump([*steps(3), at(line, 1, group=group, state=OPEN)], pg_config=config)
    return ranks


@job
def no_dump() -> Ranks:
    return {r: dump([*steps(3), entry(4, state=OPEN)], pg_config=world(4)) for r in range(3)}


@job
def all_joined_stuck() -> Ranks:
    return {r: dump([*steps(3), entry(4, state=OPEN)], pg_config=world(4)) for r in range(4)}


@job
def no_hang() -> Ranks:
    return {r: dump(steps(3), pg_config=world(3)) for r in range(3)}
