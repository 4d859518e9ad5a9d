"""Dumps that torch itself made, and a large one."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from frtui.load import load
from frtui.load.opcodes import Shape, walk
from frtui.model import Entries
from tests import corpus, torch_pickle
from tests.dumps import DEFAULT, dump, entry, write
from tests.load.ways import same

GLOO_JOB = """
import os, pickle, sys, time
import torch, torch.distributed as dist
rank, folder = int(sys.argv[1]), sys.argv[2]
dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2)
pair = dist.new_group([0, 1], group_desc="tp")
for _ in range(3):
    dist.all_reduce(torch.ones(3, 4))
dist.broadcast(torch.ones(2, dtype=torch.long), 0, group=pair)
fr = torch._C._distributed_c10d
deadline = time.monotonic() + 60  # gloo's own threads retire the calls, some time after they return here
while not all(e["retired"] for e in pickle.loads(fr._dump_fr_trace())["entries"]) and time.monotonic() < deadline:
    time.sleep(0.02)
open(f"{folder}/nccl_trace_rank_{rank}", "wb").write(fr._dump_fr_trace())
open(f"{folder}/trace_{rank}.json", "wb").write(fr._dump_fr_trace_json())
dist.barrier()
"""


@pytest.fixture(scope="module")
def gloo_job(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two ranks of a real job, each with a pickle and a JSON dump."""
    pytest.importorskip("torch")
    folder = tmp_path_factory.mktemp("gloo")
    environment = {**os.environ, "TORCH_FR_BUFFER_SIZE": "100", "OMP_NUM_THREADS": "1"}
    ranks = [
        subprocess.Popen([sys.executable, "-c", GLOO_JOB, str(rank), str(folder)], env=environment) for rank in (0, 1)
    ]
    if any(process.wait(120) for process in ranks):
        pytest.skip("this torch records nothing with gloo")
    return folder


def test_a_job_on_gloo(gloo_job: Path) -> None:
    job = load(gloo_job, prefix="nccl_trace_rank_")
    tp = next(i for i, g in enumerate(job.groups) if g.desc == "tp")
    assert [g.ranks for g in job.groups] == [(0, 1), (0, 1)]
    for rank in (0, 1):
        calls = [c for c in job.calls(rank) if c.op == "all_reduce"]
        assert [c.signature.inputs for c in calls] == [((3, 4),)] * 3
        assert [b.seq - a.seq for a, b in zip(calls, calls[1:])] == [1, 1]
        assert all(c.done for c in job.calls(rank))
        assert calls[0].stack[-1].filename == "<string>"
        broadcast = next(c for c in job.calls(rank) if c.op == "broadcast")
        assert (broadcast.group, broadcast.signature.input_dtypes) == (tp, ("Long",))
        assert job.ranks[rank].status[tp].enqueued == broadcast.seq
    assert {p.problem for p in job.problems} == {"skipped"}


def test_json_of_torch_agrees_with_its_pickle(gloo_job: Path) -> None:
    pickled = load(gloo_job, prefix="nccl_trace_rank_")
    as_json = load(gloo_job, prefix="trace_")
    for rank in (0, 1):
        a, b = pickled.ranks[rank].entries, as_json.ranks[rank].entries
        same = [name for name, _ in Entries.COLUMNS if name not in ("stack", "retired", "done")]
        assert [list(getattr(a, n)) for n in same] == [list(getattr(b, n)) for n in same]
    assert pickled.signatures == as_json.signatures


def test_torch_writes_what_the_fast_way_knows(gloo_job: Path) -> None:
    data = (gloo_job / "nccl_trace_rank_0").read_bytes()
    assert walk(data) == (Shape.PLAIN, len(data))
    assert same(data)
    assert torch_pickle.dumps(pickle.loads(data)).count(b"]") <= data.count(b"]")


@corpus.needed
def test_every_case_of_the_corpus() -> None:
    for folder in corpus.cases():
        job = load(folder)
        raws = {int(f.name.rpartition("_")[2]): pickle.loads(f.read_bytes()) for f in folder.iterdir()}
        assert {p.problem for p in job.problems} <= {"no-entries"}
        assert {r: len(raw["entries"]) for r, raw in raws.items()} == {r: len(d.entries) for r, d in job.ranks.items()}
        for rank, raw in raws.items():
            for row, item in enumerate(raw["entries"]):
                call = job.call(rank, row)
                group = job.groups[call.group]
                assert (group.name, group.desc) == item["process_group"]
                assert rank in group.ranks
                assert call.seq == item["collective_seq_id"]
                assert len(call.stack) == len(item.get("frames", ()))


def test_a_million_entries_fit_in_200_mb(tmp_path: Path) -> None:
    """Measured on 20,000 entries: 4 ranks, 40 call sites, 3 shapes."""
    rows = [entry(seq, sizes=[[seq % 3 + 1, 8]], site=("train.py", seq % 40), duration=0.5) for seq in range(1, 5001)]
    data = torch_pickle.dumps(dump(rows, pg_config={DEFAULT: range(4)}))
    for rank in range(4):
        (tmp_path / f"rank_{rank}").write_bytes(data)
    job = load(tmp_path)
    columns = [getattr(r.entries, name) for r in job.ranks.values() for name, _ in Entries.COLUMNS]
    columns += [r.calls for r in job.ranks.values()]
    size = sum(sys.getsizeof(column) for column in columns)
    assert job.n_entries == 20_000
    assert size * 50 < 200_000_000
    assert (len(job.stacks), len(job.signatures)) == (40, 3)


def test_the_collector_is_left_as_it_was(tmp_path: Path) -> None:
    import gc

    write(tmp_path, {0: dump([entry(1)])})
    for enabled in (True, False):
        (gc.enable if enabled else gc.disable)()
        try:
            load(tmp_path)
            assert gc.isenabled() == enabled
        finally:
            gc.enable()
