"""Many short jobs in processes of their own, without an import of torch for each."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from recorder import ringfile
from tests.recorder.running import JOBS, ROOT, environment


class Zygote:
    """A process that has imported torch; `jobs/zygote.py` says what it does."""

    def __init__(self) -> None:
        command = [sys.executable, str(JOBS / "zygote.py")]
        self._process = subprocess.Popen(
            command, env=environment(), cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._running: set[int] = set()
        assert self._read() == "ready"

    def start(self, folder: Path, job: str, *arguments: str, name: str = "job") -> int:
        """The process id."""
        self._write("start", str(folder), name, job, *arguments)
        pid = int(self._read())
        self._running.add(pid)
        return pid

    def wait(self, pid: int) -> int:
        """The exit code, or minus the signal. A job that hangs is ended after a while."""
        end = time.monotonic() + 25
        while time.monotonic() < end and Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
            time.sleep(0.02)
        return self.end(pid)

    def end(self, pid: int) -> int:
        os.kill(pid, signal.SIGKILL)
        self._running.discard(pid)
        self._write("wait", str(pid))
        return int(self._read())

    def run(self, folder: Path, job: str, *arguments: str) -> int:
        return self.wait(self.start(folder, job, *arguments))

    @contextmanager
    def clearing(self) -> Iterator[Zygote]:
        """Ends what is started meanwhile and still runs."""
        before = set(self._running)
        yield self
        for pid in self._running - before:
            self.end(pid)

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()

    def _write(self, *words: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(" ".join(words) + "\n")
        self._process.stdin.flush()

    def _read(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()


AT_ONCE = 5


class Ended:
    """Runs one of `jobs`, and the next ones beside it: they wait for most of their time."""

    def __init__(self, zygote: Zygote, jobs: Sequence[tuple[str, ...]], parent: Path) -> None:
        self._zygote, self._jobs, self._parent = zygote, jobs, parent
        self._pids: dict[tuple[str, ...], int] = {}
        self._statuses: dict[tuple[str, ...], int] = {}

    def __call__(self, *job: str, status: int = 0) -> Path:
        """Its folder, once it has ended as it should."""
        folder = self._parent / "-".join(job)
        if job not in self._statuses:
            for one in self._jobs[self._jobs.index(job) :][:AT_ONCE]:
                if one not in self._pids:
                    (self._parent / "-".join(one)).mkdir()
                    self._pids[one] = self._zygote.start(self._parent / "-".join(one), *one)
            self._statuses[job] = self._zygote.wait(self._pids[job])
        assert self._statuses[job] == status, (folder / "job.err").read_text()[-3000:]
        return folder


def dump_of(folder: Path, rank: int = 0) -> Any:
    return pickle.loads((folder / f"rank_{rank}").read_bytes())


def ring_of(folder: Path, rank: int = 0) -> ringfile.Contents:
    return ringfile.read((folder / "recorder" / f"ring.r{rank}.frr").read_bytes())


def said(folder: Path, name: str = "job") -> list[str]:
    """The recorder's lines on stderr."""
    return [line for line in (folder / f"{name}.err").read_text().splitlines() if line.startswith("[recorder")]


def wait_for(*paths: Path, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    for path in paths:
        while not path.exists():
            assert time.monotonic() < end, path
            time.sleep(0.02)
