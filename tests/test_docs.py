"""What the documentation says is so: commands run, verdicts are what frtui prints, every kind, word and link is there.

`python -m tests.test_docs` puts the verdicts into docs/verdicts.md.

A line that begins with `frtui ` or `.venv/bin/frtui `, in a block of `sh` or indented by four, is a command. It is run
without a terminal, beside a copy of the demos, and ends with 0 or 1, or as its comment says: `# ends with 2`. Where a
block of `text` follows its block, that is part of what it prints. A command with a placeholder (DIR, "$DUMPS", an
absolute path, an address) is parsed only.
"""

from __future__ import annotations

import ast
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from frtui.arguments import parse
from frtui.engine import diagnose
from frtui.load import load
from frtui.report import render
from tests.dumps import Raw, batch, dump, entry, write
from tests.engine.jobs import OPEN, steps, world
from tests.faults.cases import make
from tests.recorded import failure, recorded

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
VERDICTS, TROUBLE = ROOT / "docs" / "verdicts.md", ROOT / "docs" / "troubleshooting.md"
OWN_KEYS = {"processes", "hosts"}
"""Of the JSON report: what is in these is told elsewhere, or is a rank."""

HEADLINE = re.compile(r"(?s)(<!-- headline: ([^>]+) -->\n```text\n)(.*?)(```)")
BLOCKS = re.compile(r"(?ms)^( *)```(\w*)\n(.*?)^\1```$(?:\n\n^\1```text\n(.*?)^\1```$)?")
"""Indent, language, text, and that of a block of `text` right below it."""
LINK = re.compile(r"\]\(([^)#\s]*)(#[^)\s]+)?\)")
PLACEHOLDER = re.compile(r"[A-Z]+|/.*|.*\$.*|.*://.*")
KIND = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)+")


# Commands


class Command(NamedTuple):
    page: str
    words: tuple[str, ...]
    """Without the program."""
    ends: int | None = None
    """Its exit code, where its comment says one."""
    prints: str = ""

    @property
    def runs(self) -> bool:
        return not any(PLACEHOLDER.fullmatch(word) for word in self.words)


def commands(page: Path) -> Iterator[Command]:
    text = page.read_text(encoding="utf-8")
    for indent, language, body, printed in BLOCKS.findall(text):
        found = [command for line in body.splitlines() if (command := _command(page, line))] if language == "sh" else []
        yield from found[:-1]
        shown = re.sub(f"(?m)^{indent}", "", printed)
        yield from (command._replace(prints=shown) for command in found[-1:])
    for line in BLOCKS.sub("", text).splitlines():
        command = _command(page, line) if line.startswith("    ") else None
        if command:
            yield command


def _command(page: Path, line: str) -> Command | None:
    line = line.strip()
    line = line[2:] if line.startswith("$ ") else line
    if not re.match(r"(?:\.venv/bin/)?frtui ", line):
        return None
    told = re.search(r"# ends with (\d+)$", line)
    words = shlex.shlex(line, posix=True, punctuation_chars=True)
    words.whitespace_split = True
    return Command(page.name, tuple(_own(words))[1:], int(told[1]) if told else None)


def _own(words: Iterable[str]) -> Iterator[str]:
    """Up to a pipe, a redirection or another command."""
    for word in words:
        if set(word) <= set("|&;<>()"):
            return
        yield word


ALL = [command for page in PAGES for command in commands(page)]
RUN = [command for command in ALL if command.runs]


def said(command: Command) -> str:
    return f"{command.page}: {' '.join(command.words)}"


@pytest.mark.parametrize("command", RUN, ids=said)
def test_commands_run(command: Command, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "frtui" / "demo", tmp_path / "frtui" / "demo", ignore=shutil.ignore_patterns("*.py", "__*"))
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-m", "frtui", *command.words],
        cwd=tmp_path,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    assert done.returncode in ((0, 1) if command.ends is None else (command.ends,)), done.stdout
    assert command.prints in done.stdout


@pytest.mark.parametrize("command", ALL, ids=said)
def test_commands_are_spelt_as_frtui_knows_them(command: Command) -> None:
    assert parsed(command.words)


def parsed(words: Iterable[str]) -> bool:
    try:
        parse(list(words))
    except SystemExit as end:
        return end.code == 0  # --help and --version
    return True


def test_commands_in_the_text_are_spelt_as_frtui_knows_them() -> None:
    spans = [span for page in PAGES for span in re.findall(r"`frtui ([^`\[…]+)`", page.read_text(encoding="utf-8"))]
    asked = [words for words in map(shlex.split, spans) if any(word.isupper() for word in words)]
    assert ["report", "DIR"] in asked
    assert [words for words in asked if not parsed(words)] == []


def test_a_command_ends_where_the_shell_goes_on() -> None:
    assert _command(ROOT, '    frtui report "$DUMPS" || exit 1') == Command(ROOT.name, ("report", "$DUMPS"))
    assert _command(ROOT, "frtui report x | head  # ends with 2") == Command(ROOT.name, ("report", "x"), 2)
    assert _command(ROOT, "frtuix report x") is None
    assert len(RUN) > 5
    assert len(ALL) > len(RUN)


# Verdicts


def all_to_all(sent: int) -> list[Raw]:
    site = ("moe.py", 40)
    usual = [entry(seq, "all_to_all", sizes=[[8]], outputs=[[8]], site=site) for seq in range(1, 5)]
    return [*usual, entry(5, "all_to_all", sizes=[[sent]], outputs=[[8]], site=site, state=OPEN)]


def crossed(first: str, second: str) -> Any:
    names, lines = {"tp": "1", "dp": "2"}, {"tp": 30, "dp": 61}
    rows = [entry(1, group=(names[g], g), site=("train.py", lines[g]), state=OPEN) for g in (first, second)]
    return dump(rows, pg_config={(name, desc): [0, 1] for desc, name in names.items()})


def passed(op: str, numel: int, line: int) -> Any:
    half = entry(2, op, sizes=[[numel]], p2p_seq=1, state=OPEN, site=("pipe.py", line))
    return dump([*steps(2), half], pg_config=world(2))


def rooted(root: int) -> Raw:
    return {**entry(3, "broadcast", sizes=[[1]], state=OPEN, site=("config.py", 14)), "root_rank": root}


def first_of(rank: int) -> Any:
    group = ("7", "ep")
    config = world(4) if rank == 1 else {**world(4), group: range(4)}
    return dump([*steps(4), entry(1, group=group, state=OPEN, site=("moe.py", 40))], pg_config=config)


JOBS: dict[str, Callable[[], dict[int, Any]]] = {
    "any-source": lambda: {
        r: dump([*steps(2), *([] if r else [entry(2, "recv 0<-?", p2p_seq=1, state=OPEN)])], pg_config=world(3))
        for r in range(3)
    },
    "before-the-first-call": lambda: {
        r: recorded(dump([], pg_config=world(4)), r, reason="SIGTERM") for r in range(4) if r != 1
    },
    "batch": lambda: {
        r: dump([*steps(2), *batch(["all_reduce", "broadcast" if r == 1 else "all_reduce"], seq=3, state=OPEN)])
        for r in range(4)
    },
    "crossed": lambda: {0: crossed("tp", "dp"), 1: crossed("dp", "tp")},
    "empty": lambda: {r: dump([], pg_config=world(4)) for r in range(4)},
    "gloo-one-missing": lambda: {r: dump(steps(4, backend="gloo")) for r in (0, 1, 3)},
    "init": lambda: {r: first_of(r) for r in range(4)},
    "queued": lambda: {
        r: dump([*steps(4), entry(5, state="scheduled" if r == 2 else "started")], pg_config=world(4)) for r in range(4)
    },
    "raised": lambda: {
        r: {**recorded(dump(steps(3), pg_config=world(4)), r), **({"exception": failure()} if r == 1 else {})}
        for r in range(4)
    },
    "root": lambda: {r: dump([*steps(2), rooted(2 if r == 2 else 0)], pg_config=world(4)) for r in range(4)},
    "split": lambda: {r: dump(all_to_all(12 if r == 1 else 8), pg_config=world(2)) for r in range(2)},
    "tie": lambda: {r: dump([entry(1, sizes=[[4 + r]], state=OPEN)], pg_config=world(2)) for r in range(2)},
    "two-ends": lambda: {0: passed("send 0->1", 8, 12), 1: passed("recv 1<-0", 6, 18)},
}
"""Jobs that neither ship with frtui nor are in tests/faults."""


def headline(what: str) -> str:
    """The first paragraph that `frtui report` prints of `demo NAME`, `faults KIND SEED` or `job NAME`."""
    source, name, *seed = what.split()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        if source == "demo":
            folder = ROOT / "frtui" / "demo" / name
        elif source == "faults":
            make(name, int(*seed)).save(folder)
        else:
            write(folder, JOBS[name]())
        job = load(folder)
    return render(job, diagnose(job), "text").decode().partition("\n\n")[0] + "\n"


def sections(page: Path, level: str = "###") -> dict[str, str]:
    """Title, without backticks -> what stands below it."""
    parts = re.split(rf"(?m)^{level} (.+)\n", page.read_text(encoding="utf-8"))
    return {title.replace("`", ""): body for title, body in zip(parts[1::2], parts[2::2])}


def kinds() -> set[str]:
    """Every kind of finding in the engine: as it is handed to Finding or compose, or with a hyphen on its way there."""
    found: set[str] = set()
    for path in (ROOT / "frtui" / "engine").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and KIND.fullmatch(node.value):
                found.add(node.value)
            place = {"Finding": 0, "compose": 1}.get(_called(node), -1)
            found |= _texts(node.args[place]) if isinstance(node, ast.Call) and len(node.args) > place >= 0 else set()
    return found


def _called(node: ast.AST) -> str:
    return node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""


def _texts(node: ast.AST) -> set[str]:
    """The words that an expression may be."""
    nodes = [n.value for n in ast.walk(node) if isinstance(n, ast.Constant)]
    return {text for text in nodes if isinstance(text, str)}


def test_every_kind_of_finding_has_a_section_and_every_section_is_a_kind() -> None:
    found = kinds()
    assert {"stale", "straggler", "inconclusive", "size-mismatch", "p2p-unmatched"} < found
    titled = re.findall(r"(?m)^### `(.+)`$", VERDICTS.read_text(encoding="utf-8"))
    assert sorted(titled) == sorted(found)
    assert re.findall(r"(?m)^\| \[`(.+?)`\]", VERDICTS.read_text(encoding="utf-8")) != []
    assert sorted(re.findall(r"(?m)^\| \[`(.+?)`\]", VERDICTS.read_text(encoding="utf-8"))) == sorted(found)


@pytest.mark.parametrize("kind", sorted(kinds()))
def test_a_section_shows_what_frtui_prints_of_such_a_job(kind: str) -> None:
    shown = HEADLINE.findall(sections(VERDICTS)[kind])
    assert shown
    for _, what, printed, _ in shown:
        assert printed == headline(what)
        assert printed.startswith(f"{kind.upper()} (")


def keys(value: Any) -> set[str]:
    if isinstance(value, list):
        return set().union(*map(keys, value))
    if not isinstance(value, dict):
        return set()
    return set(value).union(*(keys(item) for key, item in value.items() if key not in OWN_KEYS))


@pytest.mark.parametrize("demo", ["tutorial", "loader"])
def test_every_field_of_the_json_report_is_told(demo: str) -> None:
    job = load(ROOT / "frtui" / "demo" / demo)
    told = set(re.findall(r"`(\w+)`", sections(VERDICTS, "##")["The JSON report"]))
    found = keys(json.loads(render(job, diagnose(job), "json")))
    assert {"schema", "world_size", "via", "internal"} < found
    assert found - told == set()


# Problems with files


def words() -> set[str]:
    """Every word of Problem.problem: those that the loader writes, and those that the model lists."""
    listed = re.search(
        r'One word for scripts: (.*?)"""', (ROOT / "frtui" / "model.py").read_text(encoding="utf-8"), re.S
    )
    found = set(re.findall(r"`([a-z-]+)`", listed[1] if listed else ""))
    for path in (ROOT / "frtui" / "load").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            place = {"Problem": 2, "Unusable": 0}.get(_called(node), -1)
            found |= _texts(node.args[place]) if isinstance(node, ast.Call) and len(node.args) > place >= 0 else set()
    return found


def test_every_word_of_a_problem_is_told() -> None:
    assert {"truncated", "old-ring", "newer-version"} < words()
    told = re.findall(r"(?m)^\| `(.+?)` \|", sections(TROUBLE, "##")["A file could not be read"])
    assert sorted(told) == sorted(words())


# Links


def slugs(page: Path) -> set[str]:
    """The anchors of a page, as GitHub makes them."""
    titles = re.findall(r"(?m)^#+ (.+)$", BLOCKS.sub("", page.read_text(encoding="utf-8")))
    return {"#" + re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def links() -> Iterator[tuple[Path, Path, str]]:
    """(page, where a link of it leads, anchor)."""
    for page in [*PAGES, ROOT / "CONTRIBUTING.md"]:
        for target, anchor in LINK.findall(BLOCKS.sub("", page.read_text(encoding="utf-8"))):
            if ":" not in target:
                yield page, page.parent / target if target else page, anchor


def test_links_lead_somewhere() -> None:
    found = list(links())
    assert len(found) > 20
    assert [(page.name, target) for page, target, _ in found if not target.exists()] == []
    assert [(page.name, anchor) for page, target, anchor in found if anchor and anchor not in slugs(target)] == []


def main() -> None:
    text = VERDICTS.read_text(encoding="utf-8")
    text = HEADLINE.sub(lambda found: f"{found[1]}{headline(found[2])}{found[4]}", text)
    VERDICTS.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
