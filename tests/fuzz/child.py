"""The process in which cases run, with bounded memory. Says on stdout, in a line of JSON each, what came of them."""

from __future__ import annotations

import json
import resource
import shutil
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import NamedTuple

from tests.fuzz import cases

MEMORY = 1_500 << 20
"""Bytes of address space."""
SECONDS = 6.0
"""Of processor time, which no case of these few kilobytes should take."""
BATCH = 200
"""Cases of one process."""


class Finding(NamedTuple):
    case: int
    told: str


def work(seed: int, first: int, keep: Path | None) -> None:
    """Cases from number `first` on."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    for number in range(first, first + BATCH):
        begin = time.process_time()
        found = one(seed, number, keep)
        took = time.process_time() - begin
        line = {"case": number, "took": round(took, 2), "told": found.told if found else ""}
        sys.stdout.write(json.dumps(line) + "\n")
        sys.stdout.flush()


def one(seed: int, number: int, keep: Path | None) -> Finding | None:
    """What is wrong in one case; its folder is kept where something is."""
    folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
    begin = time.process_time()
    told = ""
    try:
        cases.run(seed, number, folder)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        told = traceback.format_exc(limit=-25)
    took = time.process_time() - begin
    if not told and took > SECONDS:
        told = f"took {took:.1f} s"
    if told and keep is not None:
        _keep(keep / f"seed{seed}-case{number}", folder, told)
    shutil.rmtree(folder, ignore_errors=True)
    return Finding(number, told) if told else None


def _keep(target: Path, folder: Path, told: str) -> None:
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(folder, target)
    (target / "TOLD.txt").write_text(told)
