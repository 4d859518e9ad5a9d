"""What the five panes say about a stuck job."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from frtui.view.panes import Panes
from frtui.view.rows import Rows, plain
from frtui.view.select import CALL, MISSING, NAMES, PROBLEMS, TOPICS, Selection
from tests.dumps import dump, entry
from tests.view import jobs, proof_jobs


@pytest.fixture
def panes(tmp_path: Path) -> Panes:
    return jobs.panes(tmp_path)


def lines(rows: Rows, width: int = 120) -> list[str]:
    rows.fit(width)
    return [plain(rows.line(i, width)).rstrip() for i in range(len(rows))]


def said(panes: Panes, name: str, now: Selection | None = None, width: int = 120) -> list[str]:
    return lines(panes.pane(name, now or panes.first()).rows, width)


def test_findings_put_the_verdict_first(panes: Panes) -> None:
    first, second, *notes = said(panes, "findings", width=80)
    assert first.startswith("✗ size-mismatch proven rank 2 tp:7 all_reduce #6  layers.py:60")
    assert second.startswith("✗ no-dump       likely rank 4 default_pg all_reduce #2")
    assert notes == [
        "! 1 file could not be read as written  Enter lists them",
        "! no dump from rank 4  Enter tells more",
    ]


def test_the_sentence_of_a_finding_is_wrapped_and_never_lost_silently(panes: Panes) -> None:
    whole = panes.findings[0].summary
    assert " ".join(line.strip() for line in lines(panes.summary(panes.first(), 9), 40)) == whole
    short = lines(panes.summary(panes.first(), 2), 40)
    assert len(short) == 2
    assert short[-1].endswith("…")


def test_ranks_say_state_and_standing(panes: Panes) -> None:
    ranks = said(panes, "ranks")
    assert ranks[0].startswith("✗ 2 blamed  #6  tp:7"), "who is blamed stands on top"
    assert ranks[1] == "✗ 4 no dump"
    assert [line.split()[:3] for line in ranks[2:4]] == [["0", "waits", "#2"], ["1", "waits", "#2"]]


def test_a_finished_rank_is_done_and_an_empty_dump_is_empty(tmp_path: Path) -> None:
    from frtui.load import load
    from tests.dumps import dump, entry, write

    write(tmp_path, {0: dump([entry(1)], pg_config={("0", "default_pg"): (0, 1)}), 1: dump([], pg_config={})})
    ranks = said(Panes(load(tmp_path), ()), "ranks", Selection())
    assert ranks[0].startswith("? 1 empty")
    assert ranks[1].startswith("  0 done    #1")


def test_groups_say_who_joined_and_who_is_missing(panes: Panes) -> None:
    groups = {line[2:].split()[0]: line for line in said(panes, "groups")}
    assert "#2  2 of 5, not 2-3, no dump 4" in groups["default_pg"]
    assert groups["tp:7"].startswith("✗ tp:7")
    assert "2 of 2" in groups["tp:7"]
    assert "done" in groups["tp:6"]


def test_calls_mark_the_open_and_the_deviating_one(panes: Panes) -> None:
    *before, last = said(panes, "calls")
    assert all(line.startswith(" ✓ #") and " done " in line for line in before)
    assert last.startswith("≠▶ #6    all_reduce")
    assert "started" in last
    assert "[4096] f32" in last
    assert "layers.py:60" in last
    assert "1.5 ms" in before[-1]


def test_the_call_shows_the_others_beside_it(panes: Panes) -> None:
    call = "\n".join(said(panes, "call", width=60))
    assert call.startswith("all_reduce  tp:7 #6  rank 2  size-mismatch")
    assert "site    /home/user/job/layers.py:60" in call
    assert "in, out [4096] f32" in call
    assert "group   1 rank [4096] f32 · 1 rank [4128] f32" in call
    assert "why     the history of rank 2 has [4128] at this line" in call
    assert "next    look at what makes the sizes at layers.py:60" in call
    assert "2 ranks have this stack" in call


def test_why_belongs_to_the_call_of_the_finding_only(panes: Panes) -> None:
    now = panes.first()
    rows = panes.index.rows(2, now.group)
    assert any(line.startswith("why") for line in said(panes, "call", replace(now, row=rows[-1])))
    assert not any(line.startswith("why") for line in said(panes, "call", replace(now, row=rows[0])))


def test_torch_frames_are_folded_with_their_number(panes: Panes) -> None:
    folded = said(panes, "call")
    assert "  … 1 torch frame (c shows)" in folded
    assert any(line.startswith("▶ step") and line.endswith("/home/user/job/layers.py:60") for line in folded)
    shown = said(panes, "call", replace(panes.first(), unfolded=True))
    assert any("distributed_c10d.py:2810" in line for line in shown)
    assert not any("c shows" in line for line in shown)


def test_a_rank_without_a_dump_says_so(panes: Panes) -> None:
    now = panes.on_finding(1)
    assert said(panes, "calls", now) == ["rank 4 left no readable dump in this folder: what it did is unknown."]
    why, others, *_ = said(panes, "call", now)
    assert why == "why     no file"
    assert others.startswith("2 of the other 4 ranks (0-1) are in all_reduce #2 at train.py:20, innermost first; ranks")


def test_what_could_not_be_read_can_be_reached(panes: Panes) -> None:
    now, onward = panes.open("findings", len(panes.findings), panes.first())
    assert (now.topic, onward) == (PROBLEMS, "call")
    assert "nccl_trace_rank_9" in said(panes, "call", now)[0]
    now, _ = panes.open("findings", len(panes.findings) + 1, panes.first())
    assert now.topic == MISSING
    assert any("rank 4" in line and "default_pg" in line for line in said(panes, "call", now))


@pytest.mark.parametrize("width", [1, 10, 28, 51, 80, 200])
def test_every_pane_can_be_drawn_at_every_width(panes: Panes, width: int) -> None:
    for number in range(len(panes.findings)):
        for name in NAMES:
            assert said(panes, name, panes.on_finding(number), width)


@pytest.mark.parametrize("topic", sorted({CALL, *TOPICS}))
def test_a_finding_that_is_no_longer_there_is_as_none(panes: Panes, topic: str) -> None:
    now = replace(panes.on_finding(0), finding=len(panes.findings), topic=topic)
    for name in NAMES:
        assert said(panes, name, now)
        assert panes.site(name, now) == panes.site(name, replace(now, finding=None))


def test_a_job_without_findings_and_groups_is_drawn(tmp_path: Path) -> None:
    from frtui.model import Job

    empty = Panes(Job("x"), ())
    for name in NAMES:
        assert said(empty, name, empty.first()) == []


def test_an_empty_dump_is_not_called_unreadable(tmp_path: Path) -> None:
    made = proof_jobs.panes(tmp_path, {0: dump([entry(1, state="started")]), 1: dump([]), 2: dump([])})
    assert said(made, "findings")[-1] == "! 2 dumps are empty (ranks 1-2)  Enter lists them"
