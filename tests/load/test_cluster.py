"""A real Dask scheduler and two workers, as processes of this machine."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from frtui.load import LoadError, load
from frtui.load.cluster import cluster
from tests import corpus
from tests.dumps import dump, entry, write
from tests.load.jobs import assert_same

pytest.importorskip("distributed")
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def scheduler(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a scheduler that has two workers."""
    folder = tmp_path_factory.mktemp("dask")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "DASK_DISTRIBUTED__WORKER__DAEMON": "False"}
    file = folder / "scheduler.json"
    programs = [
        ["distributed.cli.dask_scheduler", "--port", "0", "--no-dashboard", "--host", "127.0.0.1"],
        *[["distributed.cli.dask_worker", "--nthreads", "1", "--no-nanny", "--no-dashboard"]] * 2,
    ]
    processes = []
    with (folder / "log").open("wb") as log:
        for program in programs:
            command = [sys.executable, "-m", *program, "--scheduler-file", str(file)]
            processes.append(subprocess.Popen(command, env=environment, cwd=folder, stdout=log, stderr=log))
    try:
        from distributed import Client

        deadline = time.monotonic() + 60
        while not file.exists():
            assert time.monotonic() < deadline, (folder / "log").read_text()
            time.sleep(0.1)
        with Client(scheduler_file=str(file), set_as_default=False) as client:
            client.wait_for_workers(2, timeout=60)
            address: str = client.scheduler.address
        yield address
    finally:
        for process in processes:
            process.kill()
            process.wait()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path, {r: dump([entry(seq, sizes=[[r + seq]]) for seq in range(1, 20)]) for r in range(6)}, "rank_{}")
    (tmp_path / "rank_5").write_bytes(b"no dump")
    return tmp_path


def test_the_cluster_reads_what_is_read_here(scheduler: str, folder: Path) -> None:
    here = load(folder)
    with cluster(scheduler) as executor:
        there = load(folder, executor=executor)
    assert_same(there, here)


@corpus.needed
def test_every_third_case_of_the_corpus(scheduler: str) -> None:
    with cluster(scheduler) as executor:
        for case in corpus.cases()[::3]:
            assert_same(load(case, executor=executor), load(case))


def test_the_command_reads_on_the_cluster(scheduler: str, folder: Path) -> None:
    command = [sys.executable, "-m", "frtui", "report", str(folder), "--format", "json"]
    here = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    there = subprocess.run([*command, "--scheduler", scheduler], cwd=ROOT, capture_output=True, check=False)
    assert there.stderr == b""
    assert (there.returncode, there.stdout) == (here.returncode, here.stdout)


def test_nobody_answers() -> None:
    with pytest.raises(LoadError, match="no Dask scheduler answers at tcp://127.0.0.1:9"), cluster("tcp://127.0.0.1:9"):
        pass
