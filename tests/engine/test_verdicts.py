"""Each further verdict, witness and oddity on the smallest job that shows it."""

from __future__ import annotations

from pathlib import Path

from frtui.engine import diagnose
from frtui.load import load
from tests.dumps import T0, Raw, batch, dump, entry, write
from tests.engine.conftest import Judge
from tests.engine.jobs import OPEN, WORLD, steps, world


def test_a_device_that_has_not_begun(judge: Judge) -> None:
    ranks = {
        r: dump([*steps(4), entry(5, state="scheduled" if r == 2 else "started")], pg_config=world(4)) for r in range(4)
    }
    [found] = judge(ranks)
    assert (found.kind, found.ranks, found.seq, found.waiting) == ("queued-behind", (2,), 5, (0, 1, 3))


def test_a_communicator_that_never_came_up(judge: Judge) -> None:
    late = ("7", "ep")
    config = world(4)
    ranks = {
        r: dump(
            [*steps(4), entry(1, group=late, state=OPEN)], pg_config=config if r == 1 else {**config, late: range(4)}
        )
        for r in range(4)
    }
    [found] = judge(ranks)
    assert (found.kind, found.ranks, found.seq) == ("init-stuck", (1,), 1)


def test_a_late_rank_with_its_own_clock(judge: Judge) -> None:
    """Rank 1's clock is 3 s ahead all the time and rank 2 came 400 s later than the others."""
    second = 1_000_000_000
    ranks = {}
    for r in range(4):
        clock = T0 + (3 * second if r == 1 else 0)
        rows = [entry(n, created=clock + n * second) for n in range(1, 6)]
        rows.append(entry(6, created=clock + (406 if r == 2 else 6) * second, state=OPEN))
        ranks[r] = dump(rows, pg_config=world(4))
    [found] = judge(ranks, dumped_s=200)
    assert (found.kind, found.ranks) == ("straggler", (2,))
    assert "400 s" in found.summary


def test_members_disagree_about_the_group(judge: Judge) -> None:
    ranks = {
        r: dump([*steps(3), entry(4, state=OPEN)], pg_config={WORLD: [0, 1, 2] if r == 2 else [0, 1, 2, 3]})
        for r in range(4)
    }
    [found] = judge(ranks)
    assert (found.kind, found.ranks) == ("membership-mismatch", (2,))


def test_a_rank_whose_device_is_dead(judge: Judge) -> None:
    ranks = {}
    for r in range(4):
        finished = 6 if r == 3 else 10
        rows = [entry(s, state="completed" if s <= finished else OPEN) for s in range(1, 11)]
        ranks[r] = dump([*rows, *([entry(11, state=OPEN)] if r != 3 else [])], pg_config=world(4))
    [found] = judge(ranks)
    assert (found.kind, found.ranks, found.seq) == ("stale", (3,), 7)


def test_a_missing_dump_that_others_wait_for(judge: Judge) -> None:
    ranks = {r: dump([*steps(3), entry(4, state=OPEN)], pg_config=world(4)) for r in range(3)}
    [found] = judge(ranks)
    assert (found.kind, found.ranks, found.waiting) == ("no-dump", (3,), (0, 1, 2))


def test_a_missing_dump_that_nobody_waits_for(judge: Judge) -> None:
    """An idle rank explains the hang; what rank 3 did is unknown and it is not accused."""
    ranks = {r: dump([*steps(3), *([entry(4, state=OPEN)] if r else [])], pg_config=world(4)) for r in range(3)}
    [found] = judge(ranks)
    assert (found.kind, found.ranks) == ("not-joined", (0,))


def test_a_pair_is_judged_by_the_other_pairs(judge: Judge) -> None:
    ranks = {}
    for r in range(6):
        pair = (str(1 + r // 2), "tp")
        sizes = [[4096 if r == 2 else 4128]]
        rows = [*steps(2, group=pair), entry(3, group=pair, sizes=sizes, state=OPEN if r in (2, 3) else "completed")]
        ranks[r] = dump(rows, pg_config={WORLD: range(6), pair: [r // 2 * 2, r // 2 * 2 + 1]})
    [found] = judge(ranks)
    assert (found.kind, found.ranks, found.confidence) == ("size-mismatch", (2,), "likely")
    assert "where its peer 3 made" in found.summary
    assert "(as did 2 other groups of its kind)" in found.summary


def test_a_pair_without_any_witness_is_a_tie(judge: Judge) -> None:
    ranks = {r: dump([entry(1, sizes=[[4 + r]], state=OPEN)], pg_config=world(2)) for r in range(2)}
    [found] = judge(ranks)
    assert (found.kind, found.ranks, found.confidence) == ("size-mismatch", (0, 1), "possible")


def test_two_faults_are_two_findings(judge: Judge) -> None:
    ranks = {}
    for r in range(6):
        trio = (str(r // 3), "dp")
        odd = r == 4
        rows = [*steps(2, group=trio), entry(3, group=trio, sizes=[[5 if odd else 4]], state=OPEN)]
        ranks[r] = dump(rows[:2] if r == 1 else rows, pg_config={trio: range(r // 3 * 3, r // 3 * 3 + 3)})
    found = judge(ranks)
    assert [(f.kind, f.ranks) for f in found] == [("size-mismatch", (4,)), ("not-joined", (1,))]


def test_numbers_that_drift_with_each_batch(judge: Judge) -> None:  # pt#134833
    """Rank 0 made two batches, ranks 1 and 2 one each: their collectives are numbered differently."""
    peers = {0: ["send 0->1", "send 0->2"], 1: ["recv 1<-0"], 2: ["recv 2<-0"]}
    ranks = {}
    for r, ops in peers.items():
        rows, seq = [entry(1)], 1
        for n, op in enumerate(ops, 1):
            seq += 1
            rows += batch([op], seq=seq, p2p_seq=n)
        rows.append(entry(seq + 1, site=("train.py", 80)))
        if r != 2:
            rows.append(entry(seq + 2, site=("train.py", 90), state=OPEN))
        ranks[r] = dump(rows, version="2.1", pg_config=world(3))
    [found] = judge(ranks)
    assert (found.kind, found.ranks, found.waiting) == ("not-joined", (2,), (0, 1))
    assert found.site
    assert found.site.place == "train.py:90"


def test_a_call_that_only_its_abort_completed(judge: Judge) -> None:
    rows = {r: [*steps(3), *([entry(4, duration=600_010.0, timeout=600_000)] if r else [])] for r in range(3)}
    [found] = judge({r: dump(e, pg_config=world(3)) for r, e in rows.items()})
    assert (found.kind, found.ranks, found.seq) == ("not-joined", (0,), 4)


def test_a_call_without_a_number_is_matched_with_nothing(judge: Judge) -> None:
    odd = dump([entry(1), entry(2, state=OPEN)], pg_config=world(3))
    del odd["entries"][1]["collective_seq_id"]
    (finding,) = judge({0: odd, **{r: dump(steps(1), pg_config=world(3)) for r in (1, 2)}})
    assert (finding.kind, finding.evidence) == ("inconclusive", ("rank 0: 1 open call",))


def test_what_is_open_here_and_finished_there_is_not_said_to_be_finished(judge: Judge) -> None:
    """Dumps of two moments: the later one saw the end of what the others were in."""
    early = dump([entry(1), entry(2, state=OPEN)], pg_config=world(4))
    late = dump(steps(2), pg_config=world(4))
    (finding,) = judge({0: early, 1: early, 2: late, 3: early})
    assert finding.kind == "no-hang"
    assert "what ranks 0-1, 3 show as open is finished in the dumps of others" in finding.summary


def test_where_most_dumps_are_missing_they_are_to_be_copied_first(judge: Judge) -> None:
    (finding,) = judge({0: dump([entry(1), entry(2, state=OPEN)], pg_config=world(4))})
    assert (finding.kind, finding.confidence, finding.ranks) == ("no-dump", "possible", (1, 2, 3))
    assert finding.next_steps[0] == "copy the files of all hosts into this folder: 1 of 4 are here"
    assert finding.evidence[-1] == "rank 0 waits as a consequence, for ranks 1-3"


def test_two_who_send_to_each_other_are_not_said_to_be_in_one_call(judge: Judge) -> None:
    ranks = {
        r: dump([entry(0, f"send {r}->{1 - r}", p2p_seq=1, state=OPEN, site=("pipe.py", 12 + r))], pg_config=world(2))
        for r in (0, 1)
    }
    assert "(rank 1 at" not in judge(ranks)[0].summary


def test_which_of_equal_calls_was_left_out_is_not_pretended(judge: Judge) -> None:
    lines = [30, 30, 30, 40]
    ranks = {}
    for r in range(3):
        made = lines[1:] if r == 1 else lines
        rows = [entry(n, site=("layers.py", line)) for n, line in enumerate(made, 1)]
        rows[-1].update(input_sizes=[[9]], output_sizes=[[9]])
        for row in rows[2:]:
            row.update(state=OPEN, retired=False)
        ranks[r] = dump(rows, pg_config=world(3))
    [found] = judge(ranks)
    assert (found.kind, found.ranks, found.seq) == ("skipped-call", (1,), 3)
    assert "3 calls in a row have equal arguments and line: any one of them may be the one" in found.evidence


def test_a_batch_of_other_content(judge: Judge) -> None:
    ranks = {}
    for r in range(4):
        ops = ["all_reduce", "broadcast"] if r == 1 else ["all_reduce", "all_reduce"]
        ranks[r] = dump([*steps(2), *batch(ops, seq=3, state=OPEN)], pg_config=world(4))
    [found] = judge(ranks)
    assert (found.kind, found.ranks, found.seq, found.confidence) == ("coalesced-mismatch", (1,), 3, "proven")


def test_send_and_recv_of_different_size(judge: Judge) -> None:
    ranks = {
        0: dump([*steps(2), entry(2, "send 0->1", sizes=[[8]], p2p_seq=1, state=OPEN)], pg_config=world(2)),
        1: dump([*steps(2), entry(2, "recv 1<-0", sizes=[[6]], p2p_seq=1, state=OPEN)], pg_config=world(2)),
    }
    [found] = judge(ranks)
    assert (found.kind, found.ranks, found.confidence) == ("p2p-mismatch", (0, 1), "possible")


def test_calls_that_a_graph_swallowed(judge: Judge) -> None:
    """Calls inside a CUDA graph are not recorded: the numbers have gaps, at other places on other ranks."""
    ranks = {r: dump([entry(s) for s in range(1, 12) if s not in (4 + r, 5 + r)], pg_config=world(3)) for r in range(3)}
    assert [f.kind for f in judge(ranks)] == ["no-hang"]


def test_uneven_all_gather(judge: Judge) -> None:
    """torch makes it from one broadcast a rank and a closing entry without sizes."""
    members = ["_broadcast_oop"] * 3
    gathered = [*steps(2), *batch(members, seq=3, closing="ALLGATHER_coalesced")]
    ranks = {r: dump([*gathered, entry(4, state=OPEN)], pg_config=world(3)) for r in range(2)}
    ranks[2] = dump(gathered, pg_config=world(3))
    [found] = judge(ranks)
    assert (found.kind, found.ranks, found.seq) == ("not-joined", (2,), 4)


def test_several_dump_versions_in_one_job(judge: Judge) -> None:
    versions = ["2.4", "2.9", "2.10", "2.10"]
    ranks = {
        r: dump([*steps(5), *([entry(6, state=OPEN)] if r != 1 else [])], version=v, pg_config=world(4))
        for r, v in enumerate(versions)
    }
    [found] = judge(ranks)
    assert (found.kind, found.ranks, found.seq) == ("not-joined", (1,), 6)


def test_two_of_four_are_no_majority(judge: Judge) -> None:
    sizes = {0: 4, 1: 4, 2: 5, 3: 6}
    ranks = {r: dump([entry(1, sizes=[[n]], state=OPEN)], pg_config=world(4)) for r, n in sizes.items()}
    [found] = judge(ranks)
    assert (found.kind, found.confidence) == ("size-mismatch", "possible")


def test_a_cut_dump_is_not_called_idle(tmp_path: Path) -> None:
    """Only its oldest entries are left, so whether it made the call that the others wait in is unknown."""
    ranks = {r: dump([*steps(40), entry(41, state=OPEN)], pg_config=world(3)) for r in range(3)}
    folder = write(tmp_path / "cut", ranks)
    file = folder / "nccl_trace_rank_2"
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    [found] = diagnose(load(folder))
    assert (found.kind, found.ranks, found.confidence) == ("no-dump", (2,), "possible")


def test_the_example_of_the_manual(judge: Judge) -> None:  # docs/engine.md
    pair = [("1", "tp"), ("1", "tp"), ("2", "tp"), ("2", "tp")]
    calls = {0: "t w t", 1: "t w w", 2: "t w t w", 3: "t w t w"}
    ranks = {}
    for r, made in calls.items():
        rows: list[Raw] = []
        for kind in made.split():
            group, line = (pair[r], 12) if kind == "t" else (WORLD, 16)
            seq = 1 + sum(row["process_group"] == group for row in rows)
            rows.append(entry(seq, group=group, site=("train.py", line)))
        rows[-1].update(state=OPEN, retired=False)
        ranks[r] = dump(rows, pg_config={WORLD: range(4), pair[r]: [r // 2 * 2, r // 2 * 2 + 1]})
    [found] = judge(ranks)
    assert (found.kind, found.ranks, found.seq, found.confidence) == ("skipped-call", (1,), 2, "likely")
    assert found.site
    assert found.site.place == "train.py:12"
    assert found.waiting == (0, 2, 3)


def test_a_batch_whose_members_fell_out_of_the_ring(judge: Judge) -> None:
    """On rank 0 the ring begins with the closing entry; what was in the batch is unknown, not different."""
    ranks = {}
    for r in range(3):
        rows = batch(["all_reduce", "all_reduce"], seq=3)
        rows = [*(rows[2:] if r == 0 else rows), entry(4, site=("train.py", 70), state=OPEN)]
        ranks[r] = dump(rows[:-1] if r == 2 else rows, first_record=7 if r == 0 else 5, pg_config=world(3))
    [found] = judge(ranks)
    assert (found.kind, found.ranks, found.seq) == ("not-joined", (2,), 4)
