"""What torchfrtrace and frtui make of the same folders: `python -m tests.parity [NAME...] [--write]`."""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import pickle
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

from frtui.exits import FAULT, NO_HANG
from tests.dumps import as_json
from tests.parity.cases import CASES, FILES, JOBS, OPTIONS, SERVED, Case
from tests.parity.jobs import marker

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "parity.md"
BLOCK = re.compile(r"(?s)(<!-- cases -->\n)(.*?)(<!-- end -->)")
TABLES = (("Files", FILES), ("Jobs", JOBS), ("Printing", OPTIONS))
WIDTH = 76
"""Of what a tool says, in the table."""

NAMES = re.compile(r"(?:missing ranks: |Missing dump files from ranks |missed FR dumps from ranks \()\{([\d, ]+)\}")
CULPRIT = re.compile(r"Culprit rank (\d+)")

_servers = multiprocessing.get_context("forkserver")
_servers.set_forkserver_preload(["torch.distributed.flight_recorder.fr_trace"])


@dataclass(frozen=True)
class Outcome:
    """What one tool did."""

    code: int | None
    """None where it had to be ended."""
    text: str
    line: str
    """The first line of its answer, the exception that it died of, or the count that the case asks for."""
    ranks: tuple[int, ...]
    crashed: bool
    wrote: bool
    ran: bool
    """Whether it ran what a pickle told it to."""

    def right(self, case: Case) -> bool:
        # To be silent about a job that hangs is not to be right, even where nobody is to blame.
        spoke = bool(self.text.strip()) or case.code == NO_HANG
        return case.truth == self.ranks and spoke and (bool(case.truth) or not self.crashed)


def torchfrtrace(case: Case, scratch: Path) -> Outcome:
    code, text = _forked(_analyse, scratch, case.limit_s, _arguments(case.torch, scratch), case.backwards)
    if code is None:
        return _outcome(case, scratch, None, "", f"(no end after {case.limit_s:.0f} s)", ())
    lines = [line for line in text.splitlines() if line.strip()] or ["(nothing)"]
    crashed = "Traceback (most recent call last)" in text
    first = lines[-1] if crashed else _counted(case, text) or lines[0]
    named = [*CULPRIT.findall(text), *re.findall(r"\d+", " ".join(NAMES.findall(text)))]
    return _outcome(case, scratch, code, text, first, tuple(sorted({int(rank) for rank in named})), crashed)


def debug_server(case: Case, scratch: Path) -> Outcome:
    """What its page of the flight recorder is made of, where the ranks answer with the dumps of this case."""
    code, text = _forked(_serve, scratch, case.limit_s, str(scratch / "dumps"))
    crashed = "Traceback (most recent call last)" in text
    first = (text.strip().splitlines() or [""])[-1]
    ranks = () if crashed else tuple(sorted(map(int, re.findall(r"\d+", first.partition(": ")[2]))))
    return _outcome(case, scratch, code, text, first, ranks, crashed)


def _forked(target: Callable[..., None], scratch: Path, limit_s: float, *arguments: Any) -> tuple[int | None, str]:
    """Exit code and all that it prints, in a process of its own that has torch already: its import takes seconds."""
    printed = scratch / "printed"
    process = _servers.Process(target=_redirected, args=(target, str(printed), arguments))
    process.start()
    process.join(limit_s)
    if process.is_alive():
        process.kill()
        process.join()
        return None, ""
    return process.exitcode, printed.read_text(encoding="utf-8", errors="replace")


def _redirected(target: Callable[..., None], printed: str, arguments: tuple[Any, ...]) -> None:
    handle = os.open(printed, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(handle, 1)
    os.dup2(handle, 2)
    target(*arguments)


def _analyse(arguments: Sequence[str], backwards: bool) -> None:
    walk = os.walk

    def sorted_walk(top: str) -> Iterable[tuple[str, list[str], list[str]]]:
        # It takes the files as the file system lists them, and what it says depends on that.
        for folder, folders, files in walk(top):
            folders.sort(reverse=backwards)
            yield folder, folders, sorted(files, reverse=backwards)

    os.walk = sorted_walk  # type: ignore[assignment]
    from torch.distributed.flight_recorder.fr_trace import main as analyse

    analyse(list(arguments))


def _serve(folder: str) -> None:
    from torch.distributed.debug._debug_handlers import FlightRecorderHandler
    from torch.distributed.debug._frontend import Response

    dumps = [pickle.loads(path.read_bytes()) for path in sorted(Path(folder).iterdir())]
    answers = [Response(200, json.dumps(as_json(raw))) for raw in dumps]
    db = FlightRecorderHandler._build_db(["http://rank"] * len(answers), answers)
    named = {
        rank for call in db.collectives for rank in (*(call.missing_ranks or ()), *(call.mismatch_collectives or ()))
    }
    failed = sum(not call.pass_check or bool(call.missing_ranks) for call in db.collectives)
    sys.stderr.flush()
    print(f"{failed} of {len(db.collectives)} collectives with missing or differing ranks: {sorted(named)}")


def frtui(case: Case, scratch: Path) -> Outcome:
    command = [sys.executable, "-m", "frtui", *_arguments(case.frtui, scratch)]
    command += ["--format", "json"] if case.frtui[0] == "report" else []
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    crashed = ended.returncode == FAULT or "Traceback" in ended.stderr
    if ended.stdout.startswith("{"):
        verdict = json.loads(ended.stdout)["verdict"]
        line, ranks = verdict["headline"], tuple(verdict["ranks"])
    else:
        line, ranks = _counted(case, ended.stdout) or _complaint(ended.stderr), ()
    return _outcome(case, scratch, ended.returncode, ended.stdout + ended.stderr, line, ranks, crashed)


def _complaint(errors: str) -> str:
    """Without the usage that argparse prints before."""
    return next((line for line in errors.splitlines() if line.startswith(("frtui", "wrote"))), "")


def _arguments(options: Sequence[str], scratch: Path) -> list[str]:
    places = {"DIR": str(scratch / "dumps"), "OUT": str(scratch / "out")}
    return [places.get(option, option) for option in options]


def _counted(case: Case, text: str) -> str:
    return f"{text.count(case.counts)} × {case.counts}" if case.counts else ""


def _outcome(
    case: Case,
    scratch: Path,
    code: int | None,
    text: str,
    line: str,
    ranks: tuple[int, ...],
    crashed: bool = False,
) -> Outcome:
    """Leaves the folder as it was for the next tool."""
    ran, out = marker(scratch / "dumps"), scratch / "out"
    done = Outcome(code, text, _without(line, scratch), ranks, crashed, out.exists(), ran.exists())
    if done.ran:
        ran.rmdir()
    out.unlink(missing_ok=True)
    return done


def _without(line: str, scratch: Path) -> str:
    """`line` without the temporary folder, in which no two runs agree."""
    return line.replace(str(scratch / "dumps"), "DIR").replace(str(scratch / "out"), "OUT")


Outcomes = tuple[Outcome, Outcome, Optional[Outcome]]
"""Of torchfrtrace, frtui, and for some cases the debug server."""


def outcomes_of(case: Case) -> Outcomes:
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        case.make(scratch / "dumps")
        served = debug_server(case, scratch) if case.name in SERVED else None
        return torchfrtrace(case, scratch), frtui(case, scratch), served


def all_of(cases: Sequence[Case]) -> dict[str, Outcomes]:
    with ThreadPoolExecutor(2) as pool:
        return dict(zip((case.name for case in cases), pool.map(outcomes_of, cases)))


def tables(outcomes: dict[str, Outcomes]) -> str:
    """As Markdown, a table for each kind of case."""
    parts = []
    for title, cases in TABLES:
        judged = cases is not OPTIONS
        head = ["input", *(["true"] if judged else []), "torchfrtrace", "", "frtui", ""]
        rows = [_row(case, *outcomes[case.name][:2]) for case in cases]
        rows += [_sum(cases, outcomes)] if judged else []
        parts.append(_table(title, head, rows))
    return "\n" + "\n".join([*parts, _served(outcomes)]) + "\n"


def _served(outcomes: dict[str, Outcomes]) -> str:
    rows = []
    for case in CASES:
        _, ours, server = outcomes[case.name]
        if server is not None:
            rows.append([f"*{case.name}*", _ranks(case.truth), *_cells(case, server), *_cells(case, ours)])
    return _table("The debug server's page", ["input", "true", "debug server", "", "frtui", ""], rows)


def _table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [_line(head), _line(["---"] * len(head)), *map(_line, rows)]
    return f"### {title}\n\n" + "".join(lines)


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |\n"


def _row(case: Case, torch: Outcome, ours: Outcome) -> list[str]:
    truth = [_ranks(case.truth)] if case not in OPTIONS else []
    return [f"*{case.name}*: {case.about}", *truth, *_cells(case, torch), *_cells(case, ours)]


def _cells(case: Case, done: Outcome) -> tuple[str, str]:
    """How it ended, and what it said."""
    code = "no end" if done.code is None else f"exit {done.code}"
    marks = [code, *(["traceback"] if done.crashed else [])]
    if case.truth is not None:
        marks.append(f"{'right' if done.right(case) else 'wrong'}: {_ranks(done.ranks)}")
    marks += ["ran the code"] * done.ran
    marks += ["wrote the file"] * done.wrote
    return ", ".join(marks), _code(done.line)


def _ranks(ranks: tuple[int, ...] | None) -> str:
    if ranks is None:
        return "–"
    return ", ".join(map(str, ranks)) or "nobody"


def _code(line: str) -> str:
    """As code in a cell of a table."""
    short = line if len(line) <= WIDTH else line[: WIDTH - 1] + "…"
    visible = "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in short)
    return f"`{visible.replace('`', chr(39)).replace('|', chr(92) + '|')}`" if visible else ""


def _sum(cases: Sequence[Case], outcomes: dict[str, Outcomes]) -> list[str]:
    judged = [case for case in cases if case.truth is not None]
    torch, ours = (sum(done.right(case) for case, done in column) for column in _columns(judged, outcomes))
    return [f"right, of {len(judged)}", "", str(torch), "", str(ours), ""]


def _columns(cases: Sequence[Case], outcomes: dict[str, Outcomes]) -> tuple[list[tuple[Case, Outcome]], ...]:
    return [(case, outcomes[case.name][0]) for case in cases], [(case, outcomes[case.name][1]) for case in cases]


def options() -> list[str]:
    """Every option of torchfrtrace, in all its spellings."""
    from torch.distributed.flight_recorder.components.config_manager import JobConfig

    actions: Any = JobConfig().parser._actions
    return [name for action in actions for name in action.option_strings or [action.dest] if action.dest != "help"]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.parity", description=__doc__)
    parser.add_argument("name", nargs="*", help="cases; all of them by default")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/parity.md")
    args = parser.parse_args()
    cases = [case for case in CASES if not args.name or case.name in args.name or args.write]
    outcomes = all_of(cases)
    for case in cases:
        print(f"{case.name}: {case.about}; true: {_ranks(case.truth)}")
        for tool, done in zip(("torchfrtrace", "frtui", "debug server"), outcomes[case.name]):
            if done is None:
                continue
            print(f"  {tool:14}{_cells(case, done)[0]}: {ascii(done.line)[1:-1]}")
    if args.write:
        text = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(BLOCK.sub(lambda found: found[1] + tables(outcomes) + found[3], text), encoding="utf-8")


if __name__ == "__main__":
    # A new process finds functions by the name of their module, and `__main__` of a package isn't one.
    from tests.parity.__main__ import main as found_by_name

    found_by_name()
