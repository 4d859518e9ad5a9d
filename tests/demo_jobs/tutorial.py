"""Two ranks that fall out of step: rank 0 makes one all_reduce that rank 1 does not make."""

import time
from datetime import timedelta

import torch
import torch.distributed as dist


def main() -> None:
    dist.init_process_group("gloo", timeout=timedelta(minutes=1))
    rank = dist.get_rank()
    gradient = torch.ones(3, 4)
    for _ in range(2):
        dist.all_reduce(gradient)
    pending = []
    if rank == 0:
        metrics = torch.ones(4, 5)
        pending.append(dist.all_reduce(metrics, async_op=True))
    else:
        time.sleep(5)  # rank 0 is dumped before rank 1 comes: gloo ends a process when sizes differ
    for _ in range(2):
        pending.append(dist.all_reduce(gradient, async_op=True))
    for work in pending:
        work.wait()


if __name__ == "__main__":
    main()
