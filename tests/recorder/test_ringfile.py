"""The ring file: what is written is read, however the file is cut, damaged or being written."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recorder import export, ringfile
from recorder.outside import rings
from recorder.ring import Ring
from recorder.ringfile import COMPLETED, ERROR, FAILED, GROUP, ISSUED, SIGNATURE, STACK, THREAD, Contents
from tests.recorder.running import ROOT, environment

many = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.integers(1, 5), st.integers(0, 2**32 - 1)),
        st.tuples(st.just("complete"), st.integers(0, 60), st.sampled_from([COMPLETED, FAILED])),
        st.tuples(st.just("text"), st.sampled_from([SIGNATURE, STACK, ERROR]), st.integers(0, 400_000)),
    ),
    max_size=60,
)


def put(ring: Ring, signature: int = 1, stack: int = 1, seq: int = 1) -> int:
    return ring.put(signature, stack, 0, ISSUED, seq, 0, seq, 1000, 1)


def bytes_of(ring: Ring) -> bytes:
    """Of the file, which is longer than what is used of it."""
    return Path(ring.path).read_bytes()


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    ring = Ring(str(tmp_path_factory.mktemp("ring") / "ring.r3.frr"), 8, 3, 4, "2.13.0", "rank_")
    call = {"name": "gloo:all_reduce", "inputs": [[4]], "outputs": [[4]]}
    ring.text(SIGNATURE, 1, {**call, "input_dtypes": ["Float"], "output_dtypes": ["Float"], "more": {}})
    ring.text(STACK, 1, [["main", "train.py", 7]])
    ring.text(GROUP, 0, {"name": "0", "desc": "default_pg", "ranks": [0, 1, 2, 3]})
    ring.text(THREAD, 1, ["7f", "MainThread"])
    ring.text(ERROR, 1, "boom")
    for seq in range(1, 12):
        ring.complete(put(ring, seq=seq), ISSUED | (FAILED if seq == 11 else COMPLETED), seq == 11)
    return ring.snapshot()


@many
@given(steps=STEPS, slots=st.integers(1, 20))
def test_what_is_written_is_read(steps: list[tuple[Any, ...]], slots: int, tmp_path: Path) -> None:
    ring = Ring(str(tmp_path / "ring.r0.frr"), slots, 0, 1)
    wanted: dict[int, list[int]] = {}
    texts: dict[int, dict[int, str]] = {kind: {} for kind in (SIGNATURE, STACK, ERROR)}
    for what, first, second in steps:
        if what == "put":
            wanted[put(ring, first, second)] = [first, second, ISSUED]
        elif what == "complete":
            ring.complete(first, ISSUED | second)
            if first in wanted and first > ring.newest - slots:
                wanted[first][2] = ISSUED | second
        else:
            text = chr(97 + second % 26) * second
            assert ring.text(first, len(texts[first]), text)
            texts[first][len(texts[first])] = text
    last = {number: tuple(wanted[number]) for number in list(wanted)[-slots:]}
    for data in (ring.snapshot(), bytes_of(ring)):
        contents = ringfile.read(data)
        assert {r.id: (r.signature, r.stack, r.flags) for r in contents.records} == last
        assert [r.id for r in contents.records] == sorted(last)
        assert contents.torn == 0
        assert {kind: contents.texts[kind] for kind in texts} == texts
        assert all(r.created_ns <= (r.completed_ns or r.created_ns) for r in contents.records)


def test_texts_outgrow_their_area_until_there_is_no_more_room(tmp_path: Path) -> None:
    """Each is new, and may be about to be named: they all stay."""
    ring = Ring(str(tmp_path / "ring.r0.frr"), 4, 0, 1)
    before = os.stat(ring.path).st_size
    number = put(ring)
    stored = [n for n in range(40) if ring.text(STACK, n, "x" * (2 << 20))]
    assert os.stat(ring.path).st_size > 20 * before
    ring.complete(number, ISSUED | COMPLETED)
    contents = ringfile.read(bytes_of(ring))
    assert list(contents.texts[STACK]) == stored
    assert 20 < len(stored) < 40
    assert ring.lost_texts == 40 - len(stored)
    assert contents.records[0].flags == ISSUED | COMPLETED
    assert os.listdir(tmp_path) == ["ring.r0.frr"]


def test_texts_that_no_record_names_any_more_make_room(tmp_path: Path) -> None:
    ring = Ring(str(tmp_path / "ring.r0.frr"), 4, 0, 1)
    told: list[dict[int, set[int]]] = []
    ring.on_renewal.append(told.append)
    ring.text(GROUP, 0, {"name": "0"})
    for number in range(1, 20_001):
        assert ring.text(STACK, number, "x" * 500)
        put(ring, stack=number)
    assert os.stat(ring.path).st_size < 4 << 20
    contents = ringfile.read(bytes_of(ring))
    assert contents.texts[GROUP] == {0: {"name": "0"}}
    assert (
        {record.stack for record in contents.records} == {19_997, 19_998, 19_999, 20_000} <= set(contents.texts[STACK])
    )
    assert len(contents.texts[STACK]) < 3000
    assert told[-1][STACK] <= set(contents.texts[STACK]), "who was told what is left may go on naming it"


def test_the_ring_of_a_rank_that_was_killed_is_kept(tmp_path: Path) -> None:
    """By the next process that records into the folder, if nobody has made a dump of it."""
    path = tmp_path / "ring.r0.frr"
    program = "import os, sys; from recorder.ring import Ring; put = Ring(sys.argv[1], 4, 0, 1).put; "
    program += "put(1, 0, 0, 2, 1, 0, 1, 0, 0); os.kill(os.getpid(), 9)"
    subprocess.run([sys.executable, "-c", program, str(path)], cwd=ROOT, check=False)
    first = path.read_bytes()
    Ring(str(path), 4, 0, 1)
    kept = tmp_path / "ring.r0.earlier1.frr~"
    assert kept.read_bytes() == first
    Ring(str(path), 4, 0, 1)
    assert sorted(os.listdir(tmp_path)) == ["ring.r0.earlier1.frr~", "ring.r0.frr"], "an empty one is worth nothing"


def test_a_process_that_was_killed_is_gone_at_once(tmp_path: Path) -> None:
    path = tmp_path / "ring.r0.frr"
    program = "import sys, time; from recorder.ring import Ring; Ring(sys.argv[1], 4, 0, 1); time.sleep(60)"
    process = subprocess.Popen([sys.executable, "-c", program, str(path)], cwd=ROOT)
    try:
        while not path.exists():
            assert process.poll() is None
            time.sleep(0.01)
        found = ringfile.read(path.read_bytes()).header
        assert ringfile.alive(found) is True
    finally:
        process.kill()
        process.wait()
    assert found.pid_space != ""
    beaten = found._replace(heartbeat_ns=time.time_ns() + 60 * 10**9)
    assert ringfile.alive(beaten) is False
    another_s = beaten._replace(pid=os.getpid())
    assert ringfile.alive(another_s) is False, "its number has been given to another process"
    for space in ("", f"{found.pid_space}1"):  # an older ring, another container
        assert ringfile.alive(beaten._replace(pid_space=space)) is True
        assert ringfile.alive(beaten._replace(pid_space=space, heartbeat_ns=found.opened_ns - 4 * 10**9)) is False


@pytest.mark.parametrize("pid", [0, 1, (1 << 64) - 1])
def test_a_process_number_of_a_stranger(pid: int, tmp_path: Path) -> None:
    Ring(str(tmp_path / "ring.r0.frr"), 4, 0, 1)
    header = ringfile.read((tmp_path / "ring.r0.frr").read_bytes()).header
    assert ringfile.alive(header._replace(pid=pid)) in (True, False)


def check(data: bytes) -> Contents | None:
    """It is read, or it is refused with a reason; the memory that takes is some times that of the file."""
    tracemalloc.start()
    try:
        contents = ringfile.read(data)
        export.dump_of_ring(data, "Fatal Python error: Aborted\n\nThread 0x7f (most recent call first):\n")
        return contents
    except ValueError:
        return None
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 40 * len(data) + (1 << 20)


@pytest.mark.parametrize("size", [*range(0, 600, 37), *range(4000, 5200, 13)])
def test_a_file_cut_anywhere(size: int, filled: bytes) -> None:
    contents = check(filled[:size])
    whole = ringfile.read(filled)
    if size >= 4096 + 8 * 96:
        assert contents is not None
        assert contents.records == whole.records
    else:
        assert contents is None


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_damaged_bytes(data: st.DataObject, filled: bytes) -> None:
    damaged = bytearray(filled)
    used = [*range(8, 200), *range(4096, len(filled))]
    for position, value in data.draw(st.lists(st.tuples(st.sampled_from(used), st.integers(0, 255)), max_size=8)):
        damaged[position] = value
    check(bytes(damaged))


@settings(max_examples=100, deadline=None)
@given(
    kind=st.sampled_from([SIGNATURE, STACK, GROUP, ERROR, THREAD]),
    content=st.recursive(
        st.none() | st.integers() | st.floats() | st.text(max_size=3),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["name", "ranks", "more"]), inner),
        max_leaves=6,
    ),
)
def test_texts_of_any_shape(kind: int, content: object, filled: bytes) -> None:
    """JSON of another shape, as a stranger's ring could have, after the right one."""
    head = ringfile.read_header(filled)
    text = json.dumps(content).encode()
    number = 0 if kind == GROUP else 1
    data = bytearray(filled[: head.texts_end]) + ringfile.TEXT.pack(kind, number, len(text)) + text
    ringfile.U64.pack_into(data, ringfile.TEXTS_END_AT, len(data))
    check(bytes(data))


@pytest.mark.parametrize("offset", [16, 24])  # of the number of slots, and of the end of the texts
@pytest.mark.parametrize("value", [0, 7, 9, 1 << 20, (1 << 64) - 1])
def test_numbers_that_promise_something_else(offset: int, value: int, filled: bytes) -> None:
    contents = check(filled[:offset] + value.to_bytes(8, "little") + filled[offset + 8 :])
    assert contents is None or len(contents.records) == (8 if offset == 24 else 0) or value in (7, 9)
    assert contents is None or value < 1 << 20 or offset == 24


def test_a_record_that_was_being_written_is_left_out(filled: bytes) -> None:
    torn = bytearray(filled)
    torn[4096 + 96 : 4096 + 104] = (10_000).to_bytes(8, "little")
    contents = ringfile.read(bytes(torn))
    assert contents.torn == 1
    assert len(contents.records) == 7


def test_a_prefix_that_leads_elsewhere_stays_in_the_folder(filled: bytes, tmp_path: Path) -> None:
    start = filled.index(b"rank_")
    for prefix in (b"../../x_", b"/etc/x_\0\0y"):
        (tmp_path / "ring.r3.frr").write_bytes(filled[:start] + prefix + filled[start + len(prefix) :])
        found = rings.read(str(tmp_path / "ring.r3.frr"))
        assert isinstance(found, rings.Found)
        assert os.path.dirname(found.dump_path) == found.folder
        assert "\0" not in found.dump_path


WRITER = """
import sys
from recorder.ring import Ring
from recorder.ringfile import COMPLETED, ISSUED, STACK
ring = Ring(sys.argv[1], 64, 0, 1)
number = 0
while True:
    if number % 50 == 0:
        ring.text(STACK, number // 50, ["f", "x" * 4000, number // 50])
    record = ring.put(number % 7, number // 50, 0, ISSUED, number + 1, 0, number * 3, 5, 1)
    ring.complete(record, ISSUED | COMPLETED)
    number += 1
"""


def test_a_reader_beside_a_writer_that_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "ring.r0.frr"
    process = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], env=environment(), cwd=ROOT)
    try:
        newest, torn, end = [], 0, time.monotonic() + 2.5
        while time.monotonic() < end:
            if path.exists():
                contents = ringfile.read(path.read_bytes())
                consistent(contents)
                newest.append(contents.records[-1].id if contents.records else -1)
                torn += contents.torn
        assert len(newest) > 10
        assert newest == sorted(newest)
        assert newest[-1] > 10_000  # it has gone round often, and its file has grown
        process.send_signal(signal.SIGKILL)
        process.wait()
        contents = ringfile.read(path.read_bytes())
        consistent(contents)
        ids = [record.id for record in contents.records]
        assert contents.torn <= 1
        assert len(ids) == 64 - contents.torn
        assert ids == list(range(ids[0], ids[0] + len(ids)))
    finally:
        process.kill()
        process.wait()


def consistent(contents: Contents) -> None:
    for record in contents.records:
        assert (record.signature, record.collective_seq, record.op_id) == (record.id % 7, record.id + 1, record.id * 3)
        stack = contents.texts[STACK].get(record.stack)
        assert stack is None or stack[2] == record.stack
