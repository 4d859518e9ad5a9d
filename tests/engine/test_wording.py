"""What is said of several ranks is true of each of them; and the sentence tells what one wants to know next."""

from __future__ import annotations

import pytest

from frtui.engine import last_seen
from frtui.engine.agree import canonical
from frtui.text import together
from tests.dumps import T0, dump, entry
from tests.engine.conftest import Judge
from tests.engine.jobs import OPEN, WORLD, steps, world
from tests.view import proof_jobs

S = 1_000_000_000


def test_where_most_are_and_who_is_elsewhere() -> None:
    assert together({0: "a.py:1", 1: "a.py:1"}) == "a.py:1"
    assert (
        together({0: "a.py:2", 1: "a.py:1", 2: "a.py:1", 3: "", 4: "b.py:3"})
        == "a.py:1 (rank 0 at :2, rank 4 at b.py:3)"
    )
    many = {**dict.fromkeys(range(20), "a.py:1"), **dict.fromkeys(range(20, 34, 2), "a.py:2")}
    assert together(many) == "a.py:1 (7 ranks at :2)"
    scattered = {**dict.fromkeys(range(9), "a.py:1"), **{10 + n: f"a.py:{10 + n}" for n in range(5)}}
    assert together(scattered).endswith("rank 12 at :12, 2 more elsewhere)")
    assert together({3: ""}) == ""


def test_a_line_is_not_given_to_ranks_that_were_elsewhere(judge: Judge) -> None:
    """Rank 0 makes the same call from the line of its log."""
    ranks = {}
    for r in range(8):
        site = ("train.py", 247 if r == 0 else 244)
        odd = entry(4, sizes=[[8 if r == 4 else 1]], site=site, state=OPEN)
        ranks[r] = dump([*steps(3, sizes=[[1]], site=site), odd], pg_config=world(8))
    [found] = judge(ranks)
    assert found.summary.endswith("the other 7 ranks made all_reduce [1] Float at train.py:244 (rank 0 at :247).")


def test_waiting_ranks_are_each_at_their_own_line(judge: Judge) -> None:
    ranks = {}
    for r in range(4):
        rows = steps(3)
        rows += [entry(4, site=("train.py", 9 if r == 1 else 60), state=OPEN)] if r < 3 else []
        ranks[r] = dump(rows, pg_config=world(4))
    [found] = judge(ranks)
    assert "#4 of default_pg at train.py:60 (rank 1 at :9), in which ranks 0-2 wait" in found.summary


def test_peers_of_the_group_come_before_those_of_its_siblings(judge: Judge) -> None:
    [found] = judge(proof_jobs.skipped_call())
    assert found.summary == (
        "Rank 1 left out all_reduce [4] Float #2 of tp:1 at train.py:12, which its peer 0 made "
        "(as did 2 ranks of tp:2), or will make it later, entering the groups in another order; "
        "rank 1 is now in all_reduce #2 of default_pg at train.py:16."
    )
    assert found.evidence[0].startswith("rank 0: "), "its peer, not rank 2 that got further in another group"
    assert found.beside is not None
    assert found.beside.witness == 0


def test_a_rank_that_is_in_no_call_is_said_to_be_in_none(judge: Judge) -> None:
    """Rank 3 leaves out the call of line 31 and finishes the next ones, which are alike, in its stead."""
    ranks = {}
    for r in range(4):
        lines = [30, 31, 32] * 3
        if r == 3:
            del lines[4]
        rows = [entry(n, site=("train.py", line)) for n, line in enumerate(lines, 1)]
        if r != 3:
            rows[-1].update(state=OPEN, retired=False)
        ranks[r] = dump(rows, pg_config=world(4))
    [found] = judge(ranks)
    assert found.kind == "skipped-call"
    assert found.summary.endswith("which the other 3 ranks made; rank 3 is in no call now.")


def test_who_waits_for_a_send_that_was_left_out(judge: Judge) -> None:
    """Three pairs of two stages. Rank 2 leaves out its third send and goes on to the call of all."""
    ranks = {}
    for r in range(6):
        pair, sends = (str(1 + r // 2), "pp"), r % 2 == 0
        op, site = ("send 0->1", ("pipe.py", 26)) if sends else ("recv 1<-0", ("pipe.py", 17))
        rows = [entry(0, op, p2p_seq=n, group=pair, site=site) for n in range(1, 3 if r == 2 else 4)]
        rows += [] if r == 3 else [entry(1, state=OPEN)]
        if r == 3:
            rows[-1].update(state=OPEN, retired=False)
        ranks[r] = dump(rows, pg_config={WORLD: range(6), pair: [r // 2 * 2, r // 2 * 2 + 1]})
    [found] = judge(ranks)
    assert (found.kind, found.ranks) == ("p2p-unmatched", (2,))
    assert found.summary.endswith(
        "; rank 3 waits for it in recv 2->3 at pipe.py:17; rank 2 is now in all_reduce #1 of default_pg at train.py:60."
    )
    assert "groups of its kind made" in found.summary


def test_a_late_rank_is_looked_for_in_the_past(judge: Judge) -> None:
    ranks = {}
    for r in range(4):
        rows = [entry(n, created=T0 + n * S) for n in range(1, 6)]
        rows.append(entry(6, created=T0 + (406 if r == 2 else 6) * S, state=OPEN))
        ranks[r] = dump(rows, pg_config=world(4))
    [found] = judge(ranks, dumped_s=200)
    assert found.summary.endswith("400 s after the others, 200 s before their timeout of 600 s.")
    [step] = found.next_steps
    assert step.startswith("find what rank 2 did between all_reduce #5 of default_pg at train.py:60 (")
    assert "py-spy" not in step


def test_the_last_sign_of_life_of_a_rank_without_a_dump(judge: Judge) -> None:
    pair = ("1", "tp")
    ranks = {}
    for r in range(3):
        rows = [*steps(3), *([entry(1, group=pair)] if r == 2 else []), entry(4, state=OPEN)]
        ranks[r] = dump(rows, pg_config={WORLD: range(4), **({pair: [2, 3]} if r == 2 else {})})
    [found] = judge(ranks)
    assert (found.kind, found.ranks) == ("no-dump", (3,))
    [seen] = [fact for fact in found.evidence if "last seen" in fact]
    assert seen.startswith("rank 3 was last seen in all_reduce #1 of tp:1, which rank 2 finished with it at ")
    assert "ranks 0-2 wait as a consequence, all for rank 3" in found.evidence


def test_gloo_shows_failed_calls_as_finished_so_they_are_no_sign_of_life(judge: Judge) -> None:
    rows = [entry(n, backend="gloo", retired=n < 4) for n in range(1, 5)]
    [found] = judge({r: dump(rows, pg_config=world(4)) for r in range(3)})
    assert found.kind == "no-dump"
    assert not any("last seen" in fact for fact in found.evidence)


def test_on_gloo_no_call_is_looked_at_for_a_sign_of_life(judge: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each peer's whole ring would be, for each missing rank, and none of it can be one."""
    asked: list[str] = []

    def counted(op: str) -> str:
        asked.append(op)
        return canonical(op)

    monkeypatch.setattr(last_seen, "canonical", counted)
    rows = [entry(n, backend="gloo", retired=n < 40) for n in range(1, 41)]
    judge({r: dump(rows, pg_config=world(4)) for r in range(3)})
    assert len(asked) <= 1, "there is one signature"
