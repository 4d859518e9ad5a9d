"""Hangs that people reported in public, rebuilt as a few small dumps; each with the verdict that is true.

"pt#N" is issue or pull N of pytorch/pytorch.
"""

from __future__ import annotations

from typing import Any

from tests.dumps import Raw, batch, dump, entry
from tests.engine.conftest import Judge
from tests.engine.jobs import OPEN, WORLD, cascade, steps, world


def test_one_rank_of_eight_sends_another_size(judge: Judge) -> None:  # pt#140563
    ranks = {
        r: dump([*steps(6), entry(7, sizes=[[1025 if r == 0 else 262144]], state=OPEN)], pg_config=world(8))
        for r in range(8)
    }
    [found] = judge(ranks)
    assert (found.kind, found.ranks, found.seq, found.confidence) == ("size-mismatch", (0,), 7, "proven")
    assert "[1025]" in found.summary
    assert "[262144]" in found.summary
    assert found.waiting == (1, 2, 3, 4, 5, 6, 7)


def test_rings_that_start_at_different_calls(judge: Judge) -> None:  # pt#125173
    ranks = {
        0: dump([entry(s) for s in (4, 5, 6)], first_record=4, pg_config=world(2)),
        1: dump([entry(s) for s in (3, 4, 5, 6)], first_record=3, pg_config=world(2)),
    }
    [found] = judge(ranks)
    assert found.kind == "no-hang"


def test_ring_of_batches_is_healthy(judge: Judge) -> None:  # pt#137969
    n = 4
    ranks = {}
    for r in range(n):
        rows = [
            row
            for step in range(1, 6)
            for row in batch([f"send {r}->{(r + 1) % n}", f"recv {r}<-{(r - 1) % n}"], p2p_seq=step)
        ]
        ranks[r] = dump(rows, pg_config=world(n))
    [found] = judge(ranks)
    assert found.kind == "no-hang"


def test_peers_in_names_are_local_to_the_group(judge: Judge) -> None:  # pt#139280
    pp = ("9", "pp")
    config = {WORLD: list(range(8)), pp: [4, 5, 6, 7]}
    ranks = {r: dump([entry(1)], pg_config={WORLD: list(range(8))}) for r in range(4)}
    ranks |= {r: dump([entry(1)], pg_config=config) for r in (4, 6, 7)}
    ranks[5] = dump(
        [entry(1), entry(0, "recv 1<-0", group=pp, p2p_seq=1, state=OPEN, site=("pipe.py", 8))], pg_config=config
    )
    [found] = judge(ranks)
    assert (found.kind, found.ranks, found.p2p) == ("not-joined", (4,), True)
    assert found.waiting == (5,)


def test_group_missing_from_one_config(judge: Judge) -> None:  # pt#160097
    pp = ("9", "pp")
    ranks = {
        0: dump([entry(1), entry(0, "send 0->1", group=pp, p2p_seq=1)], pg_config={WORLD: [0, 1], pp: [0, 1]}),
        1: dump([entry(1), entry(0, "recv 1<-0", group=pp, p2p_seq=1)], pg_config={WORLD: [0, 1]}),
    }
    assert [f.kind for f in judge(ranks)] == ["no-hang"]


def test_coalesced_collectives_are_one_call(judge: Judge) -> None:  # pt#151238
    ranks = {
        r: dump([*steps(2), *batch(["all_reduce", "all_reduce"], seq=3)], version="2.7", pg_config=world(2))
        for r in range(2)
    }
    assert [f.kind for f in judge(ranks)] == ["no-hang"]


def test_early_differences_that_did_no_harm(judge: Judge) -> None:  # pt#162991
    ranks = {}
    for r in range(4):
        early = [entry(s, sizes=[[10 + r if s % 2 else 10]], op="reduce") for s in range(1, 25)]
        late = [entry(25, sizes=[[8]], state=OPEN, site=("train.py", 99))] if r != 3 else []
        ranks[r] = dump([*early, *late], pg_config=world(4))
    [found] = judge(ranks)
    assert (found.kind, found.ranks, found.seq) == ("not-joined", (3,), 25)
    assert found.site
    assert found.site.place == "train.py:99"


def all_to_all(sent: tuple[int, int], received: tuple[int, int]) -> dict[int, Any]:
    earlier = [entry(s, "all_to_all", sizes=[[8]], outputs=[[8]]) for s in range(1, 5)]
    return {
        r: dump(
            [*earlier, entry(5, "all_to_all", sizes=[[sent[r]]], outputs=[[received[r]]], state=OPEN)],
            pg_config=world(2),
        )
        for r in range(2)
    }


def test_uneven_all_to_all_that_adds_up(judge: Judge) -> None:
    [found] = judge(all_to_all((8, 6), (6, 8)))
    assert found.kind == "all-joined-stuck"


def test_all_to_all_that_does_not_add_up(judge: Judge) -> None:  # pt#194559
    [found] = judge(all_to_all((8, 4), (8, 8)))
    assert (found.kind, found.ranks, found.seq) == ("split-mismatch", (1,), 5)


def test_idle_rank_of_two(judge: Judge) -> None:
    ranks = {
        0: dump([entry(s) for s in range(288680, 288686)], first_record=288679, pg_config=world(2)),
        1: dump(
            [*(entry(s) for s in range(288680, 288686)), entry(288686, state=OPEN)],
            first_record=288679,
            pg_config=world(2),
        ),
    }
    [found] = judge(ranks)
    assert (found.kind, found.ranks, found.seq, found.waiting) == ("not-joined", (0,), 288686, (1,))


def test_two_groups_each_wait_for_the_other(judge: Judge) -> None:  # torchrec#4149
    a, b = ("1", "a"), ("2", "b")
    config = {WORLD: [0, 1, 2, 3], a: [0, 1, 2, 3], b: [0, 1, 2, 3]}
    ranks = {
        r: dump(
            [*steps(3), entry(1, group=a if r < 2 else b, state=OPEN, site=("t.py", 10 if r < 2 else 20))],
            pg_config=config,
        )
        for r in range(4)
    }
    [found] = judge(ranks)
    assert (found.kind, found.ranks) == ("group-deadlock", (0, 1, 2, 3))
    assert "t.py:10" in found.summary
    assert "t.py:20" in found.summary


def test_two_groups_in_opposite_order(judge: Judge) -> None:  # trl#6798
    a, b = ("1", "a"), ("2", "b")
    config = {WORLD: [0, 1], a: [0, 1], b: [0, 1]}
    calls = {r: [entry(1, group=g, state=OPEN, site=("t.py", 10 if g == a else 20)) for g in order]
             for r, order in ((0, (a, b)), (1, (b, a)))}  # fmt: skip
    [found] = judge({r: dump([*steps(3), *rows], pg_config=config) for r, rows in calls.items()})
    assert (found.kind, found.ranks) == ("group-deadlock", (0, 1))


def test_everybody_is_in_the_same_call(judge: Judge) -> None:  # rccl#2191
    tp = ("1", "tp")
    config = {WORLD: [0, 1, 2, 3], tp: [0, 1, 2, 3]}
    ranks = {
        r: dump([*steps(3), entry(1, group=tp, state=OPEN, site=("t.py", 5)), entry(4, state=OPEN)], pg_config=config)
        for r in range(4)
    }
    [found] = judge(ranks)
    assert (found.kind, found.ranks, found.seq) == ("all-joined-stuck", (), 1)
    assert found.site
    assert found.site.line == 5


def test_the_one_that_is_furthest_behind(judge: Judge) -> None:  # ART#840
    last = {0: 721, 1: 721, 2: 723, 3: 720}
    ranks = {}
    for r, end in last.items():
        rows = [entry(s, state="completed" if s <= 720 else OPEN) for s in range(710, end + 1)]
        ranks[r] = dump(rows, first_record=709, pg_config=world(4))
    [found] = judge(ranks)
    assert (found.kind, found.ranks, found.seq) == ("not-joined", (3,), 721)
    assert "#720" in found.summary


def test_extra_call_and_its_consequences(judge: Judge) -> None:
    tp = [("1", "tp"), ("2", "tp")]
    ranks = {}
    for r in range(4):
        pair = tp[r // 2]
        config = {WORLD: [0, 1, 2, 3], pair: [r // 2 * 2, r // 2 * 2 + 1]}
        rows = []
        for step in range(3):
            rows += [
                entry(step + 1, group=pair, sizes=[[16]], site=("layers.py", 30)),
                entry(step + 1, "barrier", sizes=(), site=("t.py", 50)),
            ]
        if r == 0:
            rows += [entry(4, sizes=[[7]], state=OPEN, site=("eval.py", 17))]
        elif r == 1:
            rows += [entry(4, group=pair, sizes=[[16]], state=OPEN, site=("layers.py", 30))]
        else:
            rows += [
                entry(4, group=pair, sizes=[[16]], site=("layers.py", 30)),
                entry(4, "barrier", sizes=(), state=OPEN, site=("t.py", 50)),
            ]
        ranks[r] = dump(rows, pg_config=config)
    found = judge(ranks)
    assert (found[0].kind, found[0].ranks) == ("extra-call", (0,))
    assert found[0].site
    assert found[0].site.place == "eval.py:17"
    assert set(found[0].waiting) == {1, 2, 3}
    assert len(found) == 1


def test_only_active_dumps_with_an_empty_culprit(judge: Judge) -> None:
    ranks = {
        r: dump([entry(9, state=OPEN)], first_record=8, pg_config=world(4), pg_status={0: (9, -1, 8)}) for r in range(3)
    }
    ranks[3] = dump([], pg_config=world(4), pg_status={0: (8, -1, 8)})
    [found] = judge(ranks)
    assert (found.kind, found.ranks, found.seq) == ("not-joined", (3,), 9)
    assert "#8" in found.summary


def test_both_send(judge: Judge) -> None:
    ranks = {
        r: dump([*steps(2), entry(2, f"send {r}->{1 - r}", p2p_seq=1, state=OPEN)], pg_config=world(2))
        for r in range(2)
    }
    [found] = judge(ranks)
    assert (found.kind, found.ranks, found.confidence) == ("p2p-unmatched", (0, 1), "possible")


def test_send_against_a_collective(judge: Judge) -> None:
    ranks = {
        0: dump([*steps(2), entry(2, "send 0->1", p2p_seq=1, state=OPEN)], pg_config=world(2)),
        1: dump([*steps(2), entry(3, state=OPEN)], pg_config=world(2)),
    }
    [found] = judge(ranks)
    assert (found.kind, found.ranks) == ("p2p-unmatched", (1,))


def test_operations_that_look_different_by_nature(judge: Judge) -> None:
    root = {0: [[4], [4]], 1: [[0]]}
    tp = {0: ("5", "tp"), 1: ("5", "tp")}  # the same name for two groups of one member each
    ranks = {
        r: dump(
            [
                entry(1, "scatter", sizes=[[4]], outputs=root[r]),
                entry(2, "gather", sizes=[[4]], outputs=root[r]),
                entry(3, "barrier", sizes=()),
                entry(1, group=tp[r]),
            ],
            pg_config={WORLD: [0, 1], tp[r]: [r]},
        )
        for r in range(2)
    }
    assert [f.kind for f in judge(ranks)] == ["no-hang"]


def test_cascade_over_tensor_and_data_groups(judge: Judge) -> None:
    [found] = judge(cascade())
    assert (found.kind, found.ranks) == ("not-joined", (5,))
    assert found.waiting == (0, 1, 2, 3, 4, 6, 7)
    assert found.site
    assert found.site.place == "layers.py:30"


def test_the_tutorial(judge: Judge) -> None:
    def rows(lines: list[int]) -> list[Raw]:
        return [
            entry(
                n + 1,
                sizes=[[4, 5] if line == 20 else [3, 4]],
                state="completed" if n < 2 else OPEN,
                site=("crash.py", line),
            )
            for n, line in enumerate(lines)
        ]

    ranks = {0: rows([15, 16, 20, 24, 25]), 1: rows([15, 16, 24, 25])}
    [found] = judge({r: dump(e, pg_config=world(2)) for r, e in ranks.items()})
    assert (found.kind, found.ranks, found.seq) == ("extra-call", (0,), 3)
    assert found.site
    assert found.site.place == "crash.py:20"


def test_one_poll_apart(judge: Judge) -> None:
    ranks = {
        r: dump([*steps(4), entry(5, state="completed" if r == 0 else "started")], pg_config=world(4)) for r in range(4)
    }
    assert [f.kind for f in judge(ranks)] == ["no-hang"]


def test_running_job_caught_between_two_calls(judge: Judge) -> None:
    ranks = {
        r: dump([*steps(8), *(entry(9 + n, state=OPEN) for n in range(r % 3))], pg_config=world(6)) for r in range(6)
    }
    assert [f.kind for f in judge(ranks, dumped_s=0.2)] == ["no-hang"]


def test_the_same_dumps_ten_minutes_later(judge: Judge) -> None:
    ranks = {r: dump([*steps(8), *([entry(9, state=OPEN)] if r else [])], pg_config=world(3)) for r in range(3)}
    assert [(f.kind, f.ranks) for f in judge(ranks, dumped_s=600)] == [("not-joined", (0,))]


def test_unknown_operations_are_matched_by_their_number(judge: Judge) -> None:
    ops = [("nccl", "gather_single"), ("ncclx", "all_to_all_v_single"), ("c10d", "allreduce"), ("nccl2", "brand_new")]
    ranks = {
        r: dump([entry(n + 1, op, backend=backend) for n, (backend, op) in enumerate(ops)] +
                [entry(5, "brand_new", backend="nccl2", state=OPEN)] * (r == 0), pg_config=world(2))
        for r in range(2)
    }  # fmt: skip
    [found] = judge(ranks)
    assert (found.kind, found.ranks, found.op) == ("not-joined", (1,), "brand_new")


def test_any_source(judge: Judge) -> None:
    ranks = {
        0: dump([*steps(2), entry(2, "recv 0<-?", p2p_seq=1, state=OPEN)], pg_config=world(2)),
        1: dump(steps(2), pg_config=world(2)),
    }
    [found] = judge(ranks)
    assert (found.kind, found.ranks) == ("not-joined", (1,))
