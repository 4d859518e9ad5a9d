"""What the panes say of a rank's process, where the in-job recorder saw it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from frtui.engine import diagnose
from frtui.load import load
from frtui.text import clean
from frtui.view import aligned
from frtui.view.panes import Panes
from frtui.view.rows import plain
from frtui.view.select import ACROSS, NAMES, Selection
from tests.dumps import DEFAULT, Raw, dump, entry, frame, write
from tests.recorded import SLEEPS, failure, recorded, ring, thread

CONFIG = {DEFAULT: (0, 1, 2, 3)}
NASTY = "\x1b[31m[/red][@click=app.quit]\u202e"
LOADER = thread(frame("/job/data.py", 5, "fetch"), name="loader")


def panes(folder: Path, calls: int = 1, error: Raw | None = None, **more: Any) -> Panes:
    """Ranks 0, 2 and 3 wait in call 2; rank 1 has made so many calls."""
    waits = dump([entry(1), entry(2, state="started")], pg_config=CONFIG)
    idle = recorded(dump([entry(1)][:calls], pg_config=CONFIG), 1, [thread(*SLEEPS), LOADER], **more)
    raw = {**{r: recorded(waits, r) for r in (0, 2, 3)}, 1: {**idle, **({"exception": error} if error else {})}}
    job = load(write(folder, raw, "rank_{}"))
    return Panes(job, tuple(diagnose(job)))


def said(of: Panes, name: str, now: Selection | None = None, width: int = 100) -> list[str]:
    rows = of.pane(name, now or of.first()).rows
    rows.fit(width)
    return [plain(rows.line(i, width)).rstrip() for i in range(len(rows))]


def test_the_call_pane_shows_what_the_rank_was_in_before_its_call(tmp_path: Path) -> None:
    lines = said(panes(tmp_path), "call")
    inside, made = (next(n for n, line in enumerate(lines) if line.startswith(s)) for s in ("MainThread", "stack,"))
    assert inside < made
    assert lines[inside - 1].startswith("dumped  14:13:40 UTC: asked by rank 0")
    assert lines[inside : inside + 6] == [
        "MainThread of rank 1 at that time, innermost first",
        "  … 1 library frame (c shows)",
        "▶ sleep_forever  /job/train.py:13",
        "  main           /job/train.py:30",
        "  … 1 library frame (c shows)",
        "  … 1 thread more (c shows)",
    ]


def test_c_shows_every_thread_and_frame(tmp_path: Path) -> None:
    made = panes(tmp_path)
    lines = said(made, "call", replace(made.first(), unfolded=True))
    assert any(line.startswith("  wait           /usr/lib/python3.11/threading.py:327") for line in lines)
    assert "loader of rank 1 at that time, innermost first" in lines
    assert "▶ fetch          /job/data.py:5" in lines
    assert not any("c shows" in line for line in lines)


def test_a_rank_without_calls_is_where_the_finding_opens(tmp_path: Path) -> None:
    made = panes(tmp_path, calls=0)
    assert (made.first().rank, made.first().row) == (1, None)
    lines = said(made, "call")
    assert lines[0] == "default_pg all_reduce #2 — rank 1 did not make it"
    assert lines[1] == "made by ranks 0, 2-3, waiting, at train.py:60"
    assert lines[2] == "instead rank 1 was in sleep_forever (train.py:13)"
    assert "▶ sleep_forever  /job/train.py:13" in lines
    assert any(line.startswith("✗ 1 blamed") for line in said(made, "ranks"))


def test_an_exception_and_where_it_was_raised(tmp_path: Path) -> None:
    made = panes(tmp_path, error=failure("ValueError", "boom"))
    lines = said(made, "call")
    assert "raised  ValueError: boom" in lines
    assert "▶ step           /job/train.py:20" in lines
    assert "  … 2 threads more (c shows)" in lines
    assert "  raised ValueError  last call" in said(made, "ranks")[0]


@pytest.mark.parametrize("calls", [0, 2])
def test_an_exception_that_no_call_waits_for(tmp_path: Path, calls: int) -> None:
    raw = dump([entry(n + 1) for n in range(calls)], pg_config=CONFIG)
    ranks = {r: recorded(raw, r, [thread(*SLEEPS)]) for r in range(4)} | {
        1: {**recorded(raw, 1), "exception": failure()}
    }
    job = load(write(tmp_path, ranks, "rank_{}"))
    made = Panes(job, tuple(diagnose(job)))
    assert said(made, "findings")[0].split() == ["✗", "rank-ended", "proven", "rank", "1", "train.py:20"]
    assert (made.first().rank, made.first().row) == (1, calls - 1 if calls else None)
    lines = said(made, "call")
    assert "raised  ValueError: boom" in lines
    assert "▶ step           /job/train.py:20" in lines
    assert not any(line.startswith("before") for line in lines)
    assert aligned.why_not(made.findings, made.first()).startswith("its calls show no difference")


def test_a_process_that_is_gone(tmp_path: Path) -> None:
    made = panes(tmp_path, by="observer", alive=False, heartbeat_ns=1_790_000_001_000_000_000)
    assert "process gone (pid 4711), last seen 14:13:21 UTC" in said(made, "call")
    assert "  process gone  last call" in said(made, "ranks")[0]
    assert not any("process" in line for line in said(made, "ranks", width=33))


def test_other_ranks_show_it_at_their_last_call_alone(tmp_path: Path) -> None:
    made = panes(tmp_path)
    first, last = made.job.ranks[0].calls
    there = said(made, "call", Selection(rank=0, row=last))
    assert any(line.startswith("dumped") for line in there)
    assert not any(line.startswith("dumped") for line in said(made, "call", Selection(rank=0, row=first)))


def test_the_words_for_ranks_that_nobody_blames(tmp_path: Path) -> None:
    rows = dump([entry(1)], pg_config=CONFIG)
    gone: Raw = {"alive": False, "by": "recover"}
    job = load(
        write(
            tmp_path,
            {
                0: recorded(rows, 0),
                1: recorded(rows, 1, **gone),
                2: recorded(rows, 2, **gone, ended=1),
                3: {**recorded(dump([], pg_config=CONFIG), 3), "exception": failure()},
            },
        )
    )
    assert [line[4:].split()[0] for line in said(Panes(job, ()), "ranks", Selection())] == [
        "gone",
        "raised",
        "done",
        "ended",
    ]


def test_the_call_on_every_rank_says_what_the_absent_one_was_in(tmp_path: Path) -> None:
    made = panes(tmp_path)
    lines = said(made, "call", replace(made.first(), topic=ACROSS))
    assert any(line.endswith("train.py:60; was in sleep_forever (train.py:13)") for line in lines)
    lines = said(panes(tmp_path / "b", error=failure()), "call", replace(made.first(), topic=ACROSS))
    assert any(line.endswith("; raised ValueError") for line in lines)


def test_the_error_of_a_call(tmp_path: Path) -> None:
    row = {**entry(2, state="started"), "error": "Connection closed"}
    job = load(write(tmp_path, {0: recorded(dump([entry(1), row], pg_config=CONFIG))}))
    assert "error   Connection closed" in said(Panes(job, ()), "call", Selection(rank=0, row=1))


def test_rings_alone_make_a_screen(tmp_path: Path) -> None:
    for rank in range(4):
        ring(tmp_path, rank, calls=1 if rank == 1 else 2, done=1)
    job = load(tmp_path)
    made = Panes(job, tuple(diagnose(job)))
    assert made.findings[0].ranks == (1,)
    assert any(line.startswith("dumped") and " in its ring: " in line for line in said(made, "call"))


@pytest.mark.parametrize("width", [1, 10, 28, 51, 80, 200])
@pytest.mark.parametrize("calls", [0, 1])
def test_hostile_texts_at_every_width(tmp_path: Path, width: int, calls: int) -> None:
    threads = [thread(frame(NASTY, 3, NASTY), name=NASTY), thread(name=NASTY), thread(frame("", 0, ""), name="")]
    error = failure(NASTY, NASTY * 50, frame(NASTY, 3, NASTY))
    made = panes(tmp_path, calls, error, reason=NASTY, host=NASTY, later_reasons=[NASTY] * 9)
    made.job.ranks[1].threads = (
        load(write(tmp_path / "b", {0: recorded(dump([entry(1)], pg_config=CONFIG), 0, threads)})).ranks[0].threads
    )
    for unfolded in (False, True):
        for name in NAMES:
            lines = said(made, name, replace(made.first(), unfolded=unfolded), width)
            assert lines
            assert all(line.isprintable() for line in lines)
    assert clean(NASTY) in "\n".join(said(made, "call", replace(made.first(), unfolded=True), 400))
