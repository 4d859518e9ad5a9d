"""More than 200,000 collectives and 40 kill -9: not one record that says something that did not happen."""

from __future__ import annotations

from pathlib import Path

import pytest

from frtui.load import load
from recorder import ringfile
from recorder.ringfile import COMPLETED, FAILED, GROUP, ISSUED, SIGNATURE, STACK, THREAD
from tests.recorder.running import JOBS, needs_torch, python

pytestmark = needs_torch

CHILDREN, CALLS = 40, 5000
SLOTS, SIZES = 500, 13
NAMES = ("gloo:all_reduce", "gloo:broadcast", "gloo:_all_gather_base")


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, int]:
    """The folder of each child, and how many calls it had made."""
    folder = tmp_path_factory.mktemp("killed")
    done = python(str(JOBS / "killed.py"), str(folder), str(CHILDREN), str(CALLS), timeout=120)
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    return {folder / name: int(calls) for name, calls in lines}


def test_they_made_enough_calls(killed: dict[Path, int]) -> None:
    assert len(killed) == CHILDREN
    assert sum(killed.values()) >= 200_000


def test_every_record_says_what_happened(killed: dict[Path, int]) -> None:
    read = 0
    for folder, calls in killed.items():
        contents = ringfile.read((folder / "recorder" / "ring.r0.frr").read_bytes())
        records, texts = contents.records, contents.texts
        assert contents.torn <= 1
        assert len(records) == SLOTS - contents.torn
        first = records[0].id
        assert [record.id for record in records] == list(range(first, first + len(records)))
        assert calls - 1 <= records[-1].id + contents.torn <= calls + 1
        assert (contents.header.rank, contents.header.world_size, contents.header.ended) == (0, 2, ringfile.RUNNING)
        assert texts[GROUP][0]["ranks"] == [0, 1]
        assert texts[THREAD][1][1] == "MainThread"
        for record in records:
            text, size = texts[SIGNATURE][record.signature], record.id % SIZES + 1
            assert text["name"] == NAMES[record.id % 3]
            assert text["inputs"] == [[size]]
            assert text["outputs"] == ([[2 * size]] if record.id % 3 == 2 else [[size]])
            assert record.collective_seq == record.op_id == record.id + 1
            assert record.p2p_seq == 0
            names = [name for name, _, _ in texts[STACK][record.stack]]
            assert names[-4:] == ["call_for_ever", "child", "main", "<module>"]
            assert record.created_ns == record.started_ns
            assert not record.flags & FAILED
            read += 1
        times = [record.created_ns for record in records]
        assert times == sorted(times)
        for record in records[:-2]:
            assert record.flags == ISSUED | COMPLETED
            assert record.created_ns <= record.completed_ns
    assert read >= CHILDREN * (SLOTS - 1)


def test_frtui_reads_them_as_they_were_left(killed: dict[Path, int]) -> None:
    for folder, calls in killed.items():
        job = load(folder)
        made = list(job.calls(0))
        assert SLOTS - 1 <= len(made) <= SLOTS
        assert [call.seq for call in made] == list(range(made[0].seq, made[0].seq + len(made)))
        assert abs(made[-1].seq - calls) <= 1
        assert all(call.done for call in made[:-2])
        for call in made:
            assert call.signature.inputs == (((call.seq - 1) % SIZES + 1,),)
