"""Reading in processes gives what reading here gives, and no process outlives it."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any, Callable

import pytest

import frtui.load
from frtui.load import Cancelled, load, workers
from frtui.load.found import Found
from frtui.load.workers import Workers
from frtui.model import Job
from tests import corpus
from tests.dumps import dump, entry, write
from tests.load.jobs import assert_same


def job_of(folder: Path, **options: Any) -> Job:
    return load(folder, **options)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Eight ranks, of which one is cut and one is none."""
    for rank in range(8):
        calls = [entry(seq, sizes=[[rank % 3 + seq]]) for seq in range(1, 40)]
        write(tmp_path, {rank: dump(calls)}, "rank_{}")
    (tmp_path / "rank_5").write_bytes((tmp_path / "rank_5").read_bytes()[:-400])
    (tmp_path / "rank_6").write_bytes(b"no dump\n")
    return tmp_path


def test_processes_read_what_is_read_here(folder: Path) -> None:
    here = job_of(folder)
    with Workers(2) as pool:
        there = job_of(folder, executor=pool)
    assert_same(there, here)


@corpus.needed
def test_every_case_of_the_corpus() -> None:
    with Workers(2) as pool:
        for case in corpus.cases():
            assert_same(load(case, executor=pool), load(case))


def test_large_folders_are_read_by_processes_which_then_end(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Workers] = []

    class Noted(Workers):
        def __init__(self, number: int) -> None:
            super().__init__(number)
            made.append(self)

    monkeypatch.setattr(frtui.load, "WORTH", 1)
    monkeypatch.setattr(workers, "Workers", Noted)
    monkeypatch.setattr(workers, "count", lambda: 2)
    assert len(job_of(folder).ranks) == 7
    (pool,) = made
    assert [process.returncode for process in pool._processes] == [0, 0]


def test_cancelling_ends_the_processes_at_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frtui.load, "WORTH", 1)
    monkeypatch.setattr(workers, "count", lambda: 2)
    asked = iter([False, False, True])
    with pytest.raises(Cancelled):
        job_of(folder, cancelled=lambda: next(asked, True))


def kill_yourself() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def answer_and_die() -> None:
    """The answer's length comes, and a part of it."""
    for number in range(3, 20):  # the copy of stdout that answers go to
        with contextlib.suppress(OSError):
            os.write(number, (1000).to_bytes(8, "little") + b"a part")
    kill_yourself()


@pytest.mark.parametrize("dies", [kill_yourself, answer_and_die])
@pytest.mark.parametrize("number", [1, 2])
def test_a_process_that_dies_fails_its_task_alone(number: int, dies: Callable[[], None]) -> None:
    """Another one takes its place, and no one takes the tasks that are left only to fail them."""
    with Workers(number) as pool:
        tasks = [pool.submit(dies) if n == 3 else pool.submit(divmod, n, 7) for n in range(40)]
        with pytest.raises(RuntimeError, match="has died"):
            tasks[3].result(timeout=20)
        assert [t.result(timeout=20) for n, t in enumerate(tasks) if n != 3] == [
            divmod(n, 7) for n in range(40) if n != 3
        ]
    assert [process.returncode for process in pool._processes] == [0] * number


def test_without_another_process_the_others_get_to_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    def none_left() -> None:
        raise OSError("no memory")

    with Workers(2) as pool:
        monkeypatch.setattr(workers, "_start", none_left)
        tasks = [pool.submit(kill_yourself), *(pool.submit(divmod, n, 7) for n in range(400))]
        failed = [task for task in tasks if task.exception(timeout=20)]
    assert tasks[0] in failed
    assert len(failed) <= 3


def test_where_not_all_processes_start_none_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Any] = []
    start = workers._start

    def start_one() -> Any:
        if started:
            raise OSError("too many processes")
        started.append(start())
        return started[0]

    monkeypatch.setattr(workers, "_start", start_one)
    with pytest.raises(OSError, match="too many"):
        Workers(2)
    assert started[0].wait(timeout=10) == -signal.SIGKILL


def test_what_a_task_raises_comes_back_and_what_it_prints_does_no_harm() -> None:
    with Workers(1) as pool:
        with pytest.raises(ZeroDivisionError):
            pool.submit(divmod, 1, 0).result(timeout=10)
        pool.submit(print, "to stdout").result(timeout=10)
        assert pool.submit(sum, [1, 2]).result(timeout=10) == 3


class Losing(Executor):
    """Loses every task, as a cluster does whose scheduler goes away."""

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_exception(OSError("the scheduler is gone"))
        return future


def test_a_file_whose_task_is_lost_is_named(folder: Path) -> None:
    with pytest.raises(frtui.load.LoadError) as caught:
        job_of(folder, executor=Losing())
    assert "the scheduler is gone" in str(caught.value)
    assert {problem.problem for problem in caught.value.problems} == {"unreadable"}


def test_workers_end_with_their_parent(tmp_path: Path) -> None:
    """Even when it is killed: their stdin ends."""
    program = "import sys, time; from frtui.load.workers import Workers; pool = Workers(2)\n"
    program += "print(*[p.pid for p in pool._processes], flush=True); time.sleep(60)"
    import subprocess

    parent = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    pids = [int(pid) for pid in parent.stdout.readline().split()]
    parent.kill()
    parent.wait()
    parent.stdout.close()
    deadline = time.monotonic() + 10
    while any(Path(f"/proc/{pid}/stat").exists() and "Z" not in _state(pid) for pid in pids):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "Z"


def test_files_are_yielded_in_order_and_read_ahead_within_bounds(folder: Path) -> None:
    """However many there are, so many results lie in memory at most."""
    from frtui.load.read import AHEAD, read_all

    class Counting(Executor):
        def __init__(self) -> None:
            self.open = self.most = 0

        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
            self.open += 1
            self.most = max(self.most, self.open)
            future: Future[Any] = Future()
            future.set_result(fn(*args, **kwargs))
            return future

    counting = Counting()
    one = Found(str(folder / "rank_0"), "rank_0", 0, "", "", 0, 0, (folder / "rank_0").stat().st_size)
    files = [one._replace(rank=rank) for rank in range(3 * AHEAD)]
    ranks = []
    for file, _ in read_all(files, counting):
        counting.open -= 1
        ranks.append(file.rank)
    assert ranks == list(range(3 * AHEAD))
    assert counting.most == AHEAD + 1
