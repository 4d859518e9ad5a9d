"""Two snapshots of one job: what advanced, what did not, and what can't be compared."""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any, Optional

import pytest

import frtui.demo as frtui_demo
from frtui.engine.compare import Comparison, NotOneJob, compare
from frtui.load import load
from frtui.report.compare import facts, moves, render
from tests.dumps import DEFAULT, T0, dump, entry, write
from tests.test_cli import frtui

TP = [("1", "tp"), ("2", "tp")]
CONFIG = {DEFAULT: range(8), TP[0]: range(4), TP[1]: range(4, 8)}
Make = Callable[[int], Optional[Any]]


def rank(number: int, steps: int, waits: bool, first: int = 0, config: Any = None) -> Any:
    """Steps of a call in the pair of halves and one over all; then perhaps an open one. The ring begins at `first`."""
    half = TP[number // 4]
    rows = []
    for step in range(1, steps + 1):
        rows += [entry(step, group=half, site=("layers.py", 60)), entry(step, site=("train.py", 20))]
    if waits:
        rows.append(entry(steps + 1, group=half, site=("layers.py", 60), state="scheduled"))
    config = config or CONFIG
    mine = {name: list(members) for name, members in config.items() if number in members}
    return dump(rows[first:], pg_config=mine, first_record=first)


def snapshot(folder: Path, seconds: float, make: Make, world: int = 8) -> Path:
    folder.mkdir()
    write(folder, {number: made for number in range(world) if (made := make(number)) is not None})
    for file in folder.iterdir():
        os.utime(file, (T0 / 1e9 + seconds,) * 2)
    return folder


def stuck(number: int) -> Any:
    """Rank 7 does not come to the eleventh call of its half."""
    return rank(number, 10, 4 <= number < 7)


def lone(name: str) -> Make:
    """All ranks in one group."""
    return lambda _: dump([entry(1, group=(name, ""))], pg_config={(name, ""): range(8)})


def compared(folder: Path, older: Make, newer: Make) -> Comparison:
    a, b = snapshot(folder / "a", 10, older), snapshot(folder / "b", 40, newer)
    return compare(load(a), load(b))


def said(comparison: Comparison) -> str:
    return " ".join(render(comparison, "text").decode().split())


def test_where_nothing_moved_the_calls_that_stayed_open_are_named(tmp_path: Path) -> None:
    found = compared(tmp_path, stuck, stuck)
    text = said(found)
    assert text.startswith(
        "STUCK: Nothing moved in 30 s, but calls are open: "
        "ranks 4-6 are still in all_reduce #11 of tp:2 at layers.py:60."
    )
    assert "tp:2 (ranks 4-7) - ranks 4-6: none since A; still in all_reduce #11 at layers.py:60 - rank 7: none" in text
    assert "default_pg (ranks 0-7): none since A" in text
    assert not moves(found)


def test_a_job_that_moves_on_half_of_its_ranks_says_which_did_not(tmp_path: Path) -> None:
    found = compared(tmp_path, stuck, lambda r: rank(r, 30, True) if r < 4 else None if r == 6 else stuck(r))
    text = said(found)
    assert text.startswith(
        "MOVES: The job moves: 4 of 7 ranks made or finished calls in 30 s; ranks 4-5, 7 did not: ranks 4-5 are still "
        "in all_reduce #11 of tp:2"
    )
    assert "default_pg (ranks 0-7) - ranks 0-3: +20 calls - ranks 4-5, 7: none since A" in text
    assert "rank 6: no dump in B" in text
    assert "tp:1 (ranks 0-3): +21 calls" in text
    assert moves(found)


def test_a_ring_that_wrapped_beyond_the_older_snapshot_is_counted_by_numbers(tmp_path: Path) -> None:
    found = compared(tmp_path, stuck, lambda r: rank(r, 300, True, first=500))
    assert {change.calls for change in found.groups[0].changes.values()} == {290}
    assert found.still == ()
    assert said(found).startswith("MOVES: The job moves: all 8 ranks made or finished calls in 30 s.")


def test_calls_of_a_group_that_fell_out_of_the_ring_are_not_taken_for_none(tmp_path: Path) -> None:
    once = ("9", "once")
    config = {DEFAULT: [0, 1], once: [0, 1]}
    early = [entry(1, group=once), entry(1)]
    late = [entry(number) for number in range(90, 101)]
    a = snapshot(tmp_path / "a", 10, lambda r: dump(early, pg_config=config), 2)
    b = snapshot(tmp_path / "b", 40, lambda r: dump(late, pg_config=config, first_record=200, pg_status={}), 2)
    found = compare(load(a), load(b))
    assert "once:9 (ranks 0-1): its calls fell out of the ring" in said(found)
    assert "default_pg (ranks 0-1): +99 calls" in said(found)


def test_a_call_that_finished_is_movement_without_a_new_call(tmp_path: Path) -> None:
    def newer(number: int) -> Any:
        made = stuck(number)
        made["entries"][-1].update(state="completed", retired=True)
        return made

    found = compared(tmp_path, stuck, newer)
    assert found.advanced == (4, 5, 6)
    assert "ranks 4-6: no new call, but all_reduce #11 finished" in said(found)
    assert moves(found)


def test_sends_and_recvs_count_as_calls(tmp_path: Path) -> None:
    def lane(sent: int) -> Make:
        rows = [
            entry(0, "send 0->1", p2p_seq=n, state="completed" if n < sent else "scheduled") for n in range(1, sent + 1)
        ]
        return lambda r: dump(rows if r == 0 else [], pg_config={DEFAULT: [0, 1]})

    a, b = snapshot(tmp_path / "a", 10, lane(3), 2), snapshot(tmp_path / "b", 40, lane(5), 2)
    assert compare(load(a), load(b)).groups[0].changes[0].calls == 2
    again = snapshot(tmp_path / "c", 70, lane(5), 2)
    assert "rank 0 is still in send 0→1 p2p #5 of default_pg" in said(compare(load(b), load(again)))


def test_a_job_that_finished_moves_nothing_and_is_not_stuck(tmp_path: Path) -> None:
    found = compared(tmp_path, lambda r: rank(r, 9, False), lambda r: rank(r, 9, False))
    assert said(found).startswith("IDLE: Nothing moved in 30 s, and no call is open")
    assert moves(found)


def test_a_dump_that_is_the_same_file_proves_nothing(tmp_path: Path) -> None:
    a = snapshot(tmp_path / "a", 10, stuck)
    b = snapshot(tmp_path / "b", 40, stuck)
    for number in (4, 5):
        os.utime(b / f"nccl_trace_rank_{number}", (T0 / 1e9 + 10,) * 2)
    found = compare(load(a), load(b))
    assert found.same == (4, 5)
    assert "rank 6 is still in all_reduce #11" in said(found)
    assert "The dump of ranks 4-5 is the same in A and B" in said(found)


@pytest.mark.parametrize(
    ("older", "newer", "why"),
    [
        (stuck, lambda r: rank(r, 10, True, config={DEFAULT: range(9)}), "ranks 0-7, B of one with ranks 0-8"),
        (lambda r: stuck(r) if r < 4 else None, lambda r: stuck(r) if r > 3 else None, "no rank has a dump in both"),
        (lambda r: rank(r, 20, True), stuck, "rank 0 is further in A than in B: the older snapshot comes first"),
        (lone("x"), lone("y"), "no process group in common"),
    ],
)
def test_what_is_not_one_job_is_refused(tmp_path: Path, older: Make, newer: Make, why: str) -> None:
    with pytest.raises(NotOneJob, match=why):
        compared(tmp_path, older, newer)


def test_another_run_is_refused(tmp_path: Path) -> None:
    def later(number: int) -> Any:
        made = rank(number, 2, True)
        for raw in made["entries"]:
            raw["time_created_ns"] += 10**12
        return made

    with pytest.raises(NotOneJob, match="began anew after A: B is of another run"):
        compared(tmp_path, stuck, later)


def test_a_real_job_and_what_it_had_done_before(tmp_path: Path) -> None:
    """torch's own dumps on gloo, and the same without what each rank recorded last."""
    demo = Path(frtui_demo.__file__).parent / "idle"

    def earlier(number: int) -> Any:
        made = pickle.loads((demo / f"nccl_trace_rank_{number}").read_bytes())
        made["entries"] = made["entries"][: -2 if number != 2 else None]
        return made

    a = snapshot(tmp_path / "a", 10, earlier, 4)
    found = compare(load(a), load(demo))
    assert (found.advanced, found.still) == ((0, 1, 3), (2,))
    text = said(found)
    assert "MOVES: The job moves: 3 of 4 ranks made or finished calls" in text
    assert "; rank 2 did not." in text


def test_the_command_prints_and_ends_with_what_it_found(tmp_path: Path) -> None:
    a, b = snapshot(tmp_path / "a", 10, stuck), snapshot(tmp_path / "b", 40, stuck)
    c = snapshot(tmp_path / "c", 70, lambda r: rank(r, 30, True))
    done = frtui("compare", a, b, "--format", "json")
    assert done.returncode == 1
    told = json.loads(done.stdout)
    assert told == json.loads(json.dumps(facts(compare(load(a), load(b)))))
    assert (told["verdict"], told["still"], told["seconds"]) == ("stuck", list(range(8)), 30.0)
    assert told["stuck"] == [
        {"group": "tp:2", "ranks": [4, 5, 6], "call": "all_reduce #11", "call_site": "layers.py:60"}
    ]
    assert frtui("compare", b, c).returncode == 0
    refused = frtui("compare", c, a)
    assert (refused.returncode, refused.stdout) == (2, b"")
    assert b"these can't be compared: rank 0 is further in A than in B" in refused.stderr
