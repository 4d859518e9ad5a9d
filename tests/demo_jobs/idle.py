"""Four ranks, tensor parallel in pairs, data parallel across them: rank 2 stops inside its data loader."""

import time
from datetime import timedelta

import torch
import torch.distributed as dist

STEPS, LAYERS, STUCK_STEP = 6, 2, 4


class Loader:
    def __init__(self, rank: int) -> None:
        self.rank = rank

    def batch(self, step: int) -> torch.Tensor:
        if self.rank == 2 and step == STUCK_STEP:
            time.sleep(3600)
        return torch.full((8, 16), float(step))


def forward(hidden: torch.Tensor, tp: dist.ProcessGroup) -> torch.Tensor:
    for _ in range(LAYERS):
        dist.all_reduce(hidden, group=tp)
    return hidden


def average_gradients(gradient: torch.Tensor, dp: dist.ProcessGroup) -> None:
    dist.all_reduce(gradient, group=dp)


def main() -> None:
    dist.init_process_group("gloo", timeout=timedelta(minutes=1))
    rank = dist.get_rank()
    tp = [dist.new_group(ranks, group_desc="tp") for ranks in ([0, 1], [2, 3])][rank // 2]
    dp = [dist.new_group(ranks, group_desc="dp") for ranks in ([0, 2], [1, 3])][rank % 2]
    loader = Loader(rank)
    for step in range(STEPS):
        hidden = forward(loader.batch(step), tp)
        average_gradients(hidden.sum(0), dp)
    dist.barrier()


if __name__ == "__main__":
    main()
