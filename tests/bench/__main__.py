"""frtui and torch's own analyzer on the same dumps, in turn; growth; the screen; the recorder's overhead: `make bench`.

    make bench BENCH='--ranks 64 256 1024 4096 --readme'

Each number is the median of --runs runs, of an analyzer that takes more than a minute of one.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tabulate import tabulate

from tests.bench import overhead, screen
from tests.bench.costs import Cost, measured, typical

LONG = 60
"""Seconds after which once is enough."""
LENGTHS = (1_000, 10_000, 100_000)
FEW = 8
"""Ranks of the jobs with rings of these lengths."""
TORCH = ("-m", "torch.distributed.flight_recorder.fr_trace", "-p", "nccl_trace_rank_")
FRTUI = ("-m", "frtui")


def run(arguments: tuple[str, ...], folder: Path, runs: int, expected: int | None = None) -> Cost:
    costs: list[Cost] = []
    while len(costs) < runs and (not costs or costs[0].seconds < LONG):
        costs.append(measured(*arguments, str(folder)))
        if expected is not None and costs[-1].code != expected:
            raise SystemExit(f"{' '.join(arguments)} {folder} ended with {costs[-1].code}")
    return typical(costs)


@contextmanager
def job(world: int, entries: int) -> Iterator[tuple[Path, int]]:
    with tempfile.TemporaryDirectory(prefix="frtui-bench-") as name:
        # In a process of its own: what is started counts the memory of this one as its own, until it runs its program.
        command = [sys.executable, "-m", "tests.bench.jobs", name, str(world), str(entries)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        yield Path(name), int(done.stdout)


def ranks(options: argparse.Namespace, with_torch: bool) -> None:
    rows = []
    for world in options.ranks:
        with job(world, options.entries) as (folder, size):
            first = run((*FRTUI, "report", "--quick"), folder, options.runs, 0)
            whole = run((*FRTUI, "report"), folder, options.runs, 1)
            theirs = run(TORCH, folder, options.runs) if with_torch and world <= options.torch else None
            measured(*FRTUI, "index", str(folder))
            again = run((*FRTUI, "report"), folder, options.runs, 1)
            rows.append(_row(world, size, first, whole, again, theirs))
            _tell(rows, options.readme)
            if world <= options.screen:
                (folder / "frtui.index").unlink()
                screen.tell(folder)


HEAD = (
    *("ranks", "dumps", "first answer", "verdict", "memory", "from an index"),
    *("torchfrtrace", "its memory", "faster", "less memory"),
)


def _row(world: int, size: int, first: Cost, whole: Cost, again: Cost, theirs: Cost | None) -> tuple[str, ...]:
    mine = (f"{world:,}", f"{size / 1e6:,.0f} MB", *map(_seconds, (first, whole)), _memory(whole), _seconds(again))
    if theirs is None:
        return (*mine, "", "", "", "")
    faster, less = theirs.seconds / whole.seconds, theirs.megabytes / whole.megabytes
    return (*mine, _seconds(theirs), _memory(theirs), f"{faster:.0f}x", f"{less:.1f}x")


def lengths(options: argparse.Namespace) -> None:
    rows = []
    for entries in LENGTHS:
        with job(FEW, entries) as (folder, _):
            cost = run((*FRTUI, "report"), folder, options.runs, 1)
        each = FEW * entries
        rows.append((f"{entries:,}", _seconds(cost), f"{cost.seconds / each * 1e6:.1f} us", _memory(cost)))
    print(f"\n{FEW} ranks, by the length of their rings")
    print(tabulate(rows, ("entries a rank", "verdict", "an entry", "memory"), disable_numparse=True))


def _seconds(cost: Cost) -> str:
    return f"{cost.seconds:.2f} s" if cost.seconds < 10 else f"{cost.seconds:.0f} s"


def _memory(cost: Cost) -> str:
    return f"{cost.megabytes:,.0f} MB"


def _tell(rows: list[tuple[str, ...]], readme: bool) -> None:
    form = "github" if readme else "simple"
    print("\n" + tabulate(rows, HEAD, tablefmt=form, disable_numparse=True), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, nargs="+", default=[64, 256, 1024])
    parser.add_argument("--entries", type=int, default=2000, help="a rank; 2000 is the length of torch's ring")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--torch", type=int, default=1024, metavar="N", help="torchfrtrace up to so many ranks")
    parser.add_argument("--screen", type=int, default=1024, metavar="N", help="the screen up to so many ranks")
    parser.add_argument("--readme", action="store_true", help="the table as Markdown")
    options = parser.parse_args()
    with_torch = importlib.util.find_spec("torch") is not None
    if not with_torch:
        print("torch is not installed: no comparison")
    print(f"{options.entries:,} entries a rank, {os.cpu_count()} cores")
    ranks(options, with_torch)
    lengths(options)
    if with_torch:
        overhead.main()


if __name__ == "__main__":
    main()
