"""Four ranks, tensor parallel in pairs, data parallel over all: rank 3 enters its two groups in the other order."""

from datetime import timedelta

import torch
import torch.distributed as dist

STEPS, SWAPPED_STEP = 5, 3


def reduce_activations(hidden: torch.Tensor, tp: dist.ProcessGroup) -> None:
    dist.all_reduce(hidden, group=tp)


def average_gradients(gradient: torch.Tensor, dp: dist.ProcessGroup) -> None:
    dist.all_reduce(gradient, group=dp)


def train_step(step: int, rank: int, tp: dist.ProcessGroup, dp: dist.ProcessGroup) -> None:
    hidden, gradient = torch.ones(8, 16), torch.ones(32, 4)
    if rank == 3 and step == SWAPPED_STEP:
        average_gradients(gradient, dp)
        reduce_activations(hidden, tp)
    else:
        reduce_activations(hidden, tp)
        average_gradients(gradient, dp)


def main() -> None:
    dist.init_process_group("gloo", timeout=timedelta(minutes=1))
    rank = dist.get_rank()
    tp = [dist.new_group(ranks, group_desc="tp") for ranks in ([0, 1], [2, 3])][rank // 2]
    dp = dist.new_group([0, 1, 2, 3], group_desc="dp")
    for step in range(STEPS):
        train_step(step, rank, tp, dp)
    dist.barrier()


if __name__ == "__main__":
    main()
