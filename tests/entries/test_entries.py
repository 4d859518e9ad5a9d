"""Entries side by side: equal calls on one line, whatever their places in the rings."""

from __future__ import annotations

import csv
import io
import json
import random
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from frtui.entries import render
from frtui.entries.order import Key, merged
from frtui.load import load
from tests.dumps import batch, dump, entry, write

WORLD = ("0", "default_pg")


def shown(folder: Path, ranks: Mapping[int, Sequence[Any]], **options: Any) -> str:
    members = sorted(ranks)
    write(folder, {r: dump(rows, pg_config={WORLD: members}, **options) for r, rows in ranks.items()})
    return printed(folder, "table")


def printed(folder: Path, format: str, stack: bool = False) -> str:  # noqa: A002
    return b"".join(render(load(str(folder)), format, None, None, stack)).decode()


def line(text: str, call: str) -> str:
    return next(row for row in text.splitlines() if row.split()[1:2] == [call])


def test_a_ring_that_starts_later_is_not_moved_up(tmp_path: Path) -> None:
    write(tmp_path, {0: dump([entry(s) for s in (1, 2, 3, 4)], pg_config={WORLD: [0, 1]})})
    write(tmp_path, {1: dump([entry(s) for s in (3, 4)], pg_config={WORLD: [0, 1]}, first_record=2)})
    text = printed(tmp_path, "table")
    assert "(fell out of the ring)" in line(text, "1")
    assert line(text, "3").count("all_reduce") == 2


def test_what_is_open_missing_or_different_is_marked(tmp_path: Path) -> None:
    open_call = entry(2, sizes=[[4, 5]], state="scheduled")
    text = shown(tmp_path, {0: [entry(1), open_call, entry(3)], 1: [entry(1), entry(2)]})
    assert "!" not in line(text, "1")
    assert "!# all_reduce [4,5] f32" in line(text, "2")
    assert "(not joined)" in line(text, "3")


def test_a_send_stands_beside_its_recv(tmp_path: Path) -> None:
    sends = [entry(0, "send 0->1", p2p_seq=n) for n in (1, 2)]
    recvs = [entry(0, "recv 1<-0", p2p_seq=n) for n in (1,)]
    text = shown(tmp_path, {0: sends, 1: recvs})
    both = next(row for row in text.splitlines() if "recv" in row)
    assert "send" in both


def test_members_of_a_finished_batch_are_not_open(tmp_path: Path) -> None:
    rows = {r: batch([f"send {r}->{1 - r}", f"recv {r}<-{1 - r}"], p2p_seq=1) for r in (0, 1)}
    assert "! " not in shown(tmp_path, rows).rpartition("\n\n")[0]


def test_ranks_that_disagree_on_the_order_still_show_every_call(tmp_path: Path) -> None:
    a, b = ("1", "tp"), ("2", "dp")
    first, second = entry(1, group=a), entry(1, group=b)
    config = {a: [0, 1], b: [0, 1]}
    write(tmp_path, {0: dump([first, second], pg_config=config), 1: dump([second, first], pg_config=config)})
    text = printed(tmp_path, "table")
    assert text.count("all_reduce") == 4
    assert sum(row.count("all_reduce") == 2 for row in text.splitlines()) == 2


def test_merging_keeps_each_ranks_order_when_they_agree() -> None:
    random.seed(1)
    keys = [Key(n % 5, True, n, (-1, -1), 0) for n in range(200)]
    columns = {r: {k: 0 for k in keys if random.random() < 0.7} for r in range(8)}
    order = list(merged(columns))
    assert len(order) == len(set(order))
    for column in columns.values():
        places = [order.index(key) for key in column]
        assert places == sorted(places)


def test_merging_many_ranks_takes_time_in_proportion_to_their_entries() -> None:
    columns = {r: {Key(r // 8, True, n, (-1, -1), 0): 0 for n in range(500)} for r in range(512)}
    start = time.process_time()
    assert sum(1 for _ in merged(columns)) == 64 * 500
    assert time.process_time() - start < 10


def test_json_and_csv_hold_every_entry(tmp_path: Path) -> None:
    write(tmp_path, {r: dump([entry(s) for s in (1, 2)], pg_config={WORLD: [0, 1]}) for r in (0, 1)})
    rows = json.loads(printed(tmp_path, "json", stack=True))
    assert [(row["rank"], row["collective_seq_id"]) for row in rows] == [(0, 1), (0, 2), (1, 1), (1, 2)]
    assert rows[0]["input_sizes"] == [[4]]
    assert rows[0]["call_site"] == "train.py:60"
    assert len(rows[0]["frames"]) == 3
    table = list(csv.DictReader(io.StringIO(printed(tmp_path, "csv"))))
    assert [row["op"] for row in table] == ["all_reduce"] * 4
    assert json.loads(table[0]["input_sizes"]) == [[4]]


def test_no_field_of_the_csv_is_a_formula(tmp_path: Path) -> None:
    rows = [entry(1, "=cmd|' /C calc'!A0", group=(name, "")) for name in ("=1", "+1", "-1", "@A1", "tp-1")]
    write(tmp_path, {0: dump(rows)})
    table = list(csv.DictReader(io.StringIO(printed(tmp_path, "csv"))))
    assert [row["group"] for row in table] == ["'=1", "'+1", "'-1", "'@A1", "tp-1"]
    assert {row["op"][:5] for row in table} == {"'=cmd"}
    assert {row["collective_seq_id"] for row in table} == {"1"}


def test_no_entries_at_all(tmp_path: Path) -> None:
    write(tmp_path, {0: dump([], pg_config={WORLD: [0]})})
    assert json.loads(printed(tmp_path, "json")) == []
    assert "rank 0" in printed(tmp_path, "table")


def test_the_csv_of_no_entries_has_their_names(tmp_path: Path) -> None:
    write(tmp_path / "none", {0: dump([], pg_config={WORLD: [0]})})
    write(tmp_path / "some", {0: dump([entry(1)], pg_config={WORLD: [0]})})
    for stack in (False, True):
        none, some = (printed(tmp_path / name, "csv", stack).splitlines() for name in ("none", "some"))
        named = json.loads(printed(tmp_path / "some", "json", stack))[0]
        assert none == some[:1] == [",".join(named)]
        assert len(some) == 2
