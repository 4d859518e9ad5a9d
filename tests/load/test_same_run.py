"""What lies in a folder of the recorder's is of one run, or is told and left out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from frtui.load import load
from tests.dumps import DEFAULT, T0, dump, entry, write
from tests.load.jobs import RECORDED, dumps
from tests.recorded import SECOND, recorded, ring

HOUR = 3600 * SECOND


def of_dumps_and(folder: Path, rank: int, **when: Any) -> Path:
    dumps(folder, *(r for r in range(4) if r != rank))
    return ring(folder, rank, **when)


def test_yesterdays_ring_is_not_todays(tmp_path: Path) -> None:
    of_dumps_and(tmp_path, 3, opened=T0 - 26 * HOUR, seen=T0 - 23 * HOUR)
    job = load(tmp_path)
    assert job.missing == (3,)
    (problem,) = job.problems
    assert (problem.file, problem.rank, problem.problem) == ("recorder/ring.r3.frr", 3, "old-ring")
    assert "UTC, 22 h before the other dumps begin; not used" in problem.detail


def test_a_ring_of_a_later_run_is_not_of_this_one(tmp_path: Path) -> None:
    of_dumps_and(tmp_path, 3, opened=T0 + 2 * HOUR, seen=T0 + 3 * HOUR)
    (problem,) = load(tmp_path).problems
    assert "after the other dumps end" in problem.detail


def test_a_ring_that_lives_on_after_the_dumps_is_of_the_same_run(tmp_path: Path) -> None:
    of_dumps_and(tmp_path, 3, opened=T0, seen=T0 + 30 * HOUR)
    job = load(tmp_path)
    assert (job.missing, job.problems) == ((), ())


def test_a_rank_that_died_long_before_the_dumps_is_of_the_same_run(tmp_path: Path) -> None:
    write(
        tmp_path,
        {r: recorded(dump([entry(1)], pg_config=RECORDED), r, dumped_ns=T0 + 9 * HOUR) for r in range(3)},
        "rank_{}",
    )
    ring(tmp_path, 3, seen=T0 + SECOND)
    assert load(tmp_path).problems == ()


def test_beside_torchs_own_dumps_a_ring_from_shortly_before_is_in_doubt(tmp_path: Path) -> None:
    """They do not say when the run began, and the oldest call may have fallen out of their rings."""
    write(tmp_path, {r: dump([entry(1)], pg_config=RECORDED) for r in range(3)})
    ring(tmp_path, 3, opened=T0 - 1200 * SECOND, seen=T0 - 600 * SECOND)
    job = load(tmp_path)
    assert list(job.ranks) == [0, 1, 2, 3]
    (problem,) = job.problems
    assert (problem.problem, "10 min apart" in problem.detail) == ("old-ring", True)


def test_of_rings_alone_the_newest_run_counts(tmp_path: Path) -> None:
    for rank in range(4):
        ring(tmp_path, rank, opened=T0 - (rank > 1) * 30 * HOUR, seen=T0 + SECOND - (rank > 1) * 29 * HOUR)
    job = load(tmp_path)
    assert list(job.ranks) == [0, 1]
    assert [(p.rank, p.problem) for p in job.problems] == [(2, "old-ring"), (3, "old-ring")]


def test_yesterdays_dump_is_not_todays_ring(tmp_path: Path) -> None:
    """The ranks 0 to 2 dumped today; rank 3 was killed, and what stands under its name is from yesterday."""
    day = 86_400 * SECOND
    dumps(tmp_path, 0, 1, 2)
    calls = dump([entry(seq) for seq in (1, 2, 3)], pg_config=RECORDED)
    write(tmp_path, {3: recorded(calls, 3, opened_ns=T0 - day, dumped_ns=T0 - day)}, "rank_{}")
    ring(tmp_path, 3, calls=0)
    job = load(tmp_path)
    assert job.ranks[3].by == "ring"
    assert len(job.ranks[3].entries) == 0
    (problem,) = job.problems
    assert (problem.file, problem.rank, problem.problem) == ("rank_3", 3, "old-dump")
    assert "recorder/ring.r3.frr was read in its place" in problem.detail


def test_a_dump_that_is_older_but_of_this_run_stays(tmp_path: Path) -> None:
    made = dump([entry(1)], pg_config=RECORDED)
    write(
        tmp_path,
        {r: recorded(made, r, opened_ns=T0, dumped_ns=T0 + s * SECOND) for r, s in ((0, 600), (3, 60))},
        "rank_{}",
    )
    ring(tmp_path, 3, calls=2)
    job = load(tmp_path)
    assert job.ranks[3].by == "rank"
    assert job.problems == ()


def test_a_run_of_another_size_is_another_run(tmp_path: Path) -> None:
    of_dumps_and(tmp_path, 3)
    ring(tmp_path, 7, members=range(8))
    job = load(tmp_path)
    assert list(job.ranks) == [0, 1, 2, 3]
    assert "of 8 ranks, and this one has 4" in job.problems[0].detail


def test_a_dump_of_a_run_of_another_size_is_another_runs(tmp_path: Path) -> None:
    """Four ranks first, then two in the same folder: the newest dump says which run it is about."""
    for size, ranks, at in ((4, (2, 3), 0), (2, (0, 1), 6)):
        made = dump([entry(1)], pg_config={DEFAULT: range(size)})
        written = T0 + at * SECOND
        write(tmp_path, {r: recorded(made, r, world_size=size, dumped_ns=written) for r in ranks}, "rank_{}")
    job = load(tmp_path)
    assert (list(job.ranks), job.missing) == ([0, 1], ())
    assert [(p.file, p.rank, p.problem) for p in job.problems] == [
        ("rank_2", 2, "old-dump"),
        ("rank_3", 3, "old-dump"),
    ]
    assert "of 4 ranks, and the newest dump is of one of 2; not used" in job.problems[0].detail


def test_a_single_dump_of_another_size_turns_no_others_out(tmp_path: Path) -> None:
    made = dump([entry(1)], pg_config=RECORDED)
    odd = recorded(made, 7, world_size=8, dumped_ns=T0 + HOUR)
    write(tmp_path, {**{r: recorded(made, r, dumped_ns=T0) for r in range(4)}, 7: odd}, "rank_{}")
    job = load(tmp_path)
    assert (list(job.ranks), job.problems) == ([0, 1, 2, 3, 7], ())


def test_an_old_ring_does_not_stand_in_for_a_broken_dump(tmp_path: Path) -> None:
    of_dumps_and(tmp_path, 3, opened=T0 - 26 * HOUR, seen=T0 - 23 * HOUR)
    (tmp_path / "rank_3").write_bytes(b"")
    problems = load(tmp_path).problems
    assert [(p.file, p.problem) for p in problems] == [("rank_3", "empty"), ("recorder/ring.r3.frr", "old-ring")]
    assert "in its place" not in problems[0].detail
