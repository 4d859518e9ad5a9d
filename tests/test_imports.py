"""The headless commands start fast and run where neither torch nor textual is installed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from frtui.demo import ABOUT

ROOT = Path(__file__).parent.parent

PROBE = """
import sys
from frtui.cli import main
main(sys.argv[1:])
print(",".join(sorted({name.partition(".")[0] for name in sys.modules})), file=sys.stderr)
"""


def modules(*arguments: str) -> set[str]:
    command = [sys.executable, "-c", PROBE, *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
    return set(done.stderr.splitlines()[-1].split(","))


@pytest.mark.parametrize("name", ABOUT)
@pytest.mark.parametrize("command", [["report"], ["report", "--format", "json"], ["entries"], ["entries", "--stack"]])
def test_headless_commands_import_neither_torch_nor_the_screen(command: list[str], name: str) -> None:
    loaded = modules(command[0], f"frtui/demo/{name}", *command[1:])
    assert not loaded & {"torch", "textual", "rich", "numpy", "recorder"}


def test_the_screen_is_there_before_what_reads_and_judges() -> None:
    code = "import frtui.tui.app, sys; print(*(name for name in sys.modules if name.startswith('frtui')))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = {".".join(name.split(".")[:2]) for name in done.stdout.split()}
    assert "frtui.tui" in loaded
    assert not loaded & {"frtui.load", "frtui.engine", "frtui.report", "frtui.entries"}


def test_help_imports_almost_nothing() -> None:
    assert not modules("--help") & {"torch", "textual", "rich", "tabulate", "json", "pickle", "typing", "pathlib"}
