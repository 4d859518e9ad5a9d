"""The dumps of the cases, in files as people have them."""

from __future__ import annotations

import os
import shutil
from collections import OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tests.dumps import DEFAULT, Name, Raw, batch, dump, entry, write
from tests.engine.jobs import OPEN, steps, world

DEMOS = Path(__file__).parents[2] / "frtui" / "demo"
RANK = "nccl_trace_rank_{}"
Ranks = dict[int, Any]


def idle(n: int = 4, culprit: int = 2, **common: Any) -> dict[int, list[Raw]]:
    """`culprit` never makes the 4th all_reduce, in which the others wait."""
    waits = [entry(4, **{"state": OPEN, **common})]
    return {r: [*steps(3, **common), *([] if r == culprit else waits)] for r in range(n)}


def job(entries: dict[int, list[Raw]], **options: Any) -> Ranks:
    options.setdefault("pg_config", world(len(entries)))
    return {r: dump(rows, **options) for r, rows in entries.items()}


def saved(ranks: Callable[[], Ranks], **how: Any) -> Callable[[Path], object]:
    return lambda folder: write(folder, ranks(), **how)


def demo(name: str) -> Callable[[Path], object]:
    return lambda folder: shutil.copytree(DEMOS / name, folder)


# Files


def with_one(data: bytes, name: str = RANK.format(3)) -> Callable[[Path], object]:
    """The idle job, in which `data` stands instead of one file, or beside them."""
    return lambda folder: (write(folder, job(idle())) / name).write_bytes(data)


def cut(folder: Path) -> None:
    path = write(folder, job(idle())) / RANK.format(3)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) * 3 // 4])


def absent(folder: Path) -> None:
    (write(folder, job(idle())) / RANK.format(2)).unlink()


class _Runs:
    """Makes a folder beside the dumps when it is unpickled."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.marker),)


def marker(folder: Path) -> Path:
    return folder.with_name("executed")


def with_global(folder: Path) -> None:
    dumps = job(idle())
    dumps[3]["extra"] = _Runs(marker(folder))
    write(folder, dumps)


def pipe(folder: Path) -> None:
    os.mkfifo(write(folder, job(idle())) / RANK.format(4))


def nodes(folder: Path) -> None:
    for rank, raw in job(idle()).items():
        write(folder / f"node{rank // 2}", {rank: raw})


def attempts(folder: Path) -> None:
    for name, culprit in (("attempt_0", 1), ("attempt_1", 2)):
        write(folder / name, job(idle(culprit=culprit)))
    for path in (folder / "attempt_0").iterdir():
        os.utime(path, (1_790_000_000, 1_790_000_000))


def hosts(folder: Path) -> None:
    for rank, raw in job(idle()).items():
        write(folder, {rank: raw}, f"nccl_trace_rank_node{rank // 2}_{{}}")


def rewritten() -> Ranks:
    """Dumps that a script of the user's has loaded and saved again."""
    return {rank: OrderedDict(raw) for rank, raw in job(idle()).items()}


def mixed() -> Ranks:
    return {r: dump(rows, version="2.10" if r else "2.9", pg_config=world(4)) for r, rows in idle().items()}


def markup() -> Ranks:
    name = ("0", "[red]dp\x1b[2J\x1b[31m")
    return job(idle(group=name), pg_config={name: [0, 1, 2, 3]})


# Verdicts


def tutorial() -> Ranks:
    def rows(lines: Sequence[int]) -> list[Raw]:
        return [
            entry(
                n,
                sizes=[[4, 5] if line == 20 else [3, 4]],
                state="completed" if n < 3 else OPEN,
                site=("crash.py", line),
            )
            for n, line in enumerate(lines, 1)
        ]

    return job({0: rows([15, 16, 20, 24, 25]), 1: rows([15, 16, 24, 25])})


def size() -> Ranks:
    return job({r: [*steps(6), entry(7, sizes=[[1025 if r == 0 else 262144]], state=OPEN)] for r in range(8)})


def _alone(site: str) -> list[Raw]:
    return [entry(0, "recv 1<-0", group=("9", "pp"), p2p_seq=1, state=OPEN, site=(site, 8))]


def p2p_local() -> Ranks:
    """Rank 5 waits for rank 4, which its entry calls 0."""
    config = {DEFAULT: list(range(8)), ("9", "pp"): [4, 5, 6, 7]}
    rows = {r: [*steps(1), *(_alone("pipe.py") if r == 5 else [])] for r in range(8)}
    return {r: dump(e, pg_config=config if r >= 4 else world(8)) for r, e in rows.items()}


def p2p_config() -> Ranks:
    pp = ("9", "pp")
    both = {DEFAULT: [0, 1], pp: [0, 1]}
    return {
        0: dump([*steps(1), entry(0, "send 0->1", group=pp, p2p_seq=1)], pg_config=both),
        1: dump([*steps(1), entry(0, "recv 1<-0", group=pp, p2p_seq=1)], pg_config=world(2)),
    }


def ring() -> Ranks:
    n = 4
    return job(
        {
            r: [
                row
                for step in (1, 2, 3)
                for row in batch([f"send {r}->{(r + 1) % n}", f"recv {r}<-{(r - 1) % n}"], p2p_seq=step)
            ]
            for r in range(n)
        }
    )


def order() -> Ranks:
    a, b = ("1", "a"), ("2", "b")
    config = {DEFAULT: [0, 1], a: [0, 1], b: [0, 1]}

    def rows(groups: Sequence[Name]) -> list[Raw]:
        return [*steps(3), *(entry(1, group=g, state=OPEN, site=("t.py", 10 if g == a else 20)) for g in groups)]

    return job({0: rows((a, b)), 1: rows((b, a))}, pg_config=config)


def wrapped() -> Ranks:
    """Rank 0 makes ten calls in its own group for each that all make: its ring starts ten times later."""
    own = ("1", "rank0")
    config = {DEFAULT: [0, 1, 2, 3], own: [0]}
    mine = [
        row for step in range(91, 101) for row in (*(entry(step * 10 + n, group=own) for n in range(10)), entry(step))
    ]
    last = [entry(101, state=OPEN)]
    ranks = {r: dump([*steps(100), *([] if r == 2 else last)], pg_config=world(4)) for r in (1, 2, 3)}
    return {0: dump([*mine, *last], pg_config=config, first_record=990), **ranks}


def poll() -> Ranks:
    return job({r: [*steps(4), entry(5, state="completed" if r == 0 else "started")] for r in range(4)})


def early() -> Ranks:
    def rows(r: int) -> list[Raw]:
        early = [entry(s, "reduce", sizes=[[10 + r if s % 2 else 10]]) for s in range(1, 25)]
        return [*early, *([entry(25, sizes=[[8]], state=OPEN, site=("train.py", 99))] if r != 3 else [])]

    return job({r: rows(r) for r in range(4)})


def together() -> Ranks:
    """All are in the same call: a fault of the network, or a kernel that doesn't end."""
    return job({r: [*steps(3), entry(4, state=OPEN)] for r in range(4)})


def splits() -> Ranks:
    sent, received = (8, 4), (8, 8)
    early = [entry(s, "all_to_all", sizes=[[8]], outputs=[[8]]) for s in range(1, 5)]
    return job(
        {r: [*early, entry(5, "all_to_all", sizes=[[sent[r]]], outputs=[[received[r]]], state=OPEN)] for r in (0, 1)}
    )


def new_names() -> Ranks:
    return job({r: [*steps(3, op="brand_new"), *([entry(4, "brand_new", state=OPEN)] if r else [])] for r in (0, 1)})


def both_send() -> Ranks:
    return job({r: [*steps(2), entry(2, f"send {r}->{1 - r}", p2p_seq=1, state=OPEN)] for r in (0, 1)})


def skipped() -> Ranks:
    """Rank 2 leaves the 4th of six equal calls out, of which each has its line."""

    def rows(r: int) -> list[Raw]:
        lines = [line for line in range(10, 16) if (r, line) != (2, 13)]
        return [
            entry(n, site=("train.py", line), state="completed" if n < 4 else OPEN) for n, line in enumerate(lines, 1)
        ]

    return job({r: rows(r) for r in range(4)})


def silent_culprit() -> Ranks:
    """torch's dump of only what is active: the culprit's has no entries."""
    ranks = {
        r: dump([entry(9, state=OPEN)], first_record=8, pg_config=world(4), pg_status={0: (9, -1, 8)}) for r in range(3)
    }
    ranks[3] = dump([], pg_config=world(4), pg_status={0: (8, -1, 8)})
    return ranks


def replicas() -> Ranks:
    """torchft: each of two replica groups of two counts its ranks from 0, the files count them through."""
    rows = {0: steps(4), 1: steps(4), 2: steps(3), 3: [*steps(3), entry(4, state=OPEN)]}
    return {r: dump(calls, pg_config=world(2)) for r, calls in rows.items()}


def finished() -> Ranks:
    """Rank 1 had another size in a call that finished all the same."""
    return job({r: [*steps(2), entry(3, sizes=[[5 if r == 1 else 4]]), entry(4), entry(5)] for r in range(4)})


def healthy() -> Ranks:
    return job({r: steps(5) for r in range(4)})
