"""Ranks that look into their dump pipes as torch's monitor thread does: `pipe_reader.py PREFIX RANK:MANNER ...`.

Without torch, as only NCCL has such a thread. MANNER: `whole` (writes its dump in place, in two parts), `half` (only
the first part), `deaf` (reads the pipe and writes nothing), `busy` (never reads it).
"""

from __future__ import annotations

import os
import pickle
import sys
import time
from pathlib import Path

DATA = pickle.dumps({"version": "2.10", "pg_config": {}, "entries": []}, 2)


def main(prefix: str, ranks: dict[str, str]) -> None:
    pipes: dict[str, int] = {}
    for rank in ranks:
        os.mkfifo(f"{prefix}{rank}.pipe")
        pipes[rank] = os.open(f"{prefix}{rank}.pipe", os.O_RDONLY | os.O_NONBLOCK)
    print("ready", flush=True)
    while True:
        for rank, pipe in pipes.items():
            if ranks[rank] != "busy" and os.read(pipe, 128):
                write(Path(f"{prefix}{rank}"), ranks[rank])
        time.sleep(0.05)


def write(path: Path, manner: str) -> None:
    if manner == "deaf":
        return
    with open(path, "wb", buffering=0) as file:
        file.write(DATA[:20])
        if manner == "whole":
            time.sleep(0.2)
            file.write(DATA[20:])


if __name__ == "__main__":
    main(sys.argv[1], dict(word.split(":") for word in sys.argv[2:]))
