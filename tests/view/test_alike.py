"""Equal stacks over the ranks, and where the other side of a finding stands."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from frtui.engine.finding import Finding
from frtui.load import load
from frtui.view.panes import Panes
from frtui.view.rows import plain
from frtui.view.select import Selection
from tests.dumps import DEFAULT, Raw, Site, dump, entry, frame, write
from tests.recorded import SLEEPS, recorded, thread

ALL = {DEFAULT: tuple(range(8))}
HERE, THERE = ("train.py", 60), ("eval.py", 7)


def job(folder: Path, sites: dict[int, Site], op: str = "all_reduce") -> Panes:
    """Every rank is in call 2, made from its own site; None: it made call 1 only."""
    rows = {
        rank: [entry(1, site=HERE)] + ([entry(2, op, site=site, state="started")] if site else [])
        for rank, site in sites.items()
    }
    made = load(write(folder, {rank: dump(calls, pg_config=ALL) for rank, calls in rows.items()}))
    blamed = Finding("op-mismatch", "proven", "rank 3", (3,), 0, op, 2, focus=(3, made.ranks[3].calls[-1]))
    return Panes(made, (blamed,))


def said(panes: Panes, now: Selection | None = None, width: int = 120) -> list[str]:
    rows = panes.pane("call", now or panes.first()).rows
    rows.fit(width)
    return [plain(rows.line(i, width)).rstrip() for i in range(len(rows))]


def test_the_blamed_ranks_stack_stands_beside_the_majoritys(tmp_path: Path) -> None:
    panes = job(tmp_path, {**dict.fromkeys(range(8), HERE), 3: THERE, 6: ("other.py", 1)})
    lines = said(panes)
    start = lines.index("stack, innermost first, 1 rank has this stack")
    assert lines[start + 1 :] == [
        "  … 1 torch frame (c shows)",
        "▶ step           eval.py:7",
        "  <module>       main.py:9",
        "6 of the other 7 ranks (0-2, 4-5, 7) are in all_reduce #2 at train.py:60, innermost first; rank 6 at "
        "other.py:1",
        "  … 1 torch frame (c shows)",
        "▶ step           train.py:60",
        "  <module>       main.py:9",
    ]
    other = said(panes, replace(panes.first(), rank=5))
    assert "stack, innermost first, 6 ranks have this stack: 0-2, 4-5, 7" in other
    assert "blamed rank 3 is in all_reduce #2 at eval.py:7, innermost first" in other
    assert said(panes, replace(panes.first(), row=0))[-1] == "  <module>       main.py:9", "not at another call"


def test_an_equal_stack_is_said_and_not_shown_again(tmp_path: Path) -> None:
    lines = said(job(tmp_path, dict.fromkeys(range(8), HERE)))
    assert "stack, innermost first, 8 ranks have this stack: 0-7" in lines
    assert lines[-1] == "the other 7 ranks (0-2, 4-7) are in all_reduce #2 at train.py:60, with the same stack"


def test_a_rank_that_is_not_there_is_told_by_its_last_call_or_its_main_thread(tmp_path: Path) -> None:
    panes = job(tmp_path / "a", {**dict.fromkeys(range(8), THERE), 3: None})
    now = replace(panes.first(), rank=0, row=1)
    assert "blamed rank 3 last made all_reduce #1 at train.py:60, innermost first" in said(panes, now)
    waits: Raw = dump([entry(1), entry(2, state="started")], pg_config=ALL)
    idle = recorded(dump([entry(1)], pg_config=ALL), 1, [thread(*SLEEPS)])
    made = load(write(tmp_path / "b", {0: waits, 1: idle}))
    found = Finding("not-joined", "likely", "rank 1", (1,), 0, "all_reduce", 2, focus=(1, 0))
    lines = said(Panes(made, (found,)), Selection(0, 0, 0, 1))
    assert lines[-4:] == [
        "  … 1 library frame (c shows)",
        "▶ sleep_forever  /job/train.py:13",
        "  main           /job/train.py:30",
        "  … 1 library frame (c shows)",
    ]
    assert "blamed rank 1 is in sleep_forever (train.py:13), innermost first" in lines


def test_open_sends_from_the_same_lines_are_counted_over_the_ranks(tmp_path: Path) -> None:
    rows = {
        rank: dump([entry(0, f"send {rank}->{rank + 1}", p2p_seq=4, state="scheduled", site=HERE)], pg_config=ALL)
        for rank in range(7)
    }
    rows[7] = dump([entry(0, "recv 7<-6", p2p_seq=4, state="scheduled", site=THERE)], pg_config=ALL)
    panes = Panes(load(write(tmp_path, rows)), ())
    assert "stack, innermost first, 7 ranks have this stack: 0-6" in said(panes, Selection(rank=2, row=0))
    assert "stack, innermost first, 1 rank has this stack" in said(panes, Selection(rank=7, row=0))


def test_equal_stacks_of_threads_are_counted_over_the_ranks(tmp_path: Path) -> None:
    calls = dump([entry(1, state="started")], pg_config=ALL)
    other = thread(frame("/job/data.py", 5, "fetch"))
    made = {r: recorded(calls, r, [other if r == 3 else thread(*SLEEPS)]) for r in range(8)}
    panes = Panes(load(write(tmp_path, made)), ())
    shared = "MainThread of rank 5 at that time, innermost first, 7 ranks have this stack: 0-2, 4-7"
    assert shared in said(panes, Selection(rank=5, row=0))
    assert "MainThread of rank 3 at that time, innermost first" in said(panes, Selection(rank=3, row=0))


def test_cpp_names_are_whole_where_there_is_room(tmp_path: Path) -> None:
    name = "void c10d::run<at::Tensor, std::vector<int> >(c10::ArrayRef<at::Tensor>)"
    site = [frame("Reducer.cpp", 7, name), frame("train.py", 60, "step")]
    panes = Panes(load(write(tmp_path, {0: dump([entry(1, site=site)], pg_config=ALL)})), ())
    now = Selection(rank=0, row=0)
    assert "  … 1 C++ frame (c shows)" in said(panes, now)
    assert "  c10d::run<…> Reducer.cpp:7" in said(panes, replace(now, unfolded=True), 80)
    assert f"  {name} Reducer.cpp:7" in said(panes, replace(now, unfolded=True), 120)


def test_names_with_braces_are_only_names(tmp_path: Path) -> None:
    panes = job(tmp_path, {**dict.fromkeys(range(8), ("{is}{0}.py", 1)), 3: THERE}, "{x}")
    assert any("are in {x} #2 at {is}{0}.py:1, innermost" in line for line in said(panes))
