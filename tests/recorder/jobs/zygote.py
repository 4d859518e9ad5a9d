"""Imports torch once and forks a process per job: reads `start FOLDER NAME JOB …` and `wait PID` from stdin.

The job is a function of one of the modules below, called with the folder and the rest of the line. It ends as a
script would.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Callable

import torch

from tests.recorder.jobs import endings, living, obstacles, signalled, switching

MODULES = (living, endings, switching, signalled, obstacles)


def start(folder: Path, name: str, job: str, *arguments: str) -> Callable[[], None] | None:
    """In the child what is to be run, in the parent None."""
    pid = os.fork()
    if pid:
        print(pid, flush=True)
        return None
    os.setsid()
    for descriptor, end in ((0, ""), (1, ".out"), (2, ".err")):
        file = os.open(folder / f"{name}{end}" if end else os.devnull, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        os.dup2(file, descriptor)
        os.close(file)
    function: Callable[..., None] = next(vars(module)[job] for module in MODULES if job in vars(module))
    return lambda: function(folder, *arguments)


def wait(pid: str) -> None:
    status = os.waitpid(int(pid), 0)[1]
    print(-os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status), flush=True)


def main() -> None:
    torch.set_num_threads(1)
    while line := sys.stdin.readline():
        command, *arguments = line.split()
        if command == "wait":
            wait(*arguments)
        elif run := start(Path(arguments[0]), *arguments[1:]):
            run()
            return


if __name__ == "__main__":
    print("ready", flush=True)
    main()
