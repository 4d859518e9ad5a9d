"""All that a healthy job can call is recorded, with the right sizes, groups and states, and nobody finds a fault."""

from __future__ import annotations

import itertools
import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from frtui.engine import diagnose
from frtui.load import load
from recorder import ringfile
from recorder.files import loads
from tests.recorder.running import JOBS, analyzed, needs_torch, python, recorder, running, torchrun, wait_for

pytestmark = needs_torch

EXPECTED = """
import json, sys
from tests.recorder.jobs import workload
sections = [[section.__name__, expected] for section, expected in workload.ONE_WAY]
json.dump({"one_way": sections, "both_ways": workload.BOTH_WAYS}, sys.stdout)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("workload")
    command = torchrun(2, *recorder(folder / "own"), str(JOBS / "workload.py"), f"{folder}/")
    with running(command, folder / "job.log") as job:
        wait_for(lambda: job.poll() is not None, folder / "job.log", 120)
        assert job.returncode == 0, (folder / "job.log").read_text()
    return folder


@pytest.fixture(scope="module")
def expected() -> Any:
    """What `workload.py` says; importing it here would need torch for collecting the tests."""
    return json.loads(python("-c", EXPECTED).stdout)


def entries(folder: Path, name: str, rank: int) -> list[dict[str, Any]]:
    dump = loads((folder / name / f"rank_{rank}").read_bytes())
    assert dump["recorder"]["native"] if "native" in dump["recorder"] else not dump["unresolved"]
    made: list[dict[str, Any]] = dump["entries"]
    return made


def call(entry: dict[str, Any]) -> list[Any]:
    op = entry["profiling_name"].partition(":")[2]
    return [op, entry["process_group"][1], entry["input_sizes"], entry["output_sizes"]]


def test_every_call_of_every_section_is_there(folder: Path, expected: Any) -> None:
    wanted = [[name, list(c)] for name, calls in expected["one_way"] for c in calls]
    wanted += [["barrier", ["barrier", "default_pg", [], []]]]
    wanted += [["both_ways", list(c)] for c in expected["both_ways"]]
    made = [call(entry) for entry in entries(folder, "all", 0)]
    for (section, wanted_call), found in itertools.zip_longest(wanted, made, fillvalue=(None, None)):
        assert found == wanted_call, section


@pytest.mark.parametrize("rank", [0, 1])
def test_all_are_completed_and_know_where_they_were_called(rank: int, folder: Path) -> None:
    made = entries(folder, "all", rank)
    assert {entry["state"] for entry in made} == {"completed"}
    assert [entry["record_id"] for entry in made] == list(range(len(made)))
    for entry in made:
        files = [frame["filename"].rpartition("/")[2] for frame in entry["frames"]]
        assert "workload.py" in files, entry["profiling_name"]
        assert "launch.py" not in files  # the frames that started the job are not the job's
        assert entry["time_discovered_completed_ns"] >= entry["time_created_ns"] > 0


def test_sequence_numbers_count_by_group_and_kind(folder: Path) -> None:
    by_group: dict[Any, list[int]] = {}
    for entry in entries(folder, "all", 0):
        if not entry["is_p2p"]:
            by_group.setdefault(entry["process_group"], []).append(entry["collective_seq_id"])
    assert len(by_group) == 4
    assert all(numbers == list(range(1, len(numbers) + 1)) for numbers in by_group.values())


def test_operations_of_one_batch_share_their_number(folder: Path) -> None:
    p2p = [entry["p2p_seq_id"] for entry in entries(folder, "all", 0) if entry["is_p2p"]]
    assert p2p == [1, 2, 3, 4, 4, 5, 5]


def test_a_receive_from_anyone_names_its_sender(folder: Path) -> None:
    names = [entry["profiling_name"] for entry in entries(folder, "all", 1) if entry["is_p2p"]]
    assert names[:3] == ["gloo:recv 1<-0"] * 3


def test_a_call_of_another_thread_says_so(folder: Path) -> None:
    assert [e["thread_name"] for e in entries(folder, "all", 0)].count("helper") == 1


@pytest.mark.parametrize("name", ["oneway", "all"])
def test_frtui_finds_no_fault(name: str, folder: Path) -> None:
    job = load(folder / name)
    assert [finding.kind for finding in diagnose(job)] == ["no-hang"]
    assert not job.problems
    descriptions = {(group.desc, group.ranks) for group in job.groups}
    assert {("default_pg", (0, 1)), ("everyone", (0, 1)), ("alone", (0,))} <= descriptions


def test_torchs_analyzer_finds_no_fault(folder: Path) -> None:
    done = analyzed(folder / "oneway", "-p", "rank_")
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    assert len(pickle.loads((folder / "oneway" / "rank_0").read_bytes())["entries"]) > 30
    assert not [word for word in ("MISMATCH", "Not all ranks joining", "missing ranks") if word in said], said


def test_the_ring_says_that_the_job_ended_in_order(folder: Path) -> None:
    job = load(folder / "own")
    assert [finding.kind for finding in diagnose(job)] == ["no-hang"]
    for rank in (0, 1):
        ring = (folder / "own" / "recorder" / f"ring.r{rank}.frr").read_bytes()
        assert ringfile.read(ring).header.ended == ringfile.DESTROYED
