"""Two ranks, of which rank 0 makes one all_reduce too many: the job gets stuck, and ends.

On gloo where there are no two GPUs, else on NCCL, which ends it at the timeout of 20 seconds. From a clone, or with
frtui installed, either of

    torchrun --nproc-per-node 2 -m recorder --prefix /tmp/crash/rank_ -m recorder.examples.crash
    RECORDER=1 TORCH_FR_DUMP_TEMP_FILE=/tmp/crash/rank_ torchrun --nproc-per-node 2 -m recorder.examples.crash

and then `frtui /tmp/crash`. With torch's own recorder alone, which writes files for NCCL only:

    mkdir -p /tmp/crash
    TORCH_FR_BUFFER_SIZE=2000 TORCH_NCCL_DUMP_ON_TIMEOUT=1 TORCH_FR_DUMP_TEMP_FILE=/tmp/crash/rank_ \\
        torchrun --nproc-per-node 2 -m recorder.examples.crash

(The names before torch 2.8: `frtui env --torch 2.7`.)
"""

from __future__ import annotations

import os
from datetime import timedelta

import torch
import torch.distributed as dist


def main() -> None:
    on_gpus = torch.cuda.device_count() >= 2
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if on_gpus else torch.device("cpu")
    if on_gpus:
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if on_gpus else "gloo", timeout=timedelta(seconds=20))
    rank = dist.get_rank()

    a = torch.full((3, 4), float(rank), device=device)
    for _ in range(2):
        dist.all_reduce(a)

    if rank == 0:
        b = torch.full((4, 5), float(rank), device=device)
        dist.all_reduce(b)

    for _ in range(2):
        dist.all_reduce(a)

    if on_gpus:
        torch.cuda.synchronize(device)


if __name__ == "__main__":
    main()
