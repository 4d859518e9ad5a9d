"""The verdict, the screen and the table of entries agree on which calls of two ranks belong together."""

from __future__ import annotations

from pathlib import Path

import pytest

from frtui.engine import diagnose
from frtui.entries import render
from frtui.load import load
from frtui.model import Job
from frtui.view.across import across, across_p2p, sentence
from frtui.view.index import Index
from tests.dumps import DEFAULT, Raw, batch, dump, entry, write
from tests.engine.jobs import OPEN, world

PIPE = ("pp", "pp")


def pipeline(folder: Path, kept: int) -> Job:
    """Four stages pass 60 times something on; rank 1 expects more of the last one. Each counts for itself.

    Rank 0's ring holds its last `kept` calls, that of the others half as many more: fewer of each sender.
    """
    rows: dict[int, list[Raw]] = {rank: [] for rank in range(4)}
    for n in range(60):
        for sender in range(3):
            for rank, op in ((sender, "send"), (sender + 1, "recv")):
                mine = rows[rank]
                name = f"{op} {sender}->{sender + 1}" if op == "send" else f"{op} {sender + 1}<-{sender}"
                state, size = ("completed", 8) if n < 59 else (OPEN, 8 + rank)
                if n < 59 or sender == 0:
                    mine.append(entry(0, name, group=PIPE, p2p_seq=len(mine) + 1, state=state, sizes=[[size]]))
    for rank, mine in rows.items():
        cut = max(0, len(mine) - (kept if rank == 0 else kept * 3 // 2))
        write(folder, {rank: dump(mine[cut:], pg_config={PIPE: range(4)}, first_record=cut)})
    return load(folder)


def table(job: Job) -> list[list[str]]:
    """Lines of the table of entries, each as its cells."""
    lines = b"".join(render(job, "table", None, None, False)).decode().splitlines()
    edges = [n for n, char in enumerate(lines[1] + " ") if char == " " and lines[1][n - 1] == "-"]
    return [[line[a:b].strip() for a, b in zip([0, *edges], edges)] for line in lines]


@pytest.mark.parametrize("kept", [200, 40, 20])
def test_a_send_and_its_recv_where_the_rings_start_apart(tmp_path: Path, kept: int) -> None:
    job = pipeline(tmp_path, kept)
    [found] = diagnose(job)
    assert "recv [9]" in found.summary
    assert "send [8]" in found.summary
    sent = job.call(0, len(job.ranks[0].entries) - 1)
    assert sentence(across_p2p(Index(job), sent)) == "1 rank [8] f32 · 1 rank [9] f32"
    [line] = [cells for cells in table(job) if any("[9] f32" in cell for cell in cells)]
    assert [cell.split(" ")[1] for cell in line[2:4]] == ["send", "recv"]


def test_what_fell_out_of_the_peer_s_ring_is_not_said_to_be_missing(tmp_path: Path) -> None:
    job = pipeline(tmp_path, 40)
    assert dict(across_p2p(Index(job), job.call(0, 0)).absent) == {"fell out of the ring": (1,)}


def test_what_fell_out_altogether_is_not_said_to_be_missing(tmp_path: Path) -> None:
    config = {DEFAULT: [0, 1]}
    write(tmp_path, {0: dump([entry(0, "send 0->1", p2p_seq=1), entry(1), entry(2)], pg_config=config)})
    write(tmp_path, {1: dump([entry(1), entry(2)], pg_config=config, first_record=1)})
    job = load(tmp_path)
    assert dict(across_p2p(Index(job), job.call(0, 0)).absent) == {"fell out of the ring": (1,)}


def test_a_call_without_a_number_gets_none_and_one_that_no_counter_gives_stays(tmp_path: Path) -> None:
    rows = [entry(1), *batch(["send 0->1"], seq=2, p2p_seq=1), entry(3), entry(4)]
    odd = [entry(-(2**63)), *batch(["send 0->1"], seq=2, p2p_seq=2**63 - 1), entry(-(2**63) + 2)]
    ranks = {r: dump(made, pg_config=world(2)) for r, made in enumerate((rows, odd))}
    del ranks[0]["entries"][-1]["collective_seq_id"]
    job = load(write(tmp_path, ranks))
    assert list(job.ranks[0].entries.seq)[-2:] == [2, -1]
    assert list(job.ranks[1].entries.seq)[-1] == -(2**63) + 2


def test_a_root_that_one_dump_lacks_makes_no_other_call_of_it(tmp_path: Path) -> None:
    made = {**entry(1, "broadcast"), "root_rank": 0}
    ranks = {r: dump([made if r else entry(1, "broadcast")], pg_config=world(3)) for r in range(3)}
    assert sentence(across(Index(load(write(tmp_path, ranks))), 0, 1)) == "3 ranks [4] f32"


def test_numbers_that_drift_with_each_batch(tmp_path: Path) -> None:  # pt#134833
    """Rank 0 made two batches, ranks 1 and 2 one each, and each batch counts as a collective; rank 2 then stops."""
    ranks = {}
    for rank, ops in {0: ["send 0->1", "send 0->2"], 1: ["recv 1<-0"], 2: ["recv 2<-0"]}.items():
        rows = [entry(1)]
        for n, op in enumerate(ops, 1):
            rows += batch([op], seq=1 + n, p2p_seq=n)
        seq = len(ops) + 2
        rows += [entry(seq, sizes=[[5]]), *batch(["all_gather", "all_gather"], seq=seq + 1)]
        rows += [entry(seq + 2, sizes=[[7]], state=OPEN)] if rank != 2 else []
        ranks[rank] = dump(rows, version="2.1", pg_config=world(3))
    job = load(write(tmp_path, ranks))
    [found] = diagnose(job)
    assert (found.kind, found.ranks, found.waiting, found.seq) == ("not-joined", (2,), (0, 1), 4)
    assert sentence(across(Index(job), 0, 4)) == "2 ranks [7] f32 · rank 2 not joined"
    assert [sentence(across(Index(job), 0, seq)) for seq in (1, 2)] == ["3 ranks [4] f32", "3 ranks [5] f32"]
    lines = {cells[1]: cells[2:] for cells in table(job) if cells[0] == DEFAULT[1] and cells[1].isdecimal()}
    assert lines["4"] == ["! all_reduce [7] f32"] * 2 + ["(not joined)"]
    assert lines["2"] == ["all_reduce [5] f32"] * 3
    assert set(lines) == {"1", "2", "3", "4"}
