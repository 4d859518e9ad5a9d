"""`frtui env`: its output is run by the shells and read by the programs that it is for."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
AWKWARD = "du mps 'of' \"x\" $HOME $(id) `id` \\ ,ü;&"


def run(*arguments: object, **environ: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "frtui", *map(str, arguments)]
    env = {"PATH": os.environ["PATH"], "HOME": "/nowhere", "LANG": "C.UTF-8", **environ}
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=60, check=False)


def env(*arguments: object, **environ: str) -> str:
    done = run("env", *arguments, **environ)
    assert done.returncode == 0, done.stderr
    return done.stdout


def evaluated(shell: list[str], script: str) -> dict[str, str]:
    """What a program started by the shell finds in its environment."""
    show = f"{sys.executable} -c 'import json, os; print(json.dumps(dict(os.environ)))'"
    done = subprocess.run(
        [*shell, f"{script}\n{show}"],
        env={"PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stderr == ""
    found: dict[str, str] = json.loads(done.stdout)
    return {name: value for name, value in found.items() if name.startswith(("TORCH", "NCCL", "RECORDER"))}


@pytest.mark.parametrize("release", ["2.2", "2.3", "2.6", "2.7", "2.8", "2.10", "2.11", "2.14"])
def test_bash_evaluates_it_and_the_doctor_agrees(release: str, tmp_path: Path) -> None:
    folder = tmp_path / AWKWARD
    script = env("--torch", release, "--dir", folder, "--cpp-stack", "--timing")
    found = evaluated(["bash", "-euc"], script)
    assert folder.is_dir()
    stem = "comm_lib_trace_rank_" if release in ("2.10", "2.11", "2.14") else "nccl_trace_rank_"
    assert f"{folder}/{stem}" in found.values()
    judged = run("doctor", "--torch", release, **found)
    assert judged.returncode == 0, judged.stdout
    assert "no problems that would lose a dump, no warnings" in judged.stdout
    unset = run("doctor", "--torch", release)
    assert unset.returncode == (0 if release in ("2.11", "2.14") else 1), unset.stdout


@pytest.mark.parametrize(
    ("release", "names"),
    [
        ("2.2", {"TORCH_NCCL_TRACE_BUFFER_SIZE", "TORCH_NCCL_DUMP_ON_TIMEOUT", "TORCH_NCCL_ENABLE_MONITORING"}),
        ("2.6", {"TORCH_NCCL_TRACE_BUFFER_SIZE", "TORCH_NCCL_DUMP_ON_TIMEOUT"}),
        ("2.7", {"TORCH_NCCL_TRACE_BUFFER_SIZE"}),
        ("2.8", {"TORCH_FR_BUFFER_SIZE"}),
        ("2.14", set()),
    ],
)
def test_only_what_differs_from_the_defaults_is_set(release: str, names: set[str]) -> None:
    assert set(evaluated(["bash", "-euc"], env("--torch", release))) == names


def test_what_was_set_before_is_set_again() -> None:
    script = env("--torch", "2.14", TORCH_NCCL_DUMP_ON_TIMEOUT="0")
    assert evaluated(["bash", "-euc"], script) == {"TORCH_NCCL_DUMP_ON_TIMEOUT": "1"}


def test_options_that_add_variables() -> None:
    script = env("--torch", "2.14", "--buffer", "500", "--recorder", "--timing", "--cpp-stack")
    assert evaluated(["bash", "-euc"], script) == {
        "TORCH_FR_BUFFER_SIZE": "500",
        "TORCH_FR_CPP_STACK": "1",
        "TORCH_SYMBOLIZE_MODE": "fast",
        "TORCH_NCCL_ENABLE_TIMING": "1",
        "RECORDER": "1",
    }


def test_plain_sh_and_fish_read_it_too(tmp_path: Path) -> None:
    folder = tmp_path / AWKWARD
    assert f"{folder}/nccl_trace_rank_" in evaluated(["sh", "-euc"], env("--torch", "2.8", "--dir", folder)).values()
    if shutil.which("fish") is None:
        pytest.skip("no fish")
    script = env("--torch", "2.8", "--dir", folder, "--for", "fish")
    assert f"{folder}/nccl_trace_rank_" in evaluated(["fish", "-c"], script).values()


def test_fish_quotes() -> None:
    script = env("--torch", "2.8", "--dir", "/a'b\\c", "--for", "fish")
    assert "set -gx TORCH_FR_DUMP_TEMP_FILE '/a\\'b\\\\c/nccl_trace_rank_'\n" in script
    assert "mkdir -p -- '/a\\'b\\\\c'\n" in script


def pods(text: str) -> dict[str, str]:
    """The names and values of an `env:` list. A string is JSON, which is how YAML's double quotes work as well."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    assert lines[0] == "env:"
    pairs = zip(lines[1::2], lines[2::2])
    assert len(lines) % 2 == 1
    found = {}
    for name, value in pairs:
        assert name.startswith("  - name: ")
        assert value.startswith("    value: ")
        found[name[10:]] = json.loads(value[11:])
    return found


def test_k8s(tmp_path: Path) -> None:
    folder = tmp_path / AWKWARD
    found = pods(env("--torch", "2.8", "--for", "k8s", "--dir", folder))
    assert found["TORCH_FR_BUFFER_SIZE"] == "2000"
    # Kubernetes replaces $(id), and makes $$(id) of it where it was doubled.
    assert found["TORCH_FR_DUMP_TEMP_FILE"] == f"{folder}/nccl_trace_rank_".replace("$(", "$$(")
    assert env("--torch", "2.14", "--for", "k8s").splitlines()[-3] == "env: []"


def test_k8s_is_what_kubernetes_reads(tmp_path: Path) -> None:
    if shutil.which("kubectl") is None:
        pytest.skip("no kubectl")
    listed = env("--torch", "2.8", "--for", "k8s", "--dir", tmp_path / AWKWARD)
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n  - name: a\n    image: a\n"
    pod += "".join(f"    {line}\n" for line in listed.splitlines())
    command = ["kubectl", "label", "--local", "-f", "-", "-o", "json", "a=b"]  # needs no cluster
    done = subprocess.run(command, input=pod, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    entries = json.loads(done.stdout)["spec"]["containers"][0]["env"]
    assert {entry["name"]: entry["value"] for entry in entries} == pods(listed)


def stub(folder: Path, name: str) -> str:
    """A program of that name which prints the dump variables; returns a PATH that finds it first."""
    program = folder / name
    program.write_text('#!/bin/sh\nprintf "%s|%s|%s" "$TORCH_FR_DUMP_TEMP_FILE" "$TORCH_FR_BUFFER_SIZE" "$*"\n')
    program.chmod(0o755)
    return f"{folder}:/usr/bin:/bin"


@pytest.mark.parametrize(
    ("target", "program", "words"),
    [("torchrun", "torchrun", "--nproc-per-node=gpu train.py"), ("slurm", "srun", "--export=ALL python train.py")],
)
def test_launchers_get_the_variables(target: str, program: str, words: str, tmp_path: Path) -> None:
    folder = tmp_path / AWKWARD
    script = env("--torch", "2.8", "--for", target, "--dir", folder)
    path = stub(tmp_path, program)
    done = subprocess.run(["bash", "-euc", script], env={"PATH": path}, capture_output=True, text=True, check=True)
    assert done.stdout == f"{folder}/nccl_trace_rank_|2000|{words}"
    assert folder.is_dir()


def test_a_relative_folder_becomes_absolute() -> None:
    assert f"={ROOT}/dumps/nccl_trace_rank_" in env("--torch", "2.7", "--dir", "dumps/")


def test_it_says_which_release_it_is_for_and_why() -> None:
    assert env("--torch", "2.7.1").startswith("# for torch 2.7: as asked\n")
    # -S: no site-packages, so no torch.
    command = [sys.executable, "-S", "-c", "from frtui.cli import main; main(['env'])"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("# for torch 2.14: the newest known, as none is installed here")


@pytest.mark.parametrize(
    "arguments",
    [
        ["--torch", "two"],
        ["--torch", "2.1"],
        ["--torch", "2.4", "--recorder"],
        ["--for", "csh"],
        ["--buffer", "0"],
        ["--buffer", "many"],
        ["--dir", ""],
        ["--dir", "a\nb"],
        ["--dir", "a\x1b[2J"],
        ["positional"],
    ],
)
def test_wrong_usage_is_64(arguments: list[str]) -> None:
    done = run("env", *arguments)
    assert (done.returncode, done.stdout) == (64, "")
    assert "\x1b" not in done.stderr
    assert "Traceback" not in done.stderr


def test_a_full_disk_is_told_in_one_line() -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full")
    for command in ("env", "doctor"):
        with open("/dev/full", "wb") as full:
            arguments = [sys.executable, "-m", "frtui", command]
            done = subprocess.run(arguments, cwd=ROOT, stdout=full, stderr=subprocess.PIPE, timeout=60, check=False)
        assert done.returncode == 2
        assert done.stderr == b"frtui: cannot write to stdout: No space left on device\n"
