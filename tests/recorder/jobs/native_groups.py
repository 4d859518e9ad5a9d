"""Two gloo ranks with sub-groups and a device mesh; rank 0 makes a call that rank 1 comes to only after all dumps.

`torchrun --nproc-per-node 2 native_groups.py FOLDER`: every rank writes FOLDER/CASE/rank_<rank> for each case.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh

from recorder import native

FOLDER = Path(sys.argv[1])


def wait_for_both(step: str, rank: int) -> None:
    """Through files, as every call of torch's would be in the dumps."""
    (FOLDER / f"{step}.{rank}").touch()
    deadline = time.monotonic() + 60
    while not all((FOLDER / f"{step}.{other}").exists() for other in (0, 1)):
        assert time.monotonic() < deadline, f"the other rank did not come to {step}"
        time.sleep(0.01)


def main() -> None:
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    tensor_parallel = dist.new_group([0, 1], group_desc="tp")
    alone = [dist.new_group([member], group_desc="alone") for member in (0, 1)][rank]
    mesh = init_device_mesh("cpu", (2, 1), mesh_dim_names=("dp", "pp"))
    gone = dist.new_group([0, 1], group_desc="gone")
    for group in (None, tensor_parallel, alone, mesh.get_group("pp"), gone):
        dist.all_reduce(torch.ones(3, 4), group=group)
    dist.destroy_process_group(gone)
    work = dist.all_reduce(torch.ones(5), group=tensor_parallel, async_op=True) if rank == 0 else None
    wait_for_both("hang", rank)

    (FOLDER / "raw").mkdir(exist_ok=True)
    (FOLDER / "raw" / f"rank_{rank}").write_bytes(vars(torch._C._distributed_c10d)["_dump_fr_trace"]())
    native.dump(FOLDER / "all" / f"rank_{rank}")
    poorer = native.dump(FOLDER / "all" / f"rank_{rank}", include_stack_traces=False)
    (FOLDER / f"poorer.{rank}").write_text(poorer)
    native.dump(FOLDER / "no_stacks" / f"rank_{rank}", include_stack_traces=False)
    native.dump(FOLDER / "no_calls" / f"rank_{rank}", include_collectives=False)
    native.dump(FOLDER / "active" / f"rank_{rank}", only_active=True)
    told = {"name": gone.group_name, "desc": "gone", "ranks": [0, 1]}
    native.dump(FOLDER / "told" / f"rank_{rank}", groups=[told])
    (FOLDER / f"default.{rank}").write_text(native.dump())

    wait_for_both("dumped", rank)
    if rank == 1:
        dist.all_reduce(torch.ones(5), group=tensor_parallel)
    elif work is not None:
        work.wait()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
