"""Slow calls, late ranks, clocks and the last minute."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from frtui.load import load
from frtui.view import clocks, lags
from frtui.view.index import Index
from frtui.view.panes import Panes
from frtui.view.rows import plain
from frtui.view.select import TIMES, Selection
from frtui.view.strip import Window, axis, strip
from frtui.view.words import ascii_only
from tests.dumps import DEFAULT, T0, dump, entry, write
from tests.view import jobs

S = 1_000_000_000


def late(folder: Path, skew_s: float = 0.0, ranks: int = 4, duration: float | None = None) -> Path:
    """Every 10 s a call that takes 1 s; rank 1 makes the last one 7 s late and its host's clock is off by `skew_s`."""
    config = {DEFAULT: tuple(range(ranks))}
    for rank in range(ranks):
        off = int(skew_s * S) if rank % 2 else 0
        rows = []
        for seq in range(1, 7):
            at = T0 + off + seq * 10 * S + (7 * S if (rank, seq) == (1, 6) else 0)
            state = "completed" if seq < 6 else "started"
            rows.append(entry(seq, created=at, state=state, duration=duration and duration * seq))
        raw = ended(dump(rows, pg_config=config))
        write(folder, {rank: raw}, f"host{rank % 2}_rank_{{}}")
    return folder


def ended(raw: Any) -> Any:
    for row in raw["entries"]:
        if row["state"] == "completed":
            row["time_discovered_completed_ns"] = row["time_created_ns"] + S
    return raw


def page(folder: Path, width: int = 100, **now: Any) -> list[str]:
    panes = Panes(load(folder), ())
    row = panes.job.ranks[1].calls[-1]
    rows = panes.pane("call", replace(Selection(rank=1, group=0, row=row, topic=TIMES), **now)).rows
    rows.fit(width)
    return [plain(line).rstrip() for line in [*rows.head(width), *(rows.line(i, width) for i in range(len(rows)))]]


@pytest.mark.parametrize("width", [80, 120, 200])
def test_who_came_late_stands_on_top_and_the_clocks_are_told_of(tmp_path: Path, width: int) -> None:
    said = page(late(tmp_path), width)
    assert said[0] == "clocks of 2 hosts agree to 1 ms, by the ends of 5 collectives"
    at = next(n for n, line in enumerate(said) if line.startswith("Late for"))
    assert said[at] == "Late for all_reduce #6, which rank 0 made first, at 14:14:20.000"
    assert said[at + 1] == "       +7 s  rank 1  usually 0 us  host1"
    assert said[at + 2 : at + 4] == [
        "      +0 us  rank 2  usually 0 us  host0",
        "      +0 us  rank 3  usually 0 us  host1",
    ]
    strips = [line for line in said if line.startswith("  rank ")]
    assert [line.split()[1] for line in strips] == ["0", "1", "2", "3"]
    assert max(map(len, said)) <= width


def test_clocks_that_differ_are_told_of_and_lags_below_that_are_dim(tmp_path: Path) -> None:
    folder = late(tmp_path, skew_s=9)
    said = page(folder)
    assert said[0] == (
        "clocks of 2 hosts differ by up to 9 s, by the ends of 5 collectives: lags below that mean nothing"
    )
    panes = Panes(load(folder), ())
    rows = panes.topic(Selection(rank=1, group=0, row=5, topic=TIMES))
    assert rows is not None
    rows.fit(100)
    roles = {plain(line).split()[3]: line[0][1] for line in rows.lines if plain(line).lstrip().startswith("+")}
    assert roles == {"1": "warn", "3": "dim", "2": "dim"}
    assert "usually 9 s" in "\n".join(said), "always late is a clock, or a rank that always is"


def test_without_ends_the_clocks_are_unknown_and_that_is_said(tmp_path: Path) -> None:
    assert clocks.clocks(Index(load(jobs.pipeline(tmp_path)))) is None
    rows = {rank: dump([entry(1, backend="gloo")], pg_config={DEFAULT: (0, 1)}) for rank in (0, 1)}
    for raw in rows.values():
        raw["entries"][0]["time_discovered_completed_ns"] = None
    folder = write(tmp_path / "gloo", rows)
    said = " ".join(page(folder, row=0))
    assert "how far the clocks are apart is unknown, and lags include it" in said
    assert "No call in default_pg has its end recorded" in said
    assert "TORCH_NCCL_ENABLE_TIMING" not in said, "it would not help on gloo"


def test_ranks_of_one_host_share_its_clock(tmp_path: Path) -> None:
    write(tmp_path, {r: dump([entry(1)], pg_config={DEFAULT: (0, 1)}) for r in (0, 1)}, "node7_rank_{}")
    assert page(tmp_path, row=0)[0] == "all ranks ran on one host, and so by one clock"


def test_the_slowest_calls_say_how_they_were_timed(tmp_path: Path) -> None:
    noticed = page(late(tmp_path / "noticed"))
    assert "Slowest calls in default_pg (made until its end was noticed, so with the wait for others)" in noticed
    assert "        1 s  all_reduce #1  rank 0  train.py:60" in noticed
    measured = page(late(tmp_path / "measured", duration=250.0))
    at = measured.index("Slowest calls in default_pg (as torch measured)")
    assert measured[at + 1] == "      1.5 s  all_reduce #6  rank 0  train.py:60"
    assert measured[at + 2].split()[:4] == ["1.2", "s", "all_reduce", "#5"]


def test_lines_lead_to_their_calls(tmp_path: Path) -> None:
    panes = Panes(load(late(tmp_path)), ())
    now = Selection(rank=1, group=0, row=5, topic=TIMES)
    found = panes.topic(now)
    assert found is not None
    found.fit(100)
    said = [plain(line) for line in found.lines]
    leads = {said[i]: (rank, row) for i, (_, rank, row) in found.links.items()}
    assert {call for line, call in leads.items() if "+" in line} == {(1, 5), (2, 5), (3, 5)}
    assert {call for line, call in leads.items() if line.startswith("  rank")} == {(rank, 5) for rank in range(4)}
    assert found.position(1) == next(i for i, line in enumerate(said) if "+7 s" in line)
    key = found.links[found.position(1)][0]
    assert panes.open("call", key, now)[0].rank == 1


def test_who_has_not_made_the_call_is_named(tmp_path: Path) -> None:
    config = {DEFAULT: (0, 1, 2)}
    write(tmp_path, {0: dump([entry(1), entry(2, state="started")], pg_config=config)})
    write(tmp_path, {1: dump([entry(1)], pg_config=config)})
    said = page(tmp_path, rank=0, row=1)
    assert "  rank 1: not joined" in said
    assert "  rank 2: no dump" in said


def test_a_strip_shows_calls_gaps_and_what_has_not_ended(tmp_path: Path) -> None:
    index = Index(load(late(tmp_path)))
    shown = Window(T0 + 40 * S, T0 + 70 * S)
    line = strip(index, 0, None, shown, 30)
    assert line == "██········██········▒▒▒▒▒▒▒▒▒▒"
    assert ascii_only(line) == "##........##........~~~~~~~~~~"
    assert axis(shown, 60).startswith("14:14:00 ")
    assert axis(shown, 60).endswith(" 14:14:30")
    assert "500.0 ms a column, UTC" in axis(shown, 60)


def test_many_ranks_show_the_latest_ones_only() -> None:
    panes = Panes(jobs.wide(), ())
    e = panes.job.ranks[1000].entries
    e.created[6] += 5 * S
    found = panes.topic(Selection(rank=0, group=0, row=6, topic=TIMES))
    assert found is not None
    found.fit(100)
    said = [plain(line) for line in found.lines]
    assert len(said) < 50
    assert any(line.startswith("       +5 s  rank 1000") for line in said)
    assert any("rank 77: not joined" in line for line in said)
    assert any(line.startswith("  rank 1000 ") for line in said)


def test_lags_of_calls_are_those_behind_the_first(tmp_path: Path) -> None:
    index = Index(load(late(tmp_path)))
    assert lags.of_calls(index, 1, range(6)) == [0, 0, 0, 0, 0, 7000]
    assert lags.where_it_stands(index) == {0: 0, 1: 7000, 2: 0, 3: 0}
