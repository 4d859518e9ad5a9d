"""torch's own buffer on demand, in real jobs on gloo. NCCL's needs a GPU and is not run: only its function's name
differs here."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from frtui.engine import diagnose
from frtui.load import load
from recorder.files import loads
from recorder.native import buffers
from recorder.native.buffers import Switches
from tests.recorder.running import JOBS, ROOT, analyzed, needs_torch, torchrun


def environment(**more: str) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("TORCH_FR", "TORCH_NCCL"))}
    on = (
        {} if any(name.endswith("BUFFER_SIZE") for name in more) else {"TORCH_FR_BUFFER_SIZE": "100"}
    )  # off before 2.11
    return {**kept, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", **on, **more}


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The dumps of `native_groups.py`, in a folder for each case."""
    folder = tmp_path_factory.mktemp("native")
    command = torchrun(2, str(JOBS / "native_groups.py"), str(folder))
    prefix = str(folder / "default" / "prefix_")
    done = subprocess.run(
        command, env=environment(TORCH_FR_DUMP_TEMP_FILE=prefix), capture_output=True, text=True, timeout=90
    )
    assert done.returncode == 0, done.stderr
    return folder


def dump_of(path: Path) -> dict[str, Any]:
    return loads(path.read_bytes())


@needs_torch
def test_every_group_has_its_name_and_members(job: Path) -> None:
    groups = {(g.name, g.desc): g.ranks for g in load(job / "all").groups if not g.rebuilt}
    assert groups == {
        ("0", "default_pg"): (0, 1),
        ("1", "tp"): (0, 1),
        ("2", "alone"): (0,),
        ("3", "alone"): (1,),
        ("4", "mesh_pp"): (0,),
        ("5", "mesh_pp"): (1,),
    }


@needs_torch
@pytest.mark.parametrize("case", ["all", "no_stacks", "active", "told"])
def test_the_rank_that_is_missing_is_named(job: Path, case: str, tmp_path: Path) -> None:
    for rank in (0, 1):
        dump = dump_of(job / case / f"rank_{rank}")
        dump["recorder"]["dumped_ns"] += 60 * 10**9  # a call that was made just now is no finding
        (tmp_path / f"rank_{rank}").write_bytes(pickle.dumps(dump, 2))
    stuck = load(tmp_path)
    finding = diagnose(stuck)[0]
    assert finding.ranks == (1,), finding
    assert finding.group is not None
    assert stuck.groups[finding.group].desc == "tp"


@needs_torch
def test_torchs_analyzer_stops_at_torchs_own_dump_and_reads_the_repaired_one(job: Path) -> None:
    assert analyzed(job / "raw").stderr.splitlines()[-1] == "KeyError: ('0', 0)"
    told = analyzed(job / "told")
    said = told.stdout + told.stderr
    assert "group info: 1:tp" in said
    assert "missing ranks: {1}" in said


@needs_torch
@pytest.mark.parametrize("case", ["all", "no_stacks", "no_calls", "active"])
def test_torchs_analyzer_reads_the_dump_with_any_switch(job: Path, case: str) -> None:
    done = analyzed(job / case)
    assert done.returncode == 0, done.stderr
    said = done.stdout + done.stderr
    assert ("missing ranks: {1}" in said) == (case != "no_calls")


@needs_torch
def test_the_switches_leave_out_what_they_name_and_say_so(job: Path) -> None:
    whole, stackless, bare, active = (
        dump_of(job / case / "rank_0") for case in ("all", "no_stacks", "no_calls", "active")
    )
    assert len(whole["entries"]) == 6
    assert whole["entries"][-1]["frames"][-1]["filename"] == str(JOBS / "native_groups.py")
    assert [e.get("frames") for e in stackless["entries"]] == [None] * 6
    assert bare["entries"] == []
    assert len(active["entries"]) == 6, "on gloo nothing is ever completed"
    left_out = [d["recorder"]["left_out"] for d in (whole, stackless, bare, active)]
    assert left_out == [[], ["stacks"], ["calls"], ["finished calls"]]


@needs_torch
def test_nothing_is_made_up_of_a_destroyed_group(job: Path) -> None:
    entry = next(e for e in dump_of(job / "all" / "rank_1")["entries"] if e["process_group"][1] == "gone")
    name = entry["process_group"][0]
    assert dump_of(job / "all" / "rank_1")["pg_config"][name] == {"name": name, "desc": "gone", "ranks": "[]"}
    assert dump_of(job / "told" / "rank_1")["pg_config"][name]["ranks"] == "[0, 1]"


@needs_torch
def test_a_poorer_dump_goes_beside_the_richer_one(job: Path) -> None:
    for rank in (0, 1):
        beside = Path((job / f"poorer.{rank}").read_text())
        assert beside.parent == job / "all" / "recorder"
        assert "frames" not in dump_of(beside)["entries"][0]
        assert "frames" in dump_of(job / "all" / f"rank_{rank}")["entries"][0]
    assert sorted(load(job / "all").ranks) == [0, 1]


@needs_torch
def test_without_a_path_the_file_is_named_as_torch_would(job: Path) -> None:
    for rank in (0, 1):
        path = Path((job / f"default.{rank}").read_text())
        assert path == job / "default" / f"prefix_{rank}"
        header = dump_of(path)["recorder"]
        assert (header["rank"], header["world_size"], header["source"]) == (rank, 2, "gloo")


def alone(folder: Path, **more: str) -> dict[str, str]:
    command = [sys.executable, str(JOBS / "native_alone.py"), str(folder / "store")]
    done = subprocess.run(command, env=environment(**more), capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    said: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
    return said


@needs_torch
def test_what_one_process_is_told_at_each_moment(tmp_path: Path) -> None:
    said = alone(tmp_path)
    assert "no process group" in said["early"]
    assert said["no call yet"] == "0 calls"
    assert said["one call"] == "1 calls"
    without_cuda, with_cuda = "no buffer 'nccl'; it has: gloo", "no process group here uses nccl, but gloo"
    assert without_cuda in said["nccl"] or with_cuda in said["nccl"]
    assert said["warm"] == "True"
    assert int(said["imported by prewarm"]) > 100, "then prewarming is no longer needed"
    assert said["imported by fetch"] == "0"


@needs_torch
def test_a_buffer_that_is_off_is_told_with_what_to_set(tmp_path: Path) -> None:
    said = alone(tmp_path, TORCH_NCCL_TRACE_BUFFER_SIZE="0")  # the older name, which torch still reads
    for moment in ("early", "no call yet", "one call"):
        assert said[moment].endswith("set TORCH_FR_BUFFER_SIZE=2000 in the job's environment")


def test_torch_is_not_imported_to_find_out_that_it_has_nothing() -> None:
    program = """
import sys
from recorder import native
assert native.available() == []
assert native.prewarm() is False
try:
    native.fetch()
except native.Unavailable as error:
    print(error)
assert "torch" not in sys.modules
"""
    done = subprocess.run([sys.executable, "-c", program], env=environment(), capture_output=True, text=True)
    assert done.stdout == "torch is not imported in this process, so it has no buffer\n", done.stderr


TAKEN = {"version": "2.4", "entries": [{"record_id": 0, "state": "completed", "frames": []}, {"state": "scheduled"}]}


def by_name(*, includeCollectives: bool, includeStackTraces: bool, onlyActive: bool) -> bytes:
    return pickle.dumps([includeCollectives, includeStackTraces, onlyActive])


def by_order(collectives: bool, stacks: bool, active: bool) -> bytes:
    return pickle.dumps([collectives, stacks, active])


@pytest.mark.parametrize("function", [by_name, by_order])
def test_the_switches_reach_torch_by_name_or_by_order(function: Any) -> None:
    assert pickle.loads(buffers.called(function, Switches(True, False, True), {})) == [True, False, True]


def test_a_function_without_arguments_is_narrowed_afterwards() -> None:
    taken = loads(buffers.called(lambda: pickle.dumps(TAKEN), Switches(), {}))
    assert buffers.narrowed(taken, Switches()) == TAKEN
    assert buffers.narrowed(taken, Switches(True, False, True))["entries"] == [{"state": "scheduled"}]
    assert buffers.narrowed(taken, Switches(includeStackTraces=False))["entries"][0] == {
        "record_id": 0,
        "state": "completed",
    }
    assert buffers.narrowed(taken, Switches(includeCollectives=False)) == {"version": "2.4", "entries": []}
