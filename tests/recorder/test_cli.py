"""The command line of the recorder: what goes wrong before a script runs, or behind a pipe, is told in a line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.recorded import ring
from tests.recorder.running import ROOT, environment, needs_torch, python


@pytest.mark.parametrize("command", [["doctor"], ["env"], ["recover"]])
def test_a_reader_that_leaves_is_no_fault(command: list[str], tmp_path: Path) -> None:
    ring(tmp_path, 0, ended=1)
    arguments = [*command, str(tmp_path)] if command == ["recover"] else command
    with subprocess.Popen(
        [sys.executable, "-c", LATE, *arguments],
        env=environment(),
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        process.stdout.close()  # before it begins: it reads a line first
        process.stdout = None
        _, err = process.communicate(b"\n", timeout=60)
    assert (process.returncode, err.decode()) == (141, "")


LATE = "import sys; input(); sys.argv[0] = 'recorder'; from recorder.cli import main; sys.exit(main())"


@needs_torch
@pytest.mark.parametrize(
    ("arguments", "code", "word"),
    [
        (["--buffer", "0", "x.py"], 64, "buffer_size=0: at least 1"),
        (["nosuch.py"], 2, "can't open file 'nosuch.py': No such file or directory"),
        (["recorder"], 2, "can't open file 'recorder': Is a directory"),
        (["-m", "nosuch.module"], 1, "no module named 'nosuch'"),
        (["-m", "recorder.nosuch"], 1, "no module named 'recorder.nosuch'"),
    ],
)
def test_what_can_not_be_run_is_told_in_a_line(arguments: list[str], code: int, word: str) -> None:
    done = python("-m", "recorder", *arguments)
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.splitlines()[-1] == f"recorder: {word}"
    assert "Traceback" not in done.stderr


@needs_torch
def test_a_script_that_misses_a_module_says_where(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import nosuch\n")
    done = python("-m", "recorder", str(tmp_path / "train.py"))
    assert done.returncode == 1
    assert "Traceback" in done.stderr
    assert "train.py" in done.stderr
