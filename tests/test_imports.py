"""The headless commands start fast and run where neither torch nor textual is installed."""

from __future__ import annotations

import ast
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


def test_a_python_that_is_too_old_gets_to_read_so() -> None:
    """3.6 is still the `python3` of some login nodes, and knows no `from __future__ import annotations`."""
    source = (ROOT / "frtui" / "__main__.py").read_text(encoding="utf-8")
    tree = ast.parse(source, feature_version=(3, 6))
    at_once = [node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
    assert [ast.unparse(node) for node in at_once] == ["import sys"]
    assert source.index("sys.version_info < (3, 9)") < source.index("from frtui")
