"""One rank asks for torch's buffer at several moments; what it got goes to stdout, as JSON."""

from __future__ import annotations

import json
import sys

import torch
import torch.distributed as dist

from recorder import native


def outcome() -> str:
    try:
        return f"{len(native.fetch()['entries'])} calls"
    except native.Unavailable as error:
        return str(error)


def main() -> None:
    said = {"early": outcome()}
    dist.init_process_group("gloo", init_method=f"file://{sys.argv[1]}", rank=0, world_size=1)
    said["no call yet"] = outcome()
    before = len(sys.modules)
    said["warm"] = str(native.prewarm())
    warm = len(sys.modules)
    dist.all_reduce(torch.ones(2))
    said["one call"] = outcome()
    said["imported by prewarm"] = str(warm - before)
    said["imported by fetch"] = str(len(sys.modules) - warm)
    try:
        native.fetch("nccl")
    except native.Unavailable as error:
        said["nccl"] = str(error)
    print(json.dumps(said))


if __name__ == "__main__":
    main()
