"""What was found by `python -m tests.fuzz`, and by looking for what grows faster than a file, with the right value."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from frtui import entries
from frtui.engine import diagnose
from frtui.load import LoadError, load
from frtui.load.groups import Claim, _clusters, _same_communicator
from frtui.model import Job
from frtui.stored import open_job, path_of
from frtui.stored import write as write_index
from frtui.view import select
from frtui.view.panes import Panes
from frtui.view.select import TOPICS
from tests import torch_pickle
from tests.dumps import DEFAULT, batch, dump, entry, frame, write
from tests.fuzz import whole
from tests.load.ways import general, same

PAIR = {DEFAULT: (0, 1)}


@contextmanager
def within(seconds: float) -> Iterator[None]:
    begin = time.process_time()
    yield
    assert time.process_time() - begin < seconds


def looked_at(job: Job) -> Panes:
    """The panes of a job, after all outputs and some selections were made."""
    found = tuple(diagnose(job))
    whole.outputs(job, found)
    whole.screen(job, found, Random(1))
    return Panes(job, found)


# frtui.load


def test_the_first_byte_of_a_pickle(tmp_path: Path) -> None:
    """`walk` looked at the second byte."""
    (tmp_path / "rank_0").write_bytes(b"\x80")
    with pytest.raises(LoadError) as caught:
        load(tmp_path)
    assert [(p.problem, p.detail) for p in caught.value.problems] == [
        ("not-a-dump", "no pickle, JSON or gzip: unknown first bytes")
    ]


ODD: tuple[Any, ...] = (
    [("0", "x")],
    {"a": [1]},
    {"": {}},
    [[[[]]]],
    (),
    None,
    True,
    1.5,
    float("nan"),
    1 << 70,
    "\x1b[31m",
)
NESTED: tuple[Any, ...] = (("0", ["x"]), (["x"],), ({},))
"""Which no dump of torch has: the file is refused, and says so."""


@pytest.mark.parametrize("key", sorted(entry(1)))
def test_odd_values(tmp_path: Path, key: str) -> None:
    for number, value in enumerate(ODD + NESTED):
        folder = tmp_path / str(number)
        raw = [dump([entry(n) for n in numbers], pg_config=PAIR) for numbers in ((1, 2, 3), (1, 2))]
        raw[0]["entries"][0][key] = value
        write(folder, dict(enumerate(raw)))
        whole.heads(folder)
        job = load(folder)
        assert not any("fault in frtui" in problem.detail for problem in job.problems), value
        assert 1 in job.ranks
        assert (0 in job.ranks) is (value not in NESTED), value
        looked_at(job)


@pytest.mark.parametrize("key", sorted(entry(1)))
def test_a_list_of_an_earlier_entry_in_a_tuple(tmp_path: Path, key: str) -> None:
    """As the name of a group it ended the quick answer, and the dump was refused as a fault in frtui."""
    raw = dump([entry(n) for n in (1, 2, 3)], pg_config=PAIR)
    raw["entries"][1][key] = ("0", raw["entries"][0]["frames"])
    write(tmp_path, {0: raw, 1: dump([entry(1), entry(2)], pg_config=PAIR)})
    whole.heads(tmp_path)
    job = load(tmp_path)
    assert not any("fault in frtui" in problem.detail for problem in job.problems)
    assert [len(rank.entries) for rank in job.ranks.values()] == [3, 2]
    looked_at(job)


def test_entries_with_thousands_of_frames_in_common(tmp_path: Path) -> None:
    """Which of them is the call site was looked for again for each entry."""
    raw = dump([entry(n) for n in range(1, 1_001)], pg_config=PAIR)
    for row in raw["entries"]:
        row["frames"] = [frame(f"/venv/site-packages/torch/nn/{n}.py", n, "forward") for n in range(1_000)]
    (tmp_path / "rank_0").write_bytes(torch_pickle.dumps(raw))
    job = load(tmp_path)
    with within(2):
        assert b"".join(entries.render(job, "csv", None, None, False)).count(b"\n") == 1_001


@pytest.mark.parametrize("first", [0, 10, 700, 1_500])
def test_the_same_odd_part_in_thousands_of_entries(first: int) -> None:
    """`moulds` took one of them out at a time, by recursion: 5 s and a gigabyte, and then RecursionError."""
    data = torch_pickle.dumps(dump([entry(seq) for seq in range(1, 2_900)]))
    key, value = data[data.index(b"stateq") + 6], data[data.index(b"completedq") + 10]
    told, odd = bytes([ord("h"), key, ord("h"), value]), bytes([ord("h"), key, ord("K"), 5])
    head, *rest = data.split(told)
    assert len(rest) > 2_800
    changed = head + b"".join((told if n < first else odd) + part for n, part in enumerate(rest))
    with within(5):
        assert not same(changed)
    read, _ = general(changed)
    assert read["malformed"] == len(rest) - first


def test_entries_with_something_new_and_all_widths_of_numbers() -> None:
    """Each has a mould of its own, and `moulds` went through those of one length by recursion."""
    chance = Random(3)
    rows = []
    for n in range(4_000):
        row = entry(n, site=(f"file{n:05}.py", 1))
        for key in ("record_id", "op_id", "time_discovered_started_ns", "p2p_seq_id", "collective_seq_id"):
            row[key] = chance.choice([1, 1_000, 100_000, 1 << 40])
        rows.append(row)
    data = torch_pickle.dumps(dump(rows))
    with within(15):
        same(data)


def test_entries_of_thousands_of_keys_take_the_general_way() -> None:
    """An expression for all of them takes a second to be compiled, for 100 KB."""
    row = {**entry(1), **{f"key{n}": n for n in range(5_000)}}
    with within(2):
        assert not same(torch_pickle.dumps(dump([row, row, row])))


def test_ten_thousand_groups_of_one_name() -> None:
    claims = [Claim(0, "x", f"d{n}", (n, n + 10_000)) for n in range(10_000)]
    with within(2):
        assert _clusters(claims) == [[claim] for claim in claims]


def test_lists_that_overlap_are_one_group_as_before() -> None:
    a, b, c = Claim(0, "x", "", (0, 1)), Claim(1, "x", "", (0, 1)), Claim(2, "x", "", (1, 2))
    apart = Claim(5, "x", "", (4, 5))
    assert _clusters([a, b, c, apart]) == [[a, b, c], [apart]]


def test_ten_thousand_hashed_groups_of_one_rank() -> None:
    clusters = [[Claim(rank, f"{rank}{n:040}", "fsdp", (0, 1))] for rank in (0, 1) for n in range(10_000)]
    firsts = [list(cluster) for cluster in clusters]
    with within(2):
        joined = _same_communicator(clusters)
    assert joined == [[*firsts[n], *firsts[n + 10_000]] for n in range(10_000)]


def test_ten_thousand_groups_that_only_entries_name(tmp_path: Path) -> None:
    rows = [entry(1, group=(str(n), "" if n % 2 else "default_pg")) for n in range(6_000)]
    with within(10):
        job = load(write(tmp_path, {0: dump(rows), 1: dump(rows)}))
    assert len(job.groups) == 6_000


# frtui.engine


def test_members_without_dumps_by_the_ten_thousand(tmp_path: Path) -> None:
    """Each asked all stuck calls whether they wait for it."""
    rows = [entry(1, state="started"), entry(2, state="scheduled")]
    job = load(write(tmp_path, {rank: dump(rows, pg_config={DEFAULT: range(20_000)}) for rank in (0, 1)}))
    with within(5):
        (found,) = diagnose(job)
    assert (found.kind, len(found.ranks), found.waiting) == ("no-dump", 19_998, (0, 1))


def test_pages_of_a_job_of_which_one_node_left_dumps(tmp_path: Path) -> None:
    """Who waits for whom hashed each wait, which is for 16,000 ranks, for each of these."""
    rows = [entry(1, state="completed"), entry(2, state="started")]
    job = load(write(tmp_path, {rank: dump(rows, pg_config={DEFAULT: range(16_384)}) for rank in range(8)}))
    panes = Panes(job, tuple(diagnose(job)))
    for topic in sorted(TOPICS - {"source"}):
        with within(3):
            page = panes.topic(replace(panes.first(), topic=topic))
            if page is not None:
                page.fit(80)
    page = panes.topic(replace(panes.first(), topic="waits"))
    assert page is not None
    assert any("ranks 0-7 wait for ranks 8-16383 in all_reduce #2 of default_pg" in line for line in page.whole())


def test_a_batch_of_thousands_to_one_peer(tmp_path: Path) -> None:
    """Each of its parts was looked for once for each of its parts: 1.4 GB."""
    rows = batch([f"send 0->{1 + n % 2}" for n in range(4_000)], p2p_seq=1, state="started")
    job = load(write(tmp_path, {r: dump(rows, pg_config={DEFAULT: (0, 1, 2)}) for r in (0, 1)}))
    with within(2):
        (found,) = diagnose(job)
    assert (found.kind, found.ranks) == ("no-dump", (2,))


def test_a_rank_that_sends_in_a_group_that_it_is_not_in(tmp_path: Path) -> None:
    """`in_stage` looked for its place there."""
    mine, theirs = ("a", "pp"), ("b", "pp")
    config = {DEFAULT: (0, 1, 2), mine: (1, 2), theirs: (0, 1)}
    first = [entry(1, "send 0->1", group=mine, p2p_seq=1, state="completed")]
    ranks = {
        0: dump([*first, entry(1, group=theirs, state="started"), entry(1, state="scheduled")], pg_config=config),
        1: dump([entry(1, state="started"), entry(1, group=theirs, state="scheduled")], pg_config=config),
        2: dump([entry(1, state="started")], pg_config=config),
    }
    job = load(write(tmp_path, ranks))
    assert [found.kind for found in diagnose(job)] == ["group-deadlock"]
    looked_at(job)


def test_numbers_below_zero(tmp_path: Path) -> None:
    """The lane from number 0 on does not hold them."""
    rows = {0: [entry(-5, state="started")], 1: [], 2: []}
    job = load(write(tmp_path, {r: dump(calls, pg_config={DEFAULT: (0, 1, 2)}) for r, calls in rows.items()}))
    assert diagnose(job)
    looked_at(job)


# frtui.view and frtui.entries


def test_a_send_to_a_rank_without_a_dump(tmp_path: Path) -> None:
    """Whether the peer's ring wrapped was asked of a rank that is not there."""
    job = load(write(tmp_path, {0: dump([entry(0, "send 0->1", p2p_seq=1, state="started")], pg_config=PAIR)}))
    panes = looked_at(job)
    rows = panes.pane("call", select.on_call(panes.index, panes.first(), 0, 0)).rows
    rows.fit(100)
    assert any("rank 1 no dump" in line for line in rows.whole())


def test_a_send_of_somebody_else(tmp_path: Path) -> None:
    """Rank 0 records what rank 1 sends to itself: not one of the calls between the two."""
    rows = [entry(0, "send 1->1", p2p_seq=1, state="started")]
    looked_at(load(write(tmp_path, {rank: dump(rows, pg_config=PAIR) for rank in (0, 1)})))


def test_a_filter_where_there_are_no_calls(tmp_path: Path) -> None:
    job = load(write(tmp_path, {0: dump([entry(1)], pg_config=PAIR), 1: dump([], pg_config=PAIR)}))
    panes = Panes(job, ())
    now = select.on_rank(panes.index, panes.first(), 1)
    assert panes.values("calls", now)(0, "op") is None


def test_a_long_name_does_not_widen_every_row(tmp_path: Path) -> None:
    """A table of 20,000 rows took 1.4 GB."""
    long = entry(3_000, "x" + "\x1b" * 2_000, group=("g", "d" * 2_000), site=("f" * 2_000, 1))
    job = load(write(tmp_path, {0: dump([*(entry(seq) for seq in range(1, 3_000)), long], pg_config=PAIR)}))
    size = sum(map(len, entries.render(job, "table", None, None, True)))
    assert size < 3_000 * 2 * 3 * 510


# frtui.stored


def an_index(folder: Path) -> tuple[bytes, dict[str, Any]]:
    write(folder, {rank: dump([entry(1), *batch(["send 0->1"], p2p_seq=1)], pg_config=PAIR) for rank in (0, 1)})
    write_index(folder)
    data = path_of(folder).read_bytes()
    place = int.from_bytes(data[data.index(b"\n") + 1 :][:8], "little")
    return data[:place], json.loads(data[place:])


def test_a_column_of_one_value_that_is_not_there(tmp_path: Path) -> None:
    columns, head = an_index(tmp_path)
    told = head["packed"][0][1]
    same_values = [n for n, how in enumerate(told) if how[0] == "same"]
    assert same_values
    for n in same_values:
        changed = {**head, "packed": json.loads(json.dumps(head["packed"]))}
        changed["packed"][0][1][n] = ["same"]
        path_of(tmp_path).write_bytes(columns + json.dumps(changed).encode())
        assert open_job(tmp_path).note == "frtui.index was not used: damaged"


def test_members_of_batches_that_have_members(tmp_path: Path) -> None:
    columns, head = an_index(tmp_path)
    with_parts = next(signature for signature in head["signatures"] if signature[-1])
    inner = with_parts[-1][0]
    for _ in range(200):
        inner[-1] = [[*inner[:-1], []]]
        inner = inner[-1][0]
    path_of(tmp_path).write_bytes(columns + json.dumps(head).encode())
    assert "not used" in open_job(tmp_path).note


def test_an_index_that_is_a_hole_of_terabytes(tmp_path: Path) -> None:
    an_index(tmp_path)
    with open(path_of(tmp_path), "r+b") as file:
        file.truncate(1 << 40)
    assert open_job(tmp_path).note == "frtui.index was not used: larger than the dumps"
