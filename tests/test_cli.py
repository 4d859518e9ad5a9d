"""The command line as a person or a script meets it: another process, real dumps, real pipes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from frtui.demo import ABOUT
from tests.dumps import dump, entry, write

ROOT = Path(__file__).parent.parent
DEMO = ROOT / "frtui" / "demo"


def frtui(*arguments: object) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "frtui", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, stdin=subprocess.DEVNULL, timeout=60, check=False)


@pytest.mark.parametrize("name", ABOUT)
def test_every_demo_is_a_hang(name: str) -> None:
    done = frtui("report", DEMO / name)
    assert done.returncode == 1, done.stderr
    assert done.stderr == b""


def test_a_job_that_finished_is_no_hang(tmp_path: Path) -> None:
    calls = [entry(seq) for seq in range(1, 6)]
    write(tmp_path, {rank: dump(calls, pg_config={("0", "default_pg"): [0, 1]}) for rank in (0, 1)})
    done = frtui("report", tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(b"NO-HANG")


@pytest.mark.parametrize("command", [["report"], ["entries"], []])
def test_an_unreadable_folder_is_named_and_explained(command: list[str], tmp_path: Path) -> None:
    for folder in (tmp_path / "absent", tmp_path):
        done = frtui(*command, folder)
        assert done.returncode == 2
        assert done.stdout == b""
        assert str(folder).encode() in done.stderr
        assert b"Traceback" not in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["report"],
        ["report", "x", "--format", "xml"],
        ["compare", "frtui/demo/tutorial"],
        ["report", "x", "--no-such-option"],
        ["report", "frtui/demo/tutorial", "--finding", "0"],
        ["report", "frtui/demo/tutorial", "--finding", "2"],
        ["x", "y"],
        ["demo", "no-such-demo"],
        ["entries", "frtui/demo/tutorial", "--selected-ranks", "two"],
        ["entries", "frtui/demo/tutorial", "--selected-ranks", "7"],
        ["entries", "frtui/demo/tutorial", "--selected-ranks", "0-" + "9" * 5_000],
        ["entries", "frtui/demo/tutorial", "--pg-filters", "pp"],
    ],
)
def test_wrong_usage_is_64(arguments: list[str]) -> None:
    done = frtui(*arguments)
    assert done.returncode == 64
    assert done.stdout == b""
    assert b"Traceback" not in done.stderr


def test_a_mistyped_command_is_recognised() -> None:
    done = frtui("reprt", DEMO / "tutorial")
    assert done.returncode == 64
    assert b"did you mean `frtui report`?" in done.stderr


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["report", "--help"], ["demo", "--list"]])
def test_what_only_informs_is_0_and_on_stdout(arguments: list[str]) -> None:
    done = frtui(*arguments)
    assert done.returncode == 0
    assert b"frtui" in done.stdout or b"tutorial" in done.stdout
    assert done.stderr == b""


@pytest.mark.parametrize("command", [[DEMO / "tutorial"], ["demo"], ["demo", "tutorial"]])
def test_without_a_terminal_the_screen_is_the_report(command: list[object]) -> None:
    done = frtui(*command)
    report = frtui("report", DEMO / "tutorial")
    assert done.stdout == report.stdout
    assert done.returncode == report.returncode == 1
    assert b"not both a terminal" in done.stderr


def test_a_folder_named_like_a_command(tmp_path: Path) -> None:
    (tmp_path / "report").symlink_to(DEMO / "tutorial")
    command = [sys.executable, "-m", "frtui", "./report"]
    done = subprocess.run(
        command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, timeout=60, check=False
    )
    assert done.returncode == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["report", DEMO / "idle"],
        ["report", DEMO / "idle", "--format", "json"],
        ["report", DEMO / "idle", "--format", "markdown"],
        ["report", DEMO / "idle", "--format", "html"],
        ["entries", DEMO / "idle"],
        ["entries", DEMO / "idle", "--format", "csv"],
    ],
)
def test_o_writes_the_bytes_of_stdout(arguments: list[object], tmp_path: Path) -> None:
    target = tmp_path / "out"
    target.write_text("older report")
    printed, written = frtui(*arguments), frtui(*arguments, "-o", target)
    assert written.returncode == printed.returncode
    assert written.stdout == b""
    assert target.read_bytes() == printed.stdout
    assert list(tmp_path.iterdir()) == [target]


def test_o_into_a_folder_that_is_not_there(tmp_path: Path) -> None:
    target = tmp_path / "absent" / "out"
    done = frtui("report", DEMO / "idle", "-o", target)
    assert done.returncode == 2
    assert str(target).encode() in done.stderr


def test_a_full_disk_is_told_in_one_line() -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full")
    with open("/dev/full", "wb") as full:
        command = [sys.executable, "-m", "frtui", "report", str(DEMO / "idle")]
        done = subprocess.run(command, cwd=ROOT, stdout=full, stderr=subprocess.PIPE, timeout=60, check=False)
    assert done.returncode == 2
    assert done.stderr.count(b"\n") == 1


def test_a_reader_that_leaves_early() -> None:
    command = [sys.executable, "-m", "frtui", "entries", str(DEMO / "idle")]
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(command, cwd=ROOT, stdout=writer, stderr=subprocess.PIPE, timeout=60, check=False)
    os.close(writer)
    assert done.returncode == 141
    assert done.stderr == b""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals_end_it_cleanly(number: signal.Signals, code: int, tmp_path: Path) -> None:
    calls = [entry(seq) for seq in range(1, 3000)]
    one = dump(calls, pg_config={("0", "default_pg"): range(64)})
    write(tmp_path, dict.fromkeys(range(64), one))
    command = [sys.executable, "-m", "frtui", "report", str(tmp_path)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    time.sleep(1)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == code, err
    assert out == b""
    assert b"Traceback" not in err


def test_progress_goes_to_a_terminal_and_is_wiped() -> None:
    pty = pytest.importorskip("pty")
    watched, terminal = pty.openpty()
    command = [sys.executable, "-m", "frtui", "report", "frtui/demo/idle"]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=terminal, timeout=60, check=False)
    os.close(terminal)
    told = os.read(watched, 10_000)
    assert b"reading 4 of 4 files" in told
    assert told.endswith(b"\r\x1b[K")
    assert done.stdout == frtui("report", "frtui/demo/idle").stdout


def test_options_of_torchs_analyzer_are_accepted() -> None:
    arguments = ["-j", "--allow-incomplete-ranks", "-p", "nccl_trace_rank_", "--selected-ranks", "0", "2-3"]
    done = frtui("entries", DEMO / "idle", *arguments, "--pg-filters", "tp", "dp", "--print_stack_trace")
    assert done.returncode == 0, done.stderr
    header = done.stdout.decode().splitlines()[0].split("  ")
    assert [cell.strip() for cell in header if cell.strip()] == ["group", "call", "rank 0", "rank 2", "rank 3"]


def test_ascii_holds_only_ascii(tmp_path: Path) -> None:
    calls = [
        entry(1, site=("träin.py", 3)),
        entry(2, sizes=[[4]], outputs=[[2, 4]], state="scheduled", site=("ü.py", 3)),
    ]
    write(tmp_path, {0: dump(calls, pg_config={("0", "ü"): [0]})})
    for command in ("report", "entries"):
        done = frtui(command, tmp_path, "--ascii")
        assert done.stdout.isascii(), done.stdout


def test_json_is_the_documented_object() -> None:
    done = frtui("report", "frtui/demo/tutorial", "--format", "json")
    report = json.loads(done.stdout)
    assert report["schema"] == 1
    assert report["source"] == "frtui/demo/tutorial"
    assert report["job"]["world_size"] == 2
    assert report["verdict"] == report["findings"][0]
    assert report["verdict"]["ranks"] == [0]
    assert report["verdict"]["kind"] == "extra-call"
    assert report["verdict"]["call_site"].startswith("/tmp/job/train.py:")
