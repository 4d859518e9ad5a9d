"""Processes that read files beside this one, as an executor of `concurrent.futures`.

Not ProcessPoolExecutor: it forks, which the threads of the screen don't allow, or starts the main program anew in each
process, which a single-file build has none of. A worker here is `python -c`, which imports the reading part only, gets
tasks through its stdin and answers through its stdout.
"""

from __future__ import annotations

import contextlib
import gc
import os
import pickle
import queue
import subprocess
import sys
import threading
import time
from concurrent.futures import Executor, Future
from typing import IO, Any, Callable, TypeVar

T = TypeVar("T")

_MMAP_THRESHOLD, _LARGE = -3, 1 << 17
"""mallopt(3): blocks of so many bytes are mapped each for itself."""
MOST = 8
"""Workers: a login node has other users."""
PAUSE = 0.5
"""Seconds that who has no process waits with its next task, which fails: the others shall get to the rest."""
MANY = 20
"""Refusals after which nobody waits any more: the system will not give another process."""
_PROGRAM = "import sys; sys.path[:] = {path!r}; from frtui.load import workers; workers.serve()"
_Task = tuple["Future[Any]", bytes]


def count() -> int:
    """As many as there are cores for us."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(MOST, cores)


def hand_back_memory() -> None:
    """From here on large blocks go back to the system when they are freed.

    By default glibc raises that limit to the largest block it has seen: after a dump of 14 MB each process would keep
    twice of what it needs. Other C libraries have no such call, and no need of it.
    """
    with contextlib.suppress(ImportError, OSError, AttributeError, TypeError):
        import ctypes

        ctypes.CDLL(None).mallopt(_MMAP_THRESHOLD, _LARGE)


class Workers(Executor):
    """`submit` runs a function of a module in one of `number` processes; they end with `shutdown`."""

    def __init__(self, number: int) -> None:
        """Raises OSError when no process can be started."""
        self._tasks: queue.SimpleQueue[_Task | None] = queue.SimpleQueue()
        self._processes: list[subprocess.Popen[bytes]] = []
        self._threads: list[threading.Thread] = []
        self._lock, self._killed, self._refused = threading.Lock(), False, 0
        try:
            for _ in range(number):
                self._processes.append(_start())
        except OSError:
            self.shutdown(cancel_futures=True)
            raise
        self._threads = [threading.Thread(target=self._feed, args=(n,), daemon=True) for n in range(number)]
        for thread in self._threads:
            thread.start()

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        future: Future[T] = Future()
        self._tasks.put((future, pickle.dumps((fn, args, kwargs))))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """`cancel_futures`: end the processes at once, whatever they are at."""
        if cancel_futures:
            with self._lock:
                self._killed = True
                for process in self._processes:
                    process.kill()
        for _ in self._processes:
            self._tasks.put(None)
        for thread in self._threads if wait else ():
            thread.join()

    def _feed(self, n: int) -> None:
        """One task after the other, until there is a None; a task whose process dies fails, and it alone."""
        while (task := self._tasks.get()) is not None:
            future, data = task
            if not future.set_running_or_notify_cancel():
                continue
            try:
                done, value = _ask(self._processes[n], data)
            except Exception:  # or an answer of which only a part has come
                future.set_exception(RuntimeError("a process that reads dumps has died, perhaps for want of memory"))
                self._replace(n)
                continue
            if done:
                future.set_result(value)
            else:
                future.set_exception(value)
        _end(self._processes[n])

    def _replace(self, n: int) -> None:
        """Another process for what this thread gets next."""
        self._processes[n].kill()
        _end(self._processes[n])
        try:
            with self._lock:
                if not self._killed:
                    self._processes[n] = _start()
        except OSError:
            self._refused += 1
            if self._refused < MANY:
                time.sleep(PAUSE)


def serve() -> None:
    """The worker: answer tasks until stdin ends."""
    gc.disable()  # as `load` has it
    hand_back_memory()
    tasks, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints must not pass for an answer
    with contextlib.suppress(EOFError, BrokenPipeError, KeyboardInterrupt):
        while True:
            fn, args, kwargs = pickle.loads(_receive(tasks))
            try:
                answer = True, fn(*args, **kwargs)
            except Exception as error:
                answer = False, error
            _send(answers, pickle.dumps(answer, pickle.HIGHEST_PROTOCOL))


def _start() -> subprocess.Popen[bytes]:
    program = _PROGRAM.format(path=[os.path.abspath(folder) for folder in sys.path])
    pipe = subprocess.PIPE
    # A session of its own: ctrl+c is for this process, which then ends the others.
    return subprocess.Popen(
        [sys.executable, "-S", "-E", "-c", program], stdin=pipe, stdout=pipe, start_new_session=True
    )


def _ask(process: subprocess.Popen[bytes], task: bytes) -> tuple[bool, Any]:
    """Whether it was done, and with what result or exception. Raises whatever comes of a process that dies."""
    assert process.stdin is not None
    assert process.stdout is not None
    _send(process.stdin, task)
    done, value = pickle.loads(_receive(process.stdout))
    return done, value


def _end(process: subprocess.Popen[bytes]) -> None:
    for stream in (process.stdin, process.stdout):
        with contextlib.suppress(OSError):
            if stream is not None:
                stream.close()
    process.wait()


def _send(stream: IO[bytes], data: bytes) -> None:
    stream.write(len(data).to_bytes(8, "little"))
    stream.write(data)
    stream.flush()


def _receive(stream: IO[bytes]) -> bytes:
    head = stream.read(8)
    if len(head) < 8:
        raise EOFError
    return stream.read(int.from_bytes(head, "little"))
