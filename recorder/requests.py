"""The request file, `recorder/dump.request` beside the dumps: all ranks that see the folder dump when it changes."""

from __future__ import annotations

import json
import os
import time

from recorder.paths import request_path
from recorder.regular import open_regular

_TOUCHED_S = 5.0
"""A file that is so much newer than what it says was touched by a person, who means now."""


def interval(world_size: int) -> float:
    """Seconds between a rank's looks at the file: thousands of ranks ask one metadata server."""
    return max(2.0, world_size / 1000)


def ask(folder: str, reason: str) -> None:
    """Let the ranks whose rings lie in `folder` dump. Raises OSError."""
    with open(request_path(folder), "w") as file:
        json.dump({"reason": reason, "time": time.time()}, file)


def changed(path: str) -> int:
    """When the file was last written, in nanoseconds; 0 without one."""
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0


def reason(path: str) -> str:
    """Why; a person may have made the file, or touched an old one."""
    try:
        with open_regular(path) as file:
            told = json.loads(file.read(4096))
            touched = os.fstat(file.fileno()).st_mtime - float(told["time"]) > _TOUCHED_S
            return f"asked by touching {path}" if touched else str(told["reason"])[:1000]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return f"asked by {path}"
