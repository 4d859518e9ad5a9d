"""What is handed on: one file that runs alone, a wheel and an sdist."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from frtui import __version__
from tests.tui.terminal import Terminal

ROOT = Path(__file__).parents[1]
NEWEST, OLDEST = 14, 9


def run(*command: str | Path, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # type: ignore[call-overload,no-any-return]
        list(map(str, command)), capture_output=True, text=True, timeout=300, check=False, **options
    )


def works(python: str) -> bool:
    """Not only a name that a version manager keeps for what is not installed."""
    return shutil.which(python) is not None and run(python, "-c", "").returncode == 0


def interpreters() -> list[str]:
    """The oldest and the newest Python that are here."""
    found = [f"python3.{minor}" for minor in range(OLDEST, NEWEST + 1)]
    managed = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser() / "versions"
    found += [str(path) for path in sorted(managed.glob("3.*/bin/python"))]
    versions: dict[tuple[int, ...], str] = {}
    for python in filter(works, found):
        told = run(python, "-c", "import sys; print(*sys.version_info[:2])").stdout
        version = tuple(map(int, told.split()))
        if version >= (3, OLDEST):
            versions.setdefault(version, python)
    return [versions[version] for version in {min(versions): 0, max(versions): 0}] if versions else [sys.executable]


@pytest.fixture(scope="module")
def pyz(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file, alone in a folder."""
    made, alone = tmp_path_factory.mktemp("made"), tmp_path_factory.mktemp("alone")
    # -o: what it is made with is here already, and is not to be made anew.
    own = [f"VENV={sys.prefix}", "-o", f"{sys.prefix}/.demo", f"BUILD={made}/build", f"DIST={made}/dist"]
    done = run("make", "zipapp", *own, cwd=ROOT)
    if done.returncode and re.search("Could not find a version|ConnectionError|No matching distribution", done.stderr):
        pytest.skip("pip finds no packages to build it from")
    assert done.returncode == 0, done.stderr
    return Path(shutil.copy(made / "dist" / "frtui.pyz", alone))


@pytest.mark.parametrize("which", [0, -1], ids=["oldest", "newest"])
def test_one_file_runs_alone(pyz: Path, which: int, tmp_path: Path) -> None:
    """Without an environment, packages, a home or a network."""
    python = interpreters()[which]
    dumps = shutil.copytree(ROOT / "frtui" / "demo" / "tutorial", tmp_path / "dumps")
    bare = {"env": {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "LANG": "C.UTF-8"}, "cwd": tmp_path}
    where = shutil.which(python) or python
    assert run(where, "-I", pyz, "--version", **bare).stdout.startswith(f"frtui {__version__} (Python 3.")
    report = run(where, "-I", pyz, "report", dumps, **bare)
    assert (report.returncode, report.stderr) == (1, "")
    assert report.stdout == run(sys.executable, "-m", "frtui", "report", dumps, cwd=ROOT).stdout
    assert run(where, "-I", pyz, "report", dumps, "--format", "html", **bare).stdout.startswith("<!DOCTYPE html>")
    assert run(where, "-I", pyz, "env", **bare).returncode == 0
    assert "torch" in run(where, "-I", pyz, "doctor", **bare).stdout
    assert run(where, "-I", pyz, "index", dumps, **bare).returncode == 0
    assert run(where, "-I", pyz, "report", dumps, **bare).stdout == report.stdout


def test_its_screen_opens(pyz: Path, tmp_path: Path) -> None:
    with Terminal("demo", program=("-I", str(pyz)), environ={"HOME": "/nonexistent"}) as terminal:
        terminal.until(b"extra-call")
        terminal.settle()
        terminal.press(b"q")
        assert terminal.end() == 0


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("packages")
    done = run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, ROOT)
    if done.returncode:
        pytest.skip(f"pip builds no wheel here: {done.stderr[-200:]}")
    return folder


def test_the_wheel_holds_what_it_should_and_nothing_else(packages: Path) -> None:
    (wheel,) = packages.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.partition("/")[0] for name in names}
    info = f"frtui-{__version__}"
    assert tops == {"frtui", "recorder", f"{info}.dist-info", f"{info}.data"}
    for part in ("man/man1/frtui.1", "bash-completion/completions/frtui", "zsh/site-functions/_frtui"):
        assert f"{info}.data/data/share/{part}" in names
    assert "frtui/tui/frtui.tcss" in names
    assert "frtui/demo/tutorial/nccl_trace_rank_0" in names
    assert not [name for name in names if "__pycache__" in name or name.endswith(".pyc")]
