"""Makes the dumps under `frtui/demo/`: real jobs on gloo that get stuck, dumped by torch's own recorder or by ours.

    python -m tests.make_demo [NAME ...]

Each file in `tests/demo_jobs/` is an ordinary training script. It is copied to `/tmp/job/train.py`, so that the
recorded stacks show a path that means the same on every machine, and started once per rank with the variables that
torchrun sets. A `sitecustomize` beside it waits in a thread until the rank makes no more calls, writes the recorder's
buffer to a file and stops the process. Rank 0 stops first: gloo ends a process that receives a tensor of another size
than it expects, and a stopped rank sends none. Our own recorder needs none of this: it notices the hang itself.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
DEMO = HERE.parent / "frtui" / "demo"
JOB = Path("/tmp/job")
WORLD = {"tutorial": 2, "idle": 4, "deadlock": 4, "loader": 4}
RECORDED = {"loader": "idle"}
"""Jobs that our recorder records, by demo."""
QUIET_S = (2, 8)
"""Seconds without a new call after which rank 0, and each other rank, counts as stuck."""

WATCHER = """
import os, signal, threading, time

def watch():
    quiet_s, last, since = float(os.environ["QUIET_S"]), b"", time.monotonic()
    while not last or time.monotonic() - since < quiet_s:
        time.sleep(0.25)
        dump = _dump_fr_trace()
        if dump != last:
            last, since = dump, time.monotonic()
    path = os.environ["TORCH_FR_DUMP_TEMP_FILE"] + os.environ["RANK"]
    with open(path + ".tmp", "wb") as file:
        file.write(last)
    os.replace(path + ".tmp", path)
    os.kill(os.getpid(), signal.SIGSTOP)

import torch.distributed
from torch._C._distributed_c10d import _dump_fr_trace
threading.Thread(target=watch, daemon=True).start()
"""


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def environment(rank: int, world: int, port: int, dumps: Path) -> dict[str, str]:
    return {
        **os.environ,
        "RANK": str(rank),
        "LOCAL_RANK": str(rank),
        "WORLD_SIZE": str(world),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join([str(JOB), str(HERE.parent)]),
        "TORCH_FR_BUFFER_SIZE": "2000",
        "TORCH_FR_DUMP_TEMP_FILE": str(dumps / "nccl_trace_rank_"),
        "QUIET_S": str(QUIET_S[min(rank, 1)]),
    }


def prepare(name: str) -> Path:
    """The job's folder, with an interpreter inside whose paths name no home directory."""
    shutil.rmtree(JOB, ignore_errors=True)
    JOB.mkdir()
    shutil.copy(HERE / "demo_jobs" / f"{RECORDED.get(name, name)}.py", JOB / "train.py")
    if name not in RECORDED:
        (JOB / "sitecustomize.py").write_text(WATCHER)
    (JOB / "venv").symlink_to(sys.prefix)
    return JOB / "venv" / "bin" / "python"


def run(name: str, dumps: Path) -> None:
    python, port, world = prepare(name), free_port(), WORLD[name]
    launch = ["-m", "recorder", "--stuck-after", str(QUIET_S[0])] if name in RECORDED else []
    command = [str(python), *launch, str(JOB / "train.py")]
    ranks = [subprocess.Popen(command, env=environment(r, world, port, dumps), cwd=JOB) for r in range(world)]
    deadline = time.monotonic() + 60
    while len(list(dumps.glob("*[0-9]"))) < world and time.monotonic() < deadline:
        time.sleep(0.2)
    for process in ranks:
        process.kill()
        process.wait()


def main(names: list[str]) -> None:
    for name in names or list(WORLD):
        with tempfile.TemporaryDirectory() as dumps:
            run(name, Path(dumps))
            target = DEMO / name
            shutil.rmtree(target, ignore_errors=True)
            target.mkdir(parents=True)
            for file in sorted(Path(dumps).glob("nccl_trace_rank_*[0-9]")):
                shutil.copy2(file, target)
    shutil.rmtree(JOB, ignore_errors=True)


if __name__ == "__main__":
    main(sys.argv[1:])
