"""Real jobs on gloo: one rank does something wrong, all get stuck, and the dumps of torch's own recorder tell who."""

from __future__ import annotations

import importlib.util
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from frtui.engine import diagnose
from frtui.load import load

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None or not hasattr(os, "fork"), reason="needs torch, and a system that forks"
)

JOB = Path(__file__).with_name("gloo_job.py")
WORLD, BAD = 3, 1
TRUTH = {
    "skip": {"skipped-call", "op-mismatch"},
    "extra": {"extra-call", "op-mismatch"},
    # The rank is stuck in the first of its two calls: that the other one would follow, nobody can see.
    "order": {"group-deadlock", "order-swap", "skipped-call", "extra-call"},
    "idle": {"not-joined"},
    "exception": {"not-joined"},
    "kill": {"no-dump"},
}


def free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


@pytest.fixture(scope="module")
def dumps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of dumps for each fault; all jobs run at once."""
    folder = tmp_path_factory.mktemp("gloo")
    for fault in TRUTH:
        (folder / fault).mkdir()
    wanted = {(f, r) for f in TRUTH for r in range(WORLD)} - {("kill", BAD)}
    jobs = [f"{fault}:{port}" for fault, port in zip(TRUTH, free_ports(len(TRUTH)))]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "TORCH_FR_BUFFER_SIZE": "2000"}
    quiet = subprocess.DEVNULL
    command = [sys.executable, str(JOB), str(folder), *jobs]
    process = subprocess.Popen(command, env=environment, stdout=quiet, stderr=quiet, start_new_session=True)
    deadline = time.monotonic() + 100
    try:
        while not all((folder / f / f"nccl_trace_rank_{r}").exists() for f, r in wanted):
            assert time.monotonic() < deadline, "no dumps"
            time.sleep(0.2)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return folder


@pytest.mark.parametrize("fault", TRUTH)
def test_the_rank_that_did_it_is_named(fault: str, dumps: Path) -> None:
    finding = diagnose(load(dumps / fault))[0]
    assert finding.ranks == (BAD,), finding
    assert finding.kind in TRUTH[fault], finding
