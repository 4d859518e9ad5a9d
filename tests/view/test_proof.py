"""What proves a finding: who waits for whom, and what the blamed rank did beside its witnesses."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from frtui.view.aligned import both
from frtui.view.panes import Panes
from frtui.view.rows import Rows, plain
from frtui.view.select import ALIGNED, WAITS, Selection
from frtui.view.topics import PAGES
from frtui.view.waits_page import WaitsPage
from frtui.view.words import ascii_only
from tests.dumps import dump, entry
from tests.engine.jobs import OPEN, WORLD, steps, world
from tests.view import golden, proof_jobs

WIDTHS = (80, 61, 200)
"""Of the Call pane on terminals of 80x24, where it has the whole screen, and 120x40; of 200x50; and zoomed there."""
SHOWN = ["skipped-call", "extra-call", "order-swap", "size-mismatch", "not-joined", "group-deadlock"]


def shown(rows: Rows, width: int) -> list[str]:
    rows.fit(width)
    lines = [*rows.head(width), *(rows.line(i, width) for i in range(len(rows)))]
    return [plain(line).rstrip() for line in lines]


def told(panes: Panes, topic: str, width: int = 100, unfolded: bool = False) -> list[str]:
    page = panes.topic(replace(panes.first(), topic=topic, unfolded=unfolded))
    assert page is not None, topic
    return shown(page, width)


@pytest.fixture
def made(request: pytest.FixtureRequest, tmp_path: Path) -> Panes:
    return proof_jobs.panes(tmp_path, proof_jobs.JOBS[request.param]())


@pytest.mark.parametrize("made", SHOWN, indirect=True)
def test_both_views_of_every_kind(made: Panes, request: pytest.FixtureRequest) -> None:
    kind = str(request.node.callspec.params["made"])
    assert made.findings[0].kind == kind
    parts = [made.findings[0].summary]
    for topic, width in ((t, w) for t in (WAITS, ALIGNED) for w in WIDTHS):
        if topic == WAITS or made.findings[0].beside:
            parts += [f"\n== {topic}, {width} columns", *told(made, topic, width)]
    golden.check(kind, "\n".join(parts) + "\n")


def test_equal_waits_of_a_large_job_are_one_line(tmp_path: Path) -> None:
    """256 ranks in pairs and two halves: the pair of the idle rank, its half, and the other half behind that pair."""
    panes = proof_jobs.panes(tmp_path, proof_jobs.cascade(256, idle=5))
    golden.check("waits-256-ranks", "\n".join(told(panes, WAITS, 80)) + "\n")
    each = told(panes, WAITS, 80, unfolded=True)
    assert len(each) == len(told(panes, WAITS, 80)) + 127 + 127
    for rank in (0, 4, 255):
        assert sum(f" rank {rank} waits for rank" in line for line in each) == 1


def test_a_line_for_each_rank_is_made_when_it_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    panes = proof_jobs.panes(tmp_path, proof_jobs.cascade(256, idle=5))
    said: list[int] = []
    original = WaitsPage.say_spot

    def counted(self: WaitsPage, key: int, width: int):  # type: ignore[no-untyped-def]
        said.append(key)
        return original(self, key, width)

    monkeypatch.setattr(WaitsPage, "say_spot", counted)
    page = panes.topic(replace(panes.first(), topic=WAITS, unfolded=True))
    assert page is not None
    page.fit(80)
    assert len(page) > 256
    assert not said
    assert "waits for rank" in plain(page.line(200, 80))
    assert len(said) == 1


@pytest.mark.parametrize("made", ["not-joined"], indirect=True)
def test_a_line_of_the_waits_leads_to_the_open_call_of_its_rank(made: Panes) -> None:
    now = replace(made.first(), topic=WAITS)
    page = made.topic(now)
    assert page is not None
    page.fit(80)
    assert "rank 5" in plain(page.line(page.position(5), 80)), "the cursor begins at the blamed rank"
    for i, rank in enumerate((5, 1, 4, 0), 1):
        opened, onward = made.open("call", page.key(i), now)
        assert (onward, opened.topic, opened.rank) == ("call", "call", rank), "of several the first"
        assert opened.group is not None
        ends = made.index.ends(rank)
        assert opened.row == (ends.last if rank == 5 else ends.open)[opened.group]
    assert made.open("call", page.key(0), now)[0] == now


@pytest.mark.parametrize("made", ["skipped-call"], indirect=True)
def test_a_line_of_the_alignment_leads_to_the_call_that_it_shows(made: Panes) -> None:
    now = replace(made.first(), topic=ALIGNED)
    page = made.topic(now)
    assert page is not None
    lines = shown(page, 80)[len(page.head(80)) :]
    left = next(i for i, line in enumerate(lines) if "#1" in line)
    opened, _ = made.open("call", page.key(left), now)
    assert opened.rank == 1, "the deviating rank's"
    missing = next(i for i, line in enumerate(lines) if "───  " in line)
    assert page.position(now.rank or 0) == missing, "the cursor begins where they part"
    opened, _ = made.open("call", page.key(missing), now)
    assert opened.rank == 0, "the witness is of the same group"
    assert made.job.call(0, opened.row or 0).seq == 2, "the witness', where it made none"
    parting, _ = made.open("call", page.key(missing - 1), now)
    assert parting == now, "the line that says where they part is no call"


@pytest.mark.parametrize("made", ["extra-call"], indirect=True)
def test_far_calls_are_counted_until_they_are_unfolded(made: Panes) -> None:
    folded, whole = told(made, ALIGNED), told(made, ALIGNED, unfolded=True)
    assert any("… 3 calls before (c shows)" in line for line in folded)
    assert not any("(c shows)" in line for line in whole)
    assert [line for line in folded if "c shows" not in line] == whole[:2] + whole[-(len(folded) - 3) :]


def test_siblings_history_and_ties_are_told_apart(tmp_path: Path) -> None:
    pair = proof_jobs.panes(tmp_path / "siblings", proof_jobs.JOBS["size-mismatch"]())
    assert told(pair, ALIGNED)[1] == "Ranks 0, 4 (2 of 2) of sibling groups did as rank 3, not as rank 2."
    lines = {0: [15, 16, 20, 24, 24, 15, 16], 1: [15, 16, 24, 24, 15, 16]}
    usual = [15, 16, 24, 24] * 3
    ranks = {
        r: dump(
            [proof_jobs.at(line, n, state="completed" if n < 15 else OPEN) for n, line in enumerate(usual + made, 1)],
            pg_config=world(2),
        )
        for r, made in lines.items()
    }
    assert told(proof_jobs.panes(tmp_path / "history", ranks), ALIGNED)[1] == (
        "What followed the same calls earlier speaks for rank 1."
    )
    tie = {r: dump([entry(1, sizes=[[4 + r]], state=OPEN)], pg_config=world(2)) for r in range(2)}
    assert "nothing in the dumps tells which is right" in told(proof_jobs.panes(tmp_path / "tie", tie), ALIGNED)[1]


@pytest.mark.parametrize(
    ("made", "waits", "why"),
    [
        ("no-dump", True, "without a dump there are no calls to line up"),
        ("all-joined-stuck", True, "all members made the same calls; x compares this one"),
        ("group-deadlock", True, "no witness tells which order is right; w shows who waits for whom"),
        ("no-hang", False, "nobody did otherwise"),
    ],
    indirect=["made"],
)
def test_where_there_is_nothing_to_show_it_says_why(made: Panes, waits: bool, why: str) -> None:
    now = made.first()
    assert made.topic(replace(now, topic=ALIGNED)) is None
    said = PAGES[ALIGNED].why_not
    assert said is not None
    assert said(made.findings, now) == why
    assert said((), Selection()) == "no finding is selected"
    assert (made.topic(replace(now, topic=WAITS)) is not None) == waits


@pytest.mark.parametrize("made", ["all-joined-stuck"], indirect=True)
def test_where_nobody_is_blamed_the_call_itself_is_the_cause(made: Panes) -> None:
    assert told(made, WAITS) == [
        "4 ranks wait and nobody is blamed  (c lists each rank)",
        "ranks 0-3 are in all_reduce #4 of default_pg  train.py:60",
    ]


@pytest.mark.parametrize("made", ["no-dump"], indirect=True)
def test_a_rank_without_a_dump_leads_nowhere(made: Panes) -> None:
    now = replace(made.first(), topic=WAITS)
    page = made.topic(now)
    assert page is not None
    assert shown(page, 80)[1] == "✗ rank 3 left no dump: what it did is unknown"
    assert made.open("call", page.key(1), now)[0] == now


def test_a_long_chain_stays_on_the_screen(tmp_path: Path) -> None:
    """A pipeline in which each stage waits for the next one."""
    n = 40
    config = {WORLD: range(n), **{(str(r + 1), "pp"): (r, r + 1) for r in range(n - 1)}}
    ranks = {
        r: dump(
            [*steps(2), *([entry(1, group=(str(r + 1), "pp"), state=OPEN)] if r < n - 1 else [])],
            pg_config={name: members for name, members in config.items() if r in members},
        )
        for r in range(n)
    }
    lines = told(proof_jobs.panes(tmp_path, ranks), WAITS, 80)
    assert len(lines) == n + 1
    assert all(line.index("rank ") <= 24 for line in lines[1:])
    assert "rank 0 waits for rank 1 in all_reduce #1 of pp:1" in lines[-1]


HOSTILE = ["[/red]", "[@click=app.quit]x[/]", "\x1b[31m\x1b]0;x\a", "層" * 30, "x" * 700]


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_ordinary_text(tmp_path: Path, name: str) -> None:
    ranks = proof_jobs.cascade(8, idle=5, name=name)
    for dumped in ranks.values():
        for raw in dumped["entries"]:
            raw["profiling_name"] = f"nccl:{name}"
            raw["frames"] = [{"name": name, "filename": name, "line": 1}]
    panes = proof_jobs.panes(tmp_path, ranks)
    for topic in (WAITS, ALIGNED):
        for width in (1, 30, 80, 200):
            text = "\n".join(told(panes, topic, width))
            assert not set(text) & {"\x1b", "\a"}
            assert name[:4] in text or not name.isprintable() or width < 80


@pytest.mark.parametrize("made", ["skipped-call"], indirect=True)
def test_branches_have_ascii_stand_ins(made: Panes) -> None:
    plainly = [ascii_only(line) for topic in (WAITS, ALIGNED) for line in told(made, topic)]
    assert not any("?" in line for line in plainly)
    assert ",> x rank 1 waits for rank 0 in all_reduce #2 of default_pg  train.py:16" in plainly
    assert "`- rank 0 waits for rank 1 in all_reduce #2 of tp:1  train.py:12" in plainly


@pytest.mark.parametrize("made", SHOWN, indirect=True)
@pytest.mark.parametrize("width", [1, 10, 40, 69, 70])
def test_every_width_can_be_drawn(made: Panes, width: int) -> None:
    for topic in (WAITS, ALIGNED):
        if topic == WAITS or made.findings[0].beside:
            assert told(made, topic, width)
            assert told(made, topic, width, unfolded=True)


def test_a_line_is_not_given_to_ranks_that_were_elsewhere(tmp_path: Path) -> None:
    """Rank 0 meets rank 2 from another line than the others."""
    ranks = {}
    for r in range(4):
        site = ("train.py", 247 if r == 0 else 244)
        odd = entry(3, sizes=[[8 if r == 2 else 1]], site=site, state=OPEN)
        ranks[r] = dump([*steps(2, sizes=[[1]], site=site), odd], pg_config=world(4))
    panes = proof_jobs.panes(tmp_path, ranks)
    assert told(panes, WAITS)[2].endswith(
        "ranks 0-1, 3 meet it there in all_reduce #3 of default_pg  train.py:244 (rank 0 at :247)"
    )
    assert "Ranks 0-1, 3 (3 of 3) did as rank 1, not as rank 2, at train.py:244 (rank 0 at :247)." in told(
        panes, ALIGNED
    )
    page = shown(panes.pane("call", panes.first()).rows, 200)
    [stack] = [line for line in page if "2 of the other 3 ranks" in line]
    assert stack.endswith("with the same stack; rank 0 at train.py:247")


@pytest.mark.parametrize(
    ("told", "room", "shown"),
    [
        ("[4096] bf16", 30, "all_reduce [4096] bf16"),
        ("[4096] bf16", 20, "all_reduce [4096]"),
        ("[4096] bf16", 14, "all_re… [4096]"),
        ("[1] i64 root 3", 22, "all_reduce [1] root 3"),  # a number that is cut off would pass for the same root
        ("[4096]", 15, "all_red… [4096]"),
    ],
)
def test_where_there_is_little_room_the_dtype_goes_first(told: str, room: int, shown: str) -> None:
    assert both("all_reduce", told, room) == shown
