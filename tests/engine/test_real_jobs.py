"""What real broken gloo jobs left that was once told wrong, each in its smallest shape."""

from __future__ import annotations

from typing import Any

import pytest

from tests.dumps import Raw, dump, entry
from tests.engine.conftest import Judge
from tests.engine.jobs import OPEN, steps, world


def rooted(seq: int, root: int | None, op: str = "broadcast", **more: Any) -> Raw:
    made: Raw = entry(seq, op, site=("config.py", 14), **more)
    return made if root is None else {**made, "root_rank": root}


@pytest.mark.parametrize("op", ["broadcast", "reduce", "gather", "scatter"])
def test_one_rank_names_another_root(judge: Judge, op: str) -> None:
    """On gloo those that agree with the root have finished."""
    last = {r: rooted(3, 2 if r == 2 else 0, op, state=OPEN if r in (0, 2) else "completed") for r in range(4)}
    [found] = judge({r: dump([*steps(2), call], pg_config=world(4)) for r, call in last.items()})
    assert (found.kind, found.ranks, found.confidence, found.seq) == ("root-mismatch", (2,), "proven", 3)
    assert f"Rank 2 made {op} [4] Float root 2 #3" in found.summary
    assert f"the other 3 ranks made {op} [4] Float root 0" in found.summary


def test_roots_are_compared_only_where_all_dumps_have_them(judge: Judge) -> None:
    """Rank 1's dump is one of torch."""
    ranks = {r: dump([*steps(2), rooted(3, None if r == 1 else 0, state=OPEN)], pg_config=world(4)) for r in range(4)}
    [found] = judge(ranks)
    assert (found.kind, found.ranks) == ("all-joined-stuck", ())
    assert found.next_steps[0] == "compare src or dst at config.py:14 on all ranks: torch does not record it"
    assert "NCCL_DEBUG" in found.next_steps[-1]


def test_who_finished_a_call_that_all_made_is_not_said_to_be_stuck(judge: Judge) -> None:
    ranks = {
        r: dump([*steps(2), rooted(3, None, state=OPEN if r else "completed")], pg_config=world(4)) for r in range(4)
    }
    [found] = judge(ranks)
    assert found.kind == "all-joined-stuck"
    assert "matching arguments and ranks 1-3 did not finish:" in found.summary


def test_two_groups_in_another_order_with_equal_calls(judge: Judge) -> None:
    """A circle over a mesh of 2x2 ranks: what differs is the group alone, and that is said."""
    ranks = {}
    for r in range(4):
        tp, dp = (str(1 + r // 2), "tp"), (str(3 + r % 2), "dp")
        config = {**world(4), tp: [r // 2 * 2, r // 2 * 2 + 1], dp: [r % 2, r % 2 + 2]}
        rows = [entry(n, group=g, site=("t.py", 11 if g == tp else 13)) for n in (1, 2) for g in (tp, dp)]
        first = dp if r in (1, 2) else tp
        rows.append(entry(3, group=first, site=("t.py", 11 if first == tp else 13), state=OPEN))
        ranks[r] = dump(rows, pg_config=config)
    [found] = judge(ranks)
    assert (found.kind, found.ranks) == ("group-deadlock", (1, 2))
    assert "[4] Float #3 of dp:4 at t.py:13 out of order" in found.summary
    assert "made all_reduce [4] Float of tp at t.py:11 first" in found.summary


def test_a_recv_from_another_rank_than_all_others_take_it_from(judge: Judge) -> None:
    """A ring in which each sends to the next; rank 0 waits for its next instead of the one before."""
    open_ = {(0, "recv", 1), (1, "recv", 2), (2, "send", 2), (3, "send", 1)}
    ranks = {}
    for r in range(4):
        rows = []
        for n in range(1, 3 if r in (1, 2) else 2):
            ends = f"send {r}->{(r + 1) % 4}", f"recv {r}<-{1 if r == 0 else (r - 1) % 4}"
            rows += [
                entry(0, end, p2p_seq=n, site=("p.py", 15), state=OPEN if (r, end[:4], n) in open_ else "completed")
                for end in ends
            ]
        ranks[r] = dump(rows, pg_config=world(4))
    found = judge(ranks)[0]
    assert (found.kind, found.ranks) == ("p2p-unmatched", (0,))
    assert "recv [4] Float 1->0" in found.summary
    assert "where the other 3 ranks made recv [4] Float 0->1" in found.summary


def test_a_clash_that_gloo_finished_on_one_side(judge: Judge) -> None:
    """FSDP on two ranks, of which rank 1 makes a forward too many: the other's call has another size, and is open."""
    step = [(544, 22), (520, 22), (520, 23), (544, 23), (1040, 23), (1088, 23)]
    usual = [*step, *step, *step[:3]]
    more = [*step, *step, (544, 21), (520, 21), *step[:2]]
    ranks = {
        r: dump(
            [
                entry(n, sizes=[[size]], site=("f.py", line), state=OPEN if n == len(made) else "completed")
                for n, (size, line) in enumerate(made, 1)
            ],
            pg_config=world(2),
        )
        for r, made in enumerate((usual, more))
    }
    [found] = judge(ranks)
    assert (found.kind, found.ranks, found.confidence) == ("order-swap", (1,), "likely")
    assert "at f.py:22 out of order: rank 0 made all_reduce [520] Float at f.py:23 first" in found.summary


def test_a_call_that_nothing_follows_may_be_one_that_comes_after_what_was_left_out(judge: Judge) -> None:
    """Rank 1 is in the barrier after the loop, which all will make; or in one that it alone makes."""
    barrier = entry(5, "barrier", sizes=[], outputs=[], site=("train.py", 33), state=OPEN)
    last = {r: barrier if r == 1 else entry(5, state=OPEN) for r in range(3)}
    [found] = judge({r: dump([*steps(4), call], pg_config=world(3)) for r, call in last.items()})
    assert (found.kind, found.ranks, found.confidence) == ("extra-call", (1,), "likely")
    assert "left out what the others made before it" in found.next_steps[1]


def test_groups_that_one_rank_made_in_another_order(judge: Judge) -> None:
    """torch names groups by counting: on rank 3 name 1 is that of ranks 1 and 3, elsewhere that of ranks 0 and 2."""
    made = {0: {"1": (0, 2)}, 1: {"2": (1, 3)}, 2: {"1": (0, 2)}, 3: {"1": (1, 3), "2": (2, 3)}}
    used = {0: "1", 1: "2", 2: "1", 3: "1"}
    ranks = {}
    for r, groups in made.items():
        config = {**world(4), **{(name, "pair"): list(members) for name, members in groups.items()}}
        call = entry(1, group=(used[r], "pair"), site=("t.py", 22), state=OPEN if r == 3 else "completed")
        ranks[r] = dump([*steps(2), call], pg_config=config)
    [found] = judge(ranks)
    assert (found.kind, found.ranks, found.confidence) == ("membership-mismatch", (3,), "likely")
    assert "Rank 3 waits in all_reduce #1 of pair:1 at t.py:22, and rank 1 knows" in found.summary
    assert found.summary.endswith("as pair:2: rank 3 made its groups in another order.")


def test_two_groups_of_the_same_members_are_two(judge: Judge) -> None:
    """Rank 1 has not come to the first call of the second: torch does not list it before."""
    first, second = ("1", "pair"), ("2", "pair")
    ranks = {
        r: dump(
            [*steps(2), entry(1, group=first), *([] if r else [entry(1, group=second, state=OPEN)])],
            pg_config={**world(2), first: [0, 1], **({} if r else {second: [0, 1]})},
        )
        for r in range(2)
    }
    [found] = judge(ranks)
    assert (found.kind, found.ranks) == ("not-joined", (1,))
