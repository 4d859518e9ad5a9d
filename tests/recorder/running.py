"""Jobs under torchrun with the recorder on, for the tests of what is left of them."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Callable

import pytest

ROOT = Path(__file__).parents[2]
JOBS = Path(__file__).with_name("jobs")
PREFIX = "nccl_trace_rank_"

needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None or not hasattr(os, "fork"), reason="needs torch, and a system that forks"
)


def environment(**more: str) -> dict[str, str]:
    """Without what the tester's own shell says to torch's recorder."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("TORCH_FR", "TORCH_NCCL", "RECORDER"))}
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**kept, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", "TORCH_FR_BUFFER_SIZE": "0", **more}


def torchrun(ranks: int, *command: str) -> list[str]:
    launch = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks)]
    return [sys.executable, *launch, *command]


def recorder(folder: Path, *options: str) -> list[str]:
    """`-m recorder` with its dumps in `folder`."""
    return ["-m", "recorder", "--prefix", str(folder / PREFIX), *options]


def python(*arguments: str, timeout: float = 60) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *arguments]
    return subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=timeout)


@contextmanager
def running(command: Sequence[str], log: Path, **more: str) -> Iterator[subprocess.Popen[bytes]]:
    """The command in a session of its own, of which nothing is left in the end."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, env=environment(**more), stdout=output, stderr=output, start_new_session=True
        )
    try:
        yield process
    finally:
        for pid in (process.pid, *descendants(process.pid)):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.wait()


ANALYZE = "import sys; from torch.distributed.flight_recorder.fr_trace import main; main(sys.argv[1:])"


def analyzed(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """What torch's analyzer says of a folder: nothing, where it finds nothing."""
    return python("-c", ANALYZE, str(folder), *options)


def descendants(pid: int) -> list[int]:
    """torchrun's workers lead sessions of their own: they outlive it when it is killed."""
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
            children.setdefault(parent, []).append(int(stat.parent.name))
    found = children.get(pid, [])
    for child in found:
        found += children.get(child, [])
    return found


def wait_for(what: Callable[[], bool], log: Path, seconds: float = 90) -> None:
    """Fails with the job's output when it doesn't happen."""
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, log.read_text(errors="replace")[-4000:]
        time.sleep(0.1)
