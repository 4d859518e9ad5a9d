"""The manual page and the completions are those of the parsers, and the shells take them."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

from frtui.arguments import COMMANDS, parser_of

DOCS = Path(__file__).parents[1] / "docs"


@pytest.fixture(scope="module")
def make() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_docs", DOCS / "make.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["frtui.1", "completions/frtui.bash", "completions/_frtui", "completions/frtui.fish"])
def test_the_files_are_up_to_date(make: ModuleType, name: str) -> None:
    assert (DOCS / name).read_text(encoding="utf-8") == make.FILES[name](), "run: make docs"


def test_the_manual_names_every_option(make: ModuleType) -> None:
    text = make.manual().replace("\\-", "-")
    for command in COMMANDS:
        assert f".SS frtui {command}\n" in text
        for option in make.named(command):
            assert all(f"\\fB{name}\\fR" in text for name in option.names)
    assert {"report", "export"} < set(COMMANDS)
    assert parser_of("report").prog == "frtui report"


@pytest.mark.skipif(shutil.which("man") is None, reason="no man here")
def test_man_shows_it_without_complaint() -> None:
    command = ["man", "--warnings", "-l", str(DOCS / "frtui.1")]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env={"MANWIDTH": "80", "LANG": "C.UTF-8"}
    )
    assert done.stderr == ""
    assert "frtui report [options] DIR" in done.stdout


def bash(line: str, folder: Path) -> list[str]:
    words = line.split(" ")
    quoted = " ".join(f"'{word}'" for word in words)
    script = f"source '{DOCS}/completions/frtui.bash'; COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; _frtui"
    script += '; printf "%s\\n" "${COMPREPLY[@]}"'
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True, cwd=folder)
    assert done.stderr == ""
    return sorted(filter(None, done.stdout.splitlines()))


def fish(line: str, folder: Path) -> list[str]:
    script = f"source '{DOCS}/completions/frtui.fish'; complete -C '{line}'"
    done = subprocess.run(["fish", "-c", script], capture_output=True, text=True, check=True, cwd=folder)
    assert done.stderr == ""
    return sorted(found.partition("\t")[0] for found in done.stdout.splitlines())


SHELLS = [
    pytest.param(shell, marks=pytest.mark.skipif(shutil.which(name) is None, reason=f"no {name} here"), id=name)
    for name, shell in (("bash", bash), ("fish", fish))
]


@pytest.mark.parametrize("shell", SHELLS)
def test_commands_options_values_and_files(shell, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "my dumps").mkdir()
    assert shell("frtui en", tmp_path) == ["entries", "env"]
    assert shell("frtui report --fi", tmp_path) == ["--finding"]
    assert "--watch" in shell("frtui --", tmp_path)
    assert "--watch" not in shell("frtui report --", tmp_path)
    assert shell("frtui export --format t", tmp_path) == ["torch-db"]
    assert shell("frtui demo t", tmp_path) == ["tutorial"]
    (found,) = shell("frtui report my", tmp_path)
    assert found.replace("\\", "").rstrip("/") == "my dumps"


@pytest.mark.skipif(shutil.which("zsh") is None, reason="no zsh here")
def test_zsh_loads_it(tmp_path: Path) -> None:
    script = f"autoload -Uz compinit && compinit -u -d {tmp_path}/dump && source '{DOCS}/completions/_frtui' && "
    script += 'echo "$_comps[frtui]"'
    done = subprocess.run(["zsh", "-f", "-c", script], capture_output=True, text=True, check=True)
    assert (done.stdout.strip(), done.stderr) == ("_frtui", "")
