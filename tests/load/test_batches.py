"""Coalesced batches are one call, and nothing else is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from frtui.load import load
from frtui.model import Job
from tests.dumps import batch, dump, entry, write

TP = ("1", "tp")


def one(tmp_path: Path, *entries: dict[str, Any], **options: Any) -> Job:
    return load(write(tmp_path, {0: dump(entries, **options)}))


def calls(job: Job) -> list[tuple[str, list[str], bool]]:
    """(op, ops of the parts, p2p) of every call."""
    return [(c.op, [part.op for part in c.signature.parts], c.p2p) for c in job.calls(0)]


def test_a_p2p_batch_is_one_call(tmp_path: Path) -> None:
    rows = batch(["send 0->1", "recv 0<-3"], seq=4, p2p_seq=1)
    job = one(tmp_path, entry(4), *rows, entry(5))
    assert calls(job) == [("all_reduce", [], False), ("coalesced", ["send", "recv"], True), ("all_reduce", [], False)]
    assert list(job.ranks[0].entries.call) == [0, 3, 3, 3, 4]
    call = job.call(0, 3)
    assert call.done
    assert [(p.src, p.dst) for p in call.signature.parts] == [(0, 1), (3, 0)]
    assert call.signature.parts[0].inputs == ((4,),)


def test_a_coalesced_collective_is_one_call_with_its_parts(tmp_path: Path) -> None:
    job = one(tmp_path, *batch(["all_reduce", "all_reduce"], seq=3, state="started"))
    assert calls(job) == [("coalesced", ["all_reduce", "all_reduce"], False)]
    assert not job.call(0, 2).done


@pytest.mark.parametrize(
    ("member", "closing"), [("_broadcast_oop", "ALLGATHER_coalesced"), ("_reduce_oop", "REDUCE_SCATTER_coalesced")]
)
def test_uneven_gather_and_scatter(tmp_path: Path, member: str, closing: str) -> None:
    job = one(tmp_path, *batch([member] * 3, seq=2, closing=closing), entry(3))
    assert calls(job) == [(closing, [member] * 3, False), ("all_reduce", [], False)]


@pytest.mark.parametrize("version", ["1.4", "2.1", "2.4", "2.7", "2.10"])
def test_batches_of_every_version(tmp_path: Path, version: str) -> None:
    job = one(tmp_path, *batch(["send 0->1", "recv 0<-1"], seq=1, p2p_seq=1), version=version)
    assert calls(job) == [("coalesced", ["send", "recv"], True)]


def test_batches_of_two_groups_may_be_interleaved(tmp_path: Path) -> None:
    a = batch(["send 0->1", "recv 0<-1"], p2p_seq=1, group=TP)
    b = batch(["send 0->2", "recv 0<-2"], p2p_seq=1, group=("2", "pp"))
    rows = [row for pair in zip(a, b) for row in pair]
    assert list(one(tmp_path, *rows).ranks[0].entries.call) == [4, 5, 4, 5, 4, 5]


def test_batches_of_two_threads_may_be_interleaved(tmp_path: Path) -> None:
    a = batch(["all_reduce", "all_reduce"], seq=1, thread="1")
    b = batch(["all_reduce", "all_reduce"], seq=2, thread="2")
    rows = [row for pair in zip(a, b) for row in pair]
    assert list(one(tmp_path, *rows).ranks[0].entries.call) == [4, 5, 4, 5, 4, 5]


def test_an_open_batch_stays_its_own_rows(tmp_path: Path) -> None:
    rows = batch(["send 0->1", "recv 0<-1"], p2p_seq=1)[:-1]
    assert calls(one(tmp_path, *rows)) == [("send", [], True), ("recv", [], True)]


def test_a_closing_entry_alone_is_a_call(tmp_path: Path) -> None:
    """Up to version 2.4 the members of a coalesced collective are not recorded."""
    rows = [entry(1), *batch([], seq=2), entry(3)]
    job = one(tmp_path, *rows, version="2.4")
    assert calls(job) == [("all_reduce", [], False), ("coalesced", [], False), ("all_reduce", [], False)]


def test_a_single_send_is_no_member(tmp_path: Path) -> None:
    """An outstanding isend before a coalesced collective that recorded no members."""
    rows = [entry(6, "send 0->1", p2p_seq=3, state="scheduled"), *batch([], seq=7, p2p_seq=3)]
    assert calls(one(tmp_path, *rows)) == [("send", [], True), ("coalesced", [], False)]


def test_a_retired_op_is_no_member(tmp_path: Path) -> None:
    rows = [entry(2, state="scheduled", retired=True), *batch(["all_reduce"], seq=2)]
    assert calls(one(tmp_path, *rows))[-1] == ("coalesced", ["all_reduce"], False)


def test_a_send_of_an_earlier_number_is_no_member(tmp_path: Path) -> None:
    rows = [entry(6, "send 0->2", p2p_seq=3, state="scheduled"), *batch(["send 0->1"], seq=6, p2p_seq=4)]
    assert calls(one(tmp_path, *rows)) == [("send", [], True), ("coalesced", ["send"], True)]


def test_an_outstanding_collective_is_no_member_of_a_p2p_batch(tmp_path: Path) -> None:
    """The closing entry of a p2p batch has the number of the last real collective."""
    rows = [entry(5, state="scheduled"), *batch(["send 0->1"], seq=5, p2p_seq=1, state="scheduled")]
    job = one(tmp_path, *rows)
    assert calls(job) == [("all_reduce", [], False), ("coalesced", ["send"], True)]


def test_a_finished_or_started_op_is_no_member(tmp_path: Path) -> None:
    rows = [entry(2, state="completed"), entry(2, state="started"), *batch(["all_reduce"], seq=2)]
    assert calls(one(tmp_path, *rows))[-1] == ("coalesced", ["all_reduce"], False)


def test_one_entry_coalesced_ops_are_no_closing_entries(tmp_path: Path) -> None:
    rows = [entry(1, state="scheduled"), entry(1, "allreduce_coalesced", sizes=[[4], [8]])]
    assert calls(one(tmp_path, *rows)) == [("all_reduce", [], False), ("allreduce_coalesced", [], False)]


def test_a_batch_that_lost_members_to_the_ring_claims_no_parts(tmp_path: Path) -> None:
    rows = batch(["send 0->1", "recv 0<-1", "send 0->2"], p2p_seq=9)
    job = one(tmp_path, *rows[1:], entry(4), *batch(["send 0->1"], seq=4, p2p_seq=10), first_record=500)
    assert calls(job) == [
        ("coalesced", [], True),
        ("all_reduce", [], False),
        ("coalesced", ["send"], True),
    ]
    assert list(job.ranks[0].entries.call)[:3] == [2, 2, 2]


def test_a_p2p_batch_that_lost_all_members_is_still_p2p(tmp_path: Path) -> None:
    job = one(tmp_path, batch(["send 0->1"], seq=26, p2p_seq=9)[-1], entry(27), first_record=500)
    assert calls(job) == [("coalesced", [], True), ("all_reduce", [], False)]
