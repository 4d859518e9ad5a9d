"""One call on every member of its group."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from frtui.load import load
from frtui.model import Call
from frtui.view.across import across, across_p2p, sentence
from frtui.view.across_page import AcrossPage
from frtui.view.index import Index
from frtui.view.panes import Panes
from frtui.view.rows import plain
from frtui.view.select import ACROSS
from tests.dumps import DEFAULT, dump, entry, write
from tests.view import jobs

ALL = {DEFAULT: tuple(range(6))}


def mixed(folder: Path) -> Index:
    """#5 on six ranks: 0-2 alike, 3 with other sizes, 4 has not made it, 5 left no dump; and 2's ring wrapped."""
    calls = {
        rank: [entry(seq, sizes=((7 if (rank, seq) == (3, 5) else 8,),)) for seq in range(1, 5 if rank == 4 else 6)]
        for rank in range(5)
    }
    dumps = {rank: dump(rows, pg_config=ALL) for rank, rows in calls.items()}
    dumps[2] = dump(calls[2][3:], pg_config=ALL, first_record=3)
    write(folder, dumps)
    return Index(load(folder))


def test_the_minority_comes_first_and_the_absent_have_reasons(tmp_path: Path) -> None:
    found = across(mixed(tmp_path), 0, 5)
    assert [(same.arguments, same.ranks) for same in found.same] == [("[7] f32", (3,)), ("[8] f32", (0, 1, 2))]
    assert dict(found.absent) == {"not joined": (4,), "no dump": (5,)}
    assert sentence(found) == "1 rank [7] f32 · 3 ranks [8] f32 · rank 4 not joined · rank 5 no dump"


def test_what_fell_out_of_the_ring_is_not_called_missing(tmp_path: Path) -> None:
    found = across(mixed(tmp_path), 0, 2)
    assert dict(found.absent) == {"fell out of the ring": (2,), "no dump": (5,)}


def test_the_page_opens_the_call_of_the_rank_on_the_line(tmp_path: Path) -> None:
    index = mixed(tmp_path)
    panes = Panes(index.job, ())
    row = index.row_of(0, 0, 5)
    now = replace(panes.first(), rank=0, group=0, row=row, topic=ACROSS)
    page = panes.topic(replace(now, topic=ACROSS))
    assert page is not None
    page.fit(30)
    line = next(i for i in range(len(page)) if "rank 3" in plain(page.line(i, 30)))
    opened, _ = panes.open("call", page.key(line), now)
    assert (opened.rank, opened.row) == (3, index.row_of(3, 0, 5))
    heading, _ = panes.open("call", page.key(0), now)
    assert heading == now, "a line that names no rank opens nothing"


def test_a_rank_that_has_not_joined_shows_its_last_call(tmp_path: Path) -> None:
    page = AcrossPage(mixed(tmp_path), 0, 5, None)
    page.fit(100)
    text = [plain(page.line(i, 100)) for i in range(len(page))]
    assert any("rank 4" in line and "last here: all_reduce #4" in line for line in text)


def test_what_is_copied_leaves_the_links_where_they_are_shown(tmp_path: Path) -> None:
    page = AcrossPage(mixed(tmp_path), 0, 5, None)
    page.fit(20)
    shown = {i: page.key(i) for i in range(len(page))}
    assert any("rank 3" in line for line in page.whole())
    assert {i: page.key(i) for i in range(len(page))} == shown
    assert len(page.whole()) < len(page), "the wide page has fewer lines"


def pipeline(tmp_path: Path, rank: int, nth: int) -> tuple[Index, Call]:
    index = Index(load(jobs.pipeline(tmp_path)))
    return index, index.job.call(rank, index.job.ranks[rank].calls[nth])


def test_a_send_stands_beside_its_recv(tmp_path: Path) -> None:
    index, send = pipeline(tmp_path, 4, 2)
    found = across_p2p(index, send)
    assert {(same.op, same.ranks) for same in found.same} == {("send 4→5", (4,)), ("recv 4→5", (5,))}
    assert not found.absent


def test_a_send_without_its_recv_names_the_peer(tmp_path: Path) -> None:
    index, send = pipeline(tmp_path, 4, 3)
    assert dict(across_p2p(index, send).absent) == {"made no matching call": (5,)}


def test_a_batch_stands_beside_the_batch_of_its_peer(tmp_path: Path) -> None:
    index, closing = pipeline(tmp_path, 4, 0)
    assert closing.signature.parts
    assert [same.ranks for same in across_p2p(index, closing).same] == [(4,), (5,)]
    page = Panes(index.job, ()).pane("call", replace(Panes(index.job, ()).first(), rank=4, row=closing.row)).rows
    page.fit(80)
    text = [plain(page.line(i, 80)) for i in range(len(page))]
    assert text[0].startswith("batch of 2 send/recv")
    assert any(line.startswith("  send 4→5") for line in text)
