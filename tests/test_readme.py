"""What the README shows is what frtui prints. `python -m tests.test_readme` puts the report into it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from frtui.cli import COMMANDS

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
BLOCK = re.compile(r"(?s)(<!-- report:(\w+) -->\n```text\n)(.*?)(```\n<!-- end -->)")


def report(demo: str) -> str:
    command = [sys.executable, "-m", "frtui", "report", f"frtui/demo/{demo}"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False).stdout


def test_the_readme_shows_the_real_report() -> None:
    found = BLOCK.search(README.read_text(encoding="utf-8"))
    assert found
    assert found[3] == report(found[2])


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
    README.write_text(BLOCK.sub(lambda found: found[1] + report(found[2]) + found[4], text), encoding="utf-8")


if __name__ == "__main__":
    main()
