"""What the README shows is what frtui prints. `python -m tests.test_readme` puts the report and the keys into it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

from frtui.arguments import COMMANDS
from frtui.tui import keys

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
BLOCK = re.compile(r"(?s)(<!-- report:(\w+) -->\n```text\n)(.*?)(```\n<!-- end -->)")

KEYS = re.compile(r"(?s)(<!-- keys -->\n)(.*?)(<!-- end -->)")


def key_table() -> str:
    """Every key, as the help page has them, two to a row."""
    families = [
        (" ".join(f"`{key}`" for key in shown.split()), told.removesuffix(" *")) for shown, told in keys.families()
    ]
    half = -(-len(families) // 2)
    rows = [(*families[n], *(families[n + half] if n + half < len(families) else ("", ""))) for n in range(half)]
    return "".join(f"| {' | '.join(row)} |\n" for row in (("key", "does", "key", "does"), ("---",) * 4, *rows))


def report(demo: str) -> str:
    command = [sys.executable, "-m", "frtui", "report", f"frtui/demo/{demo}"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False).stdout


def test_the_readme_shows_the_real_report() -> None:
    found = BLOCK.search(README.read_text(encoding="utf-8"))
    assert found
    assert found[3] == report(found[2])


def test_the_readme_lists_every_key() -> None:
    found = KEYS.search(README.read_text(encoding="utf-8"))
    assert found
    assert found[2] == key_table()


def test_the_recorded_session_is_a_cast_that_asks_nothing_of_a_terminal() -> None:
    header, *events = map(json.loads, (ROOT / "screenshots" / "session.cast").read_text(encoding="utf-8").splitlines())
    assert (header["version"], header["width"], header["height"]) == (2, 120, 32)
    times, kinds, texts = zip(*events)
    assert list(times) == sorted(times)
    assert set(kinds) == {"o"}
    told = "".join(texts)
    assert told.startswith("\x1b[1m$\x1b[0m frtui dumps/")
    assert told.rindex("\x1b[?1049l") > told.rindex("\x1b[?1049h")
    assert not re.search(r"\x1b\[\?\d+\$p|\x1b\[\?100\dh|\x1b\[c", told)


def test_the_readme_names_every_command_and_every_file_it_links() -> None:
    text = README.read_text(encoding="utf-8")
    assert all(f"`frtui {command} " in text for command in COMMANDS)
    for target in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (ROOT / target).exists(), target


def test_contributing_names_files_that_exist() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    for target in re.findall(r"`((?:frtui|tests)/[\w./]+)`", text):
        assert (ROOT / target).exists(), target


def main() -> None:
    text = README.read_text(encoding="utf-8")
    text = BLOCK.sub(lambda found: found[1] + report(found[2]) + found[4], text)
    README.write_text(KEYS.sub(lambda found: found[1] + key_table() + found[3], text), encoding="utf-8")


if __name__ == "__main__":
    main()
