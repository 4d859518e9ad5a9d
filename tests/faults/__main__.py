"""Scores the engine on jobs with a known fault: `make score`, or `python -m tests.faults [-n 10] [--torch] [-v]`."""

from __future__ import annotations

import argparse
import re
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from frtui.engine import Finding, diagnose
from frtui.load import load
from frtui.model import Job
from tests.faults import torch_says
from tests.faults.cases import KINDS, Case, make
from tests.faults.judge import Marks, judge

README = Path(__file__).parents[2] / "README.md"
BLOCK = re.compile(r"(?s)(<!-- score -->\n)(.*?)(<!-- end -->)")
COLUMNS = ("right", "kind", "ranks", "group", "quiet", "seq", "site")


def solve(case: Case, folder: Path) -> tuple[Job, list[Finding]]:
    case.save(folder)
    job = load(folder)
    return job, diagnose(job)


def told(case: Case, job: Job, findings: list[Finding]) -> str:
    """Want and got, one line."""
    f, fault = findings[0], case.fault
    group = case.plan.groups[fault.group].name[:8] if fault.group is not None else "-"
    got = job.groups[f.group].name[:8] if f.group is not None else "-"
    more = f" (+{len(findings) - 1})" if len(findings) > 1 else ""
    return (
        f"{case.name}: want {list(fault.ranks)} group {group} #{fault.seq} {fault.site}, "
        f"got {f.kind} {f.confidence} {list(f.ranks)} group {got} #{f.seq} {f.site and f.site.place}{more}"
    )


def scored(args: argparse.Namespace) -> Iterator[tuple[str, Marks, bool | None]]:
    for kind in args.kind or KINDS:
        for seed in range(args.first, args.first + args.n):
            case = make(kind, seed)
            with tempfile.TemporaryDirectory() as scratch:
                folder = Path(args.keep or scratch) / case.name
                job, findings = solve(case, folder)
                marks = judge(case, job, findings)
                torch = torch_says.right(case, folder) if args.torch else None
            if args.v and not marks.right:
                print(told(case, job, findings))
            yield kind, marks, torch


Counts = dict[str, list[int]]
"""By kind, and `all`: cases, one number per column of COLUMNS, and those that torchfrtrace has right."""


def counted(rows: Iterator[tuple[str, Marks, bool | None]]) -> Counts:
    counts: Counts = defaultdict(lambda: [0] * (len(COLUMNS) + 2))
    for kind, marks, torch in rows:
        for name in (kind, "all"):
            values = [1, *(getattr(marks, column) for column in COLUMNS), bool(torch)]
            counts[name] = [a + b for a, b in zip(counts[name], values)]
    return {**{kind: n for kind, n in counts.items() if kind != "all"}, "all": counts["all"]}


def show(counts: Counts, with_torch: bool) -> None:
    names = ["n", *COLUMNS, *(["torchfrtrace"] if with_torch else [])]
    widths = [max(7, len(name) + 1) for name in names]
    print(f"{'kind':14}" + "".join(f"{name:>{width}}" for name, width in zip(names, widths)))
    for kind, numbers in counts.items():
        print(f"{kind:14}" + "".join(f"{n:{width}}" for n, width in zip(numbers, widths)))
    print(f"right {100 * counts['all'][1] / counts['all'][0]:.1f} %")


def into_readme(counts: Counts) -> None:
    """The table of the README: cases, and how many each tool has right."""
    lines = ["| fault | cases | frtui | torchfrtrace |", "|---|---|---|---|"]
    lines += [f"| {kind.replace('_', ' ')} | {n[0]} | {n[1]} | {n[-1]} |" for kind, n in counts.items()]
    text = README.read_text(encoding="utf-8")
    table = "\n".join(lines)
    README.write_text(BLOCK.sub(lambda found: f"{found[1]}{table}\n{found[3]}", text), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("kind", nargs="*", choices=[[], *KINDS], help="kinds of fault; all of them by default")
    parser.add_argument("-n", type=int, default=10, help="cases of each kind")
    parser.add_argument("--first", type=int, default=0, metavar="SEED", help="the first seed")
    parser.add_argument("--keep", metavar="DIR", help="write the cases there")
    parser.add_argument("--torch", action="store_true", help="the same for torch's own analyzer")
    parser.add_argument("--readme", action="store_true", help="put the table into the README; implies --torch")
    parser.add_argument("-v", action="store_true", help="print the wrong ones")
    args = parser.parse_args()
    args.torch = args.torch or args.readme
    if args.torch and not torch_says.available():
        parser.error("torch is not installed")
    counts = counted(scored(args))
    show(counts, args.torch)
    if args.readme:
        into_readme(counts)


if __name__ == "__main__":
    main()
