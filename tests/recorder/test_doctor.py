"""`frtui doctor` on environments with one thing wrong, as a process that really has them."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from recorder.setup.doctor import examine, read_environ
from recorder.setup.places import Mount, mount_of, read_mounts, size_text
from recorder.setup.settings import VARIABLES, name_for, parse_release
from recorder.setup.spelling import check_names

ROOT = Path(__file__).parent.parent.parent


def doctor(*arguments: object, **environ: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "frtui", "doctor", *map(str, arguments)]
    env = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", **environ}
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=60, check=False)


def said(release: str, **environ: str) -> list[str]:
    """`level text` of every finding."""
    topics = examine(environ, parse_release(release))
    return [f"{level} {text}" for findings in topics.values() for level, text in findings]


def good(tmp_path: Path, **more: str) -> dict[str, str]:
    return {"TORCH_FR_BUFFER_SIZE": "2000", "TORCH_FR_DUMP_TEMP_FILE": f"{tmp_path}/rank_", **more}


def test_a_good_environment(tmp_path: Path) -> None:
    done = doctor("--torch", "2.13", **good(tmp_path))
    assert done.returncode == 0, done.stdout
    assert f"files are called {tmp_path}/rank_<rank>\n" in done.stdout
    assert "  lost" not in done.stdout
    assert "  warn" not in done.stdout
    assert "\x1b" not in done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("release", "environ", "words"),
    [
        ("2.13", {"TORCH_FR_BUFFER_SIZE": "0"}, "nothing is recorded: TORCH_FR_BUFFER_SIZE=0"),
        ("2.13", {"TORCH_FR_BUFFER_SIZE": "-1"}, "nothing is recorded"),
        ("2.10", {}, "nothing is recorded: TORCH_FR_BUFFER_SIZE is not set"),
        ("2.7", {"TORCH_FR_BUFFER_SIZE": "2000"}, "set TORCH_NCCL_TRACE_BUFFER_SIZE=2000"),
        ("2.13", {"TORCH_FR_BUFFER_SIZE": "9", "TORCH_NCCL_TRACE_BUFFER_SIZE": "0"}, "recorded, but not dumped"),
        ("2.13", {"TORCH_NCCL_DUMP_ON_TIMEOUT": "0"}, "a timeout is not dumped: TORCH_NCCL_DUMP_ON_TIMEOUT=0"),
        ("2.6", {"TORCH_NCCL_TRACE_BUFFER_SIZE": "2000"}, "a timeout is not dumped"),
        ("2.13", {"TORCH_NCCL_BLOCKING_WAIT": "1"}, "no watchdog thread"),
        ("2.3", {"TORCH_NCCL_ENABLE_MONITORING": "0"}, "the thread that dumps is not started"),
        ("2.13", {"TORCH_NCCL_DUMP_ON_TIMEOUT": "on"}, "torch takes 1, true"),
        ("2.13", {"TORCH_FR_BUFFER_SIZE": ""}, "torch takes a whole number"),
        ("2.13", {"TORCH_SYMBOLIZE_MODE": "slow"}, "torch takes dladdr, addr2line, fast"),
        ("2.13", {"TORCH_FR_DUMP_TEMP_FILE": "/not/there/rank_"}, "the folder /not/there is not there"),
        ("2.13", {"TORCH_FR_DUMP_TEMP_FILE": "$SCRATCH/rank_"}, "does not expand ~ or $"),
        ("2.13", {"TORCH_FR_DUMP_DYNAMIC_FILE_NAME": "1"}, "needs a file name"),
        ("2.13", {"TORCH_FR_DUMP_DYNAMIC_FILE_NAME": "1", "TORCH_FR_DUMP_TEMP_FILE": "/tmp/dump"}, "one survives"),
        ("2.13", {"TORCH_NCCL_DEBUG_INFO_PIPE_FILE": "/not/there/p"}, "the folder is not there"),
        ("2.13", {"RECORDER": "1", "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}, "RECORDER=1 has no effect"),
        ("2.13", {"RECORDER": "1", "TORCH_DEVICE_BACKEND_AUTOLOAD": "true"}, "torch wants exactly 1"),
        ("2.4", {"RECORDER": "1"}, "RECORDER=1 needs torch 2.5"),
        ("2.1", {}, "has no Flight Recorder"),
    ],
)
def test_what_loses_a_dump_ends_with_1(release: str, environ: dict[str, str], words: str) -> None:
    done = doctor("--torch", release, **environ)
    assert done.returncode == 1, done.stdout
    lost = [line for line in done.stdout.splitlines() if line.startswith("  lost")]
    assert any(words in line for line in lost), done.stdout


@pytest.mark.parametrize(
    ("release", "environ", "words"),
    [
        ("2.13", {"TORCH_FR_BUFFER_SIZE": "2097152"}, "counts calls, not bytes: up to 2.3 GB of memory and 629 MB"),
        ("2.13", {"TORCH_FR_BUFFER_SIZE": "20k"}, "TORCH_FR_BUFFER_SIZE=20k is read as 20"),
        ("2.13", {"TORCH_FR_BUFFER_SIZE": "9", "TORCH_NCCL_TRACE_BUFFER_SIZE": "8"}, "disagree; torch takes TORCH_FR"),
        ("2.13", {"TORCH_NCCL_ENABLE_MONITORING": "0"}, "nothing ends a job"),
        ("2.13", {"TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC": "10"}, "shorter than the wait for a dump (15000 ms)"),
        ("2.13", {"TORCH_NCCL_WAIT_TIMEOUT_DUMP_MILSEC": "100"}, "leaves no time"),
        ("2.13", {"TORCH_NCCL_ASYNC_ERROR_HANDLING": "0"}, "goes on and is not ended"),
        ("2.13", {"TORCH_INCLUDE_STACK_TRACE": "0"}, "no stacks"),
        ("2.13", {"TORCH_INCLUDE_ONLY_ACTIVE": "1"}, "finished calls are missing"),
        ("2.13", {"TORCH_FR_CPP_STACK": "1"}, "Set TORCH_SYMBOLIZE_MODE=fast"),
        ("2.9", {"TORCH_INCLUDE_STACK_TRACE": "0"}, "torch knows it from 2.10 on, and this is torch 2.9"),
        ("2.7", {"TORCH_FR_CPP_STACK": "1"}, "use TORCH_NCCL_TRACE_CPP_STACK"),
        ("2.14", {"TORCH_FR_DUMP_ON_TIMEOUT": "1"}, "torch knows it from 2.15 on"),
    ],
)
def test_warnings_alone_end_with_0(release: str, environ: dict[str, str], words: str, tmp_path: Path) -> None:
    if release != "2.13":  # these have other names and defaults
        assert any(line.startswith("warn") and words in line for line in said(release, **environ))
        return
    done = doctor("--torch", release, **good(tmp_path, **environ))
    assert any(words in line for line in done.stdout.splitlines() if line.startswith("  warn")), done.stdout
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("name", "guess"),
    [
        ("TORCH_FR_BUFER_SIZE", "TORCH_FR_BUFFER_SIZE"),
        ("TORCH_FR_TRACE_BUFFER_SIZE", "TORCH_FR_BUFFER_SIZE"),
        ("torch_fr_buffer_size", "TORCH_FR_BUFFER_SIZE"),
        ("TORCH_NCCL_TRACE_BUFFERSIZE", "TORCH_FR_BUFFER_SIZE"),
        ("NCCL_TRACE_BUFFER_SIZE", "TORCH_FR_BUFFER_SIZE"),
        ("NCCL_DUMP_ON_TIMEOUT", "TORCH_NCCL_DUMP_ON_TIMEOUT"),
        ("TORCH_NCCL_DUMP_ON_TIME_OUT", "TORCH_NCCL_DUMP_ON_TIMEOUT"),
        ("TORCH_NCLL_DUMP_ON_TIMEOUT", "TORCH_NCCL_DUMP_ON_TIMEOUT"),
        ("TORCH_FR_DUMP_TMP_FILE", "TORCH_FR_DUMP_TEMP_FILE"),
        ("TORCH_FR_CPP_STACKS", "TORCH_FR_CPP_STACK"),
        ("TORCH_NCCL_ENABLE_TIMINGS", "TORCH_NCCL_ENABLE_TIMING"),
        ("TORCHCOMM_FR_BUFFERSIZE", "TORCHCOMM_FR_BUFFER_SIZE"),
        ("TORCH_SYMBOLISE_MODE", "TORCH_SYMBOLIZE_MODE"),
        ("TORCH_DEVICE_BACKENDS_AUTOLOAD", "TORCH_DEVICE_BACKEND_AUTOLOAD"),
        ("PYTORCH_FR_BUFFER_SIZE", "TORCH_FR_BUFFER_SIZE"),
    ],
)
def test_misspelt_names(name: str, guess: str) -> None:
    [finding] = check_names({name: "1"}, (2, 14))
    assert finding.level == "warn"
    assert f"did you mean {guess}?" in finding.text


def test_a_guess_is_a_name_that_the_release_knows() -> None:
    for name in ("TORCH_FR_BUFER_SIZE", "NCCL_TRACE_BUFFER_SIZE"):
        [finding] = check_names({name: "1"}, (2, 7))
        assert "did you mean TORCH_NCCL_TRACE_BUFFER_SIZE?" in finding.text


def test_names_that_are_fine() -> None:
    fine = "NCCL_DEBUG NCCL_SOCKET_IFNAME NCCL_IB_TIMEOUT NCCL_BUFFSIZE TORCH_HOME TORCH_LOGS TORCH_CUDA_ARCH_LIST"
    fine += " PYTORCH_CUDA_ALLOC_CONF TORCH_NCCL_NAN_CHECK TORCH_NCCL_HIGH_PRIORITY TORCHELASTIC_RUN_ID PATH FRIDAY"
    assert list(check_names(dict.fromkeys(fine.split(), "1"), (2, 14))) == []


@pytest.mark.parametrize("variable", VARIABLES, ids=lambda variable: variable.key)
def test_every_known_name_is_accepted(variable: object) -> None:
    newest = name_for(variable, (2, 15))  # type: ignore[arg-type]
    assert newest is not None
    assert [text for level, text in check_names({newest: "1"}, (2, 15)) if level != "note"] == []


@pytest.mark.parametrize(
    ("prefix", "words"),
    [
        ("{}/", "ends in '/'"),
        ("{}", "is a folder, but files go beside it"),
        ("{}/run1", "ends in a digit"),
        ("rank_", "relative"),
        ("", "empty"),
    ],
)
def test_prefixes_that_make_bad_names(prefix: str, words: str, tmp_path: Path) -> None:
    folder = tmp_path / "dumps"
    folder.mkdir()
    found = said("2.13", TORCH_FR_DUMP_TEMP_FILE=prefix.format(folder))
    assert any(line.startswith("warn") and words in line for line in found), found


def test_a_folder_that_one_may_not_write(tmp_path: Path) -> None:
    if os.getuid() == 0:
        pytest.skip("root may write anywhere")
    tmp_path.chmod(0o500)
    assert any("can't be written" in line for line in said("2.13", TORCH_FR_DUMP_TEMP_FILE=f"{tmp_path}/rank_"))


def test_no_room(tmp_path: Path) -> None:
    environ = good(tmp_path, TORCH_FR_BUFFER_SIZE="2000000000", LOCAL_WORLD_SIZE="1000")
    [line] = [line for line in said("2.13", **environ) if "are free" in line]
    assert line.startswith("lost")
    assert "1000 ranks take about 600.0 TB" in line


def test_memory_file_systems_are_named() -> None:
    mounts = read_mounts()
    if Mount("/dev/shm", "tmpfs") not in mounts or not os.access("/dev/shm", os.W_OK):
        pytest.skip("no /dev/shm")
    found = said("2.13", TORCH_FR_DUMP_TEMP_FILE="/dev/shm/rank_")
    assert any(line.startswith("warn") and "in memory" in line for line in found), found


def test_mounts(tmp_path: Path) -> None:
    listed = tmp_path / "mounts"
    listed.write_text(
        "overlay / overlay rw 0 0\nnas:/x /data nfs4 rw 0 0\ntmpfs /data/my\\040tmp tmpfs rw 0 0\n"
        "/dev/sda /data2 ext4 rw 0 0\ntmpfs /data2 ramfs rw 0 0\nbroken\n"
    )
    mounts = read_mounts(str(listed))
    found = {}
    for folder in ("/", "/home/me", "/data", "/data/a", "/data/my tmp/b", "/data2/a", "/data22"):
        mount = mount_of(folder, mounts)
        found[folder] = mount.kind if mount else None
    assert list(found.values()) == ["overlay", "overlay", "nfs4", "nfs4", "tmpfs", "ramfs", "overlay"]
    assert read_mounts(str(tmp_path / "absent")) == []


def test_sizes() -> None:
    assert [size_text(n) for n in (7, 1500, 629_145_600, 2.3e9, 6e14)] == [
        "7 B",
        "1.5 kB",
        "629 MB",
        "2.3 GB",
        "600.0 TB",
    ]


def test_the_default_folder_is_made_by_torch(tmp_path: Path) -> None:
    done = doctor("--torch", "2.14", HOME=str(tmp_path))
    assert done.returncode == 0, done.stdout
    assert f"{tmp_path}/.cache/torch/comm_lib_trace_rank_<rank> (the default)" in done.stdout
    assert "can be made" in done.stdout


def test_the_dynamic_name_with_a_rank(tmp_path: Path) -> None:
    environ = good(tmp_path, TORCH_FR_DUMP_DYNAMIC_FILE_NAME="1", RANK="17")
    environ["TORCH_FR_DUMP_TEMP_FILE"] = f"{tmp_path}/dump-17"
    assert not any(line.startswith("lost") for line in said("2.13", **environ))


def test_pipes_and_the_recorder_are_explained(tmp_path: Path) -> None:
    found = said("2.13", **good(tmp_path, TORCH_NCCL_DEBUG_INFO_PIPE_FILE=f"{tmp_path}/p_", RECORDER="1"))
    assert any(f"{tmp_path}/p_<rank>.pipe" in line and "blocks" in line for line in found)
    assert any(f"ok RECORDER=1: 2000 calls are kept, dumps go to {tmp_path}/rank_<rank>" in line for line in found)


def test_an_env_file_as_a_shell_reads_it(tmp_path: Path) -> None:
    file = tmp_path / "job.env"
    file.write_text(
        "# settings\nexport TORCH_FR_BUFFER_SIZE=2000  # entries\n\n"
        f"TORCH_FR_DUMP_TEMP_FILE='{tmp_path}/ra nk_'\nA=it's\nset -e\n"
    )
    assert read_environ(str(file)) == {
        "TORCH_FR_BUFFER_SIZE": "2000",
        "TORCH_FR_DUMP_TEMP_FILE": f"{tmp_path}/ra nk_",
        "A": "it's",
    }
    done = doctor("--torch", "2.9", "--env-file", file, TORCH_FR_BUFFER_SIZE="0")
    assert done.returncode == 0, done.stdout


def test_the_environment_of_a_running_process(tmp_path: Path) -> None:
    if not Path("/proc/self/environ").exists():
        pytest.skip("no /proc")
    environ = {"TORCH_FR_BUFFER_SIZE": "0", "NEWLINE": "a\nb=c"}
    with subprocess.Popen(["sleep", "60"], env=environ, stdin=subprocess.DEVNULL) as process:
        path = f"/proc/{process.pid}/environ"
        while not Path(path).read_bytes():  # it is exec'ed, but its memory is still being set up
            time.sleep(0.01)
        found = read_environ(path)
        done = doctor("--torch", "2.13", "--env-file", path)
        process.kill()
    assert found == environ
    assert done.returncode == 1
    assert "TORCH_FR_BUFFER_SIZE=0" in done.stdout


def test_an_env_file_that_cannot_be_read(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (tmp_path, tmp_path / "absent\x1b[2J", pipe):
        done = doctor("--env-file", path)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith("cannot read ")
        assert "\x1b" not in done.stderr


def test_hostile_values_do_not_reach_the_terminal(tmp_path: Path) -> None:
    evil = "\x1b]0;x\x07\x1b[31m\u202e\n\r" + "A" * 5000
    names = {name.text: evil for variable in VARIABLES for name in variable.names}
    environ = {**names, f"TORCH_FR_{evil[:20]}": evil, "HOME": evil, "RANK": evil, "LOCAL_WORLD_SIZE": evil}
    for release in ("2.2", "2.7", "2.14"):
        done = doctor("--torch", release, **{**environ, "XDG_CACHE_HOME": evil})
        assert done.returncode == 1
        assert "Traceback" not in done.stderr
        assert all(line.isprintable() for line in done.stdout.split("\n"))
        assert max(map(len, done.stdout.splitlines())) < 1000


def test_colours_only_on_a_terminal_and_not_with_no_color() -> None:
    pty = pytest.importorskip("pty")
    for no_color, coloured in (("", True), ("1", False)):
        watched, terminal = pty.openpty()
        command = [sys.executable, "-m", "frtui", "doctor", "--torch", "2.2"]
        env = {"PATH": os.environ["PATH"], "TERM": "xterm", "NO_COLOR": no_color}
        subprocess.run(command, cwd=ROOT, env=env, stdout=terminal, timeout=60, check=False)
        os.close(terminal)
        assert (b"\x1b[31mlost" in os.read(watched, 100_000)) is coloured
        os.close(watched)


def test_wrong_usage_is_64() -> None:
    for arguments in (["--torch", "x"], ["extra"], ["--no-such"]):
        assert doctor(*arguments).returncode == 64
