"""Starts the child processes, one at a time, and kills the one that gets stuck."""

from __future__ import annotations

import json
import select
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from tests.fuzz.child import BATCH, Finding

STUCK = 60.0
"""Seconds of one case after which its process is killed."""


@dataclass
class Done:
    cases: int = 0
    seconds: float = 0.0
    slowest: tuple[float, int] = (0.0, 0)
    found: list[Finding] = field(default_factory=list)


def run(seed: int, seconds: float, most: int, keep: Path | None, out: TextIO) -> Done:
    """Until so many seconds have passed, or so many cases."""
    done, begin, number = Done(), time.monotonic(), 0
    while number < most and time.monotonic() - begin < seconds:
        number = _batch(done, seed, number, min(most, number + BATCH), begin + seconds, keep, out)
    done.seconds = time.monotonic() - begin
    return done


def _batch(done: Done, seed: int, first: int, end: int, until: float, keep: Path | None, out: TextIO) -> int:
    """Cases of one process. Returns the number of the first that was not done."""
    command = [sys.executable, "-m", "tests.fuzz", "--seed", str(seed), "--batch", str(first)]
    command += ["--keep", str(keep)] if keep else []
    number = first
    with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        while number < end and time.monotonic() < until:
            ready, _, _ = select.select([child.stdout], [], [], STUCK)
            line = child.stdout.readline() if ready else b""
            said = (
                json.loads(line) if line else {"told": f"its process {'died' if ready else 'is stuck'}", "took": STUCK}
            )
            _note(done, number, said, out)
            number += 1
            if not line:
                break
        child.kill()
    return number


def _note(done: Done, number: int, said: dict[str, object], out: TextIO) -> None:
    done.cases += 1
    done.slowest = max(done.slowest, (float(str(said["took"])), number))
    if said["told"]:
        done.found.append(Finding(number, str(said["told"])))
        last = str(said["told"]).strip().splitlines()[-1]
        out.write(f"case {number}: {last[:200]}\n")
        out.flush()
