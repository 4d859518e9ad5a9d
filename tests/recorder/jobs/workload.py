"""Everything that a job can call, section by section, beside what each section should leave in the ring.

Run under torchrun with two ranks: `workload.py PREFIX`. Dumps go to `PREFIX<name>_<rank>`: `oneway` before operations
in both directions at once, which torch's analyzer always takes for a mismatch, and `all` at the end. A call is written
as (operation, description of its group, input sizes, output sizes), as rank 0 makes it.
"""

from __future__ import annotations

import datetime
import os
import sys
import threading
import warnings
from typing import Callable

import torch
import torch.distributed as dist

import recorder

T = [3, 4]
"""The sizes of most tensors here."""
Expected = list[tuple[str, str, list[list[int]], list[list[int]]]]


def same(op: str, *sizes: list[int], group: str = "default_pg") -> tuple[str, str, list[list[int]], list[list[int]]]:
    return op, group, list(sizes), list(sizes)


def default(op: str, ins: list[list[int]], outs: list[list[int]]) -> tuple[str, str, list[list[int]], list[list[int]]]:
    return op, "default_pg", ins, outs


def ones(*sizes: int) -> torch.Tensor:
    return torch.ones(*(sizes or T))


def in_place() -> None:
    dist.all_reduce(ones())
    dist.all_reduce(ones(), async_op=True).wait()
    dist.broadcast(ones(), 0)
    dist.reduce(ones(), 0)


def lists() -> None:
    mine = [ones(), ones()]
    root = dist.get_rank() == 0
    dist.gather(ones(), mine if root else None, 0)
    dist.scatter(ones(), mine if root else None, 0)
    dist.all_gather(mine, ones())
    dist.reduce_scatter(ones(), mine)


def single_tensors() -> None:
    dist.all_gather_into_tensor(ones(6, 4), ones())
    dist.reduce_scatter_tensor(ones(), ones(6, 4))
    dist.all_to_all_single(ones(4, 4), ones(4, 4))


def objects() -> None:
    dist.broadcast_object_list([17], 0)


def barriers() -> None:
    dist.barrier()
    dist.monitored_barrier()


def one_way() -> None:
    if dist.get_rank() == 0:
        dist.send(ones(), 1)
        dist.send(ones(2), 1)
        dist.isend(ones(7), 1).wait()
    else:
        dist.recv(ones(), 0)
        dist.recv(ones(2))  # from anyone
        dist.irecv(ones(7), 0).wait()


def both_ways() -> None:
    peer = 1 - dist.get_rank()
    for _ in range(2):
        work = [dist.P2POp(dist.isend, ones(5), peer), dist.P2POp(dist.irecv, ones(5), peer)]
        for request in dist.batch_isend_irecv(work):
            request.wait()


def groups() -> None:
    everyone = dist.new_group([0, 1], group_desc="everyone")
    alone = dist.new_group([0], group_desc="alone")
    dist.all_reduce(ones(), group=everyone)
    if dist.get_rank() == 0:
        dist.all_reduce(ones(), group=alone)


def mesh() -> None:
    from torch.distributed.device_mesh import init_device_mesh

    grid = init_device_mesh("cpu", (2, 1), mesh_dim_names=("rows", "columns"))
    dist.all_reduce(ones(), group=grid["columns"].get_group())


def on_the_group() -> None:
    dist.group.WORLD.allreduce(ones()).wait()


def functional() -> None:
    import torch.distributed._functional_collectives as functions

    group = dist.group.WORLD
    made = functions.all_reduce(ones(), "sum", group)
    gathered = functions.all_gather_tensor(ones(), 0, group)
    scattered = functions.reduce_scatter_tensor(ones(6, 4), "sum", 0, group)  # on gloo its Work never says it is over
    made + 1, gathered + 1, scattered + 1


def sharded_tensor() -> None:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor

    tensor = distribute_tensor(ones(8, 4), init_device_mesh("cpu", (2,)), [Shard(0)])
    tensor.redistribute(placements=[Replicate()]).to_local() + 1


def model() -> torch.nn.Module:
    return torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Linear(8, 4))


def data_parallel() -> None:
    parallel = torch.nn.parallel.DistributedDataParallel(model())
    parallel(ones(2, 8)).sum().backward()


def fully_sharded() -> None:
    from torch.distributed.fsdp import fully_shard

    sharded = model()
    fully_shard(sharded)
    sharded(ones(2, 8)).sum().backward()


def compiled() -> None:
    import torch.distributed._functional_collectives as functions

    group = dist.group.WORLD
    torch.compile(lambda x: functions.all_reduce(x * 2, "sum", group) + 1, backend="aot_eager", fullgraph=True)(ones())


def other_thread() -> None:
    thread = threading.Thread(target=lambda: dist.all_reduce(ones()), name="helper")
    thread.start()
    thread.join()


def inference() -> None:
    with torch.inference_mode():
        dist.all_reduce(ones(2))


def coalesced() -> None:
    with dist._coalescing_manager(async_ops=True) as batch:
        dist.all_reduce(ones(2))
        dist.all_reduce(ones(3))
    batch.wait()


ONE_WAY: list[tuple[Callable[[], None], Expected]] = [
    (in_place, [same("all_reduce", T), same("all_reduce", T), same("broadcast", T), same("reduce", T)]),
    (
        lists,
        [
            default("gather", [T], [[2, *T]]),
            default("scatter", [[2, *T]], [T]),
            default("all_gather", [T], [[2, *T]]),
            default("reduce_scatter", [[2, *T]], [T]),
        ],
    ),
    (
        single_tensors,
        [
            default("_all_gather_base", [T], [[6, 4]]),
            default("_reduce_scatter_base", [[6, 4]], [T]),
            same("all_to_all", [4, 4]),
        ],
    ),
    (objects, [same("broadcast", [1]), same("broadcast", [5])]),
    (barriers, [same("barrier"), same("barrier")]),
    (one_way, [same("send 0->1", T), same("send 0->1", [2]), same("send 0->1", [7])]),
    (groups, [same("all_reduce", T, group="everyone"), same("all_reduce", T, group="alone")]),
    (mesh, [same("all_reduce", T, group="mesh_columns")]),
    (on_the_group, [same("all_reduce", T)]),
    (
        functional,
        [
            same("all_reduce", T),
            default("all_gather_into_tensor_coalesced", [T], [[6, 4]]),
            default("reduce_scatter_tensor_coalesced", [[6, 4]], [T]),
        ],
    ),
    (
        sharded_tensor,
        [
            default("scatter", [[2, 4, 4]], [[4, 4]]),
            default("all_gather_into_tensor_coalesced", [[4, 4]], [[8, 4]]),
        ],
    ),
    (
        data_parallel,
        [
            default("all_gather", [[1]], [[2, 1]]),
            same("broadcast", [12]),
            same("broadcast", [108]),
            same("all_reduce", [108]),
        ],
    ),
    (fully_sharded, [default("_all_gather_base", [[54]], [[108]]), default("_reduce_scatter_base", [[108]], [[54]])]),
    (compiled, [same("all_reduce", T)]),
    (other_thread, [same("all_reduce", T)]),
    (inference, [same("all_reduce", [2])]),
    (coalesced, [same("allreduce_coalesced", [2], [3])]),
    (in_place, [same("all_reduce", T), same("all_reduce", T), same("broadcast", T), same("reduce", T)]),
]
BOTH_WAYS: Expected = [same("send 0->1", [5]), same("recv 0<-1", [5])] * 2


def write(prefix: str, name: str) -> None:
    recorder.dump(f"{prefix}{name}/rank_{dist.get_rank()}")


def main(prefix: str) -> None:
    warnings.simplefilter("ignore")
    for name in ("oneway", "all"):
        os.makedirs(f"{prefix}{name}", exist_ok=True)
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=30))
    for section, _ in ONE_WAY:
        section()
    dist.barrier()
    write(prefix, "oneway")
    both_ways()
    write(prefix, "all")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main(*map(str, sys.argv[1:]))
