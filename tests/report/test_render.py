"""One set of facts in three formats, whatever the names in the dumps."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from frtui.arguments import FORMATS
from frtui.engine.finding import LIKELY, PROVEN, Finding
from frtui.load import load
from frtui.model import Frame, Job
from frtui.report import found_hang, render
from tests.dumps import dump, entry, frame, write

NASTY = (
    "a`b``c*d*_e_[x](http://evil.example)<img src=x onerror=1>|#@all &amp; [bold red]\x1b[31m\u202eevil\nsecond line"
)
GROUP = (NASTY, NASTY)


def job_of(folder: Path, name: str = "tp", site: str = "train.py") -> Job:
    stack = [frame(f"/x/site-packages/torch/{n}.py", n, "torch_inner") for n in range(3)]
    stack += [frame(site, 60, "step"), frame("main.py", 9, "<module>")]
    calls = [entry(1, group=(name, name), site=stack), entry(2, group=(name, name), site=stack, state="scheduled")]
    config = {(name, name): [0, 1, 2, 3]}
    write(folder, {rank: dump(calls[: 1 if rank == 2 else 2], pg_config=config) for rank in range(4)})
    return load(str(folder))


def finding_of(job: Job, name: str = "tp", **changes: Any) -> Finding:
    facts: dict[str, Any] = {
        "ranks": (2,),
        "group": 0,
        "op": "all_reduce",
        "seq": 2,
        "site": Frame("step", "train.py", 60),
        "evidence": (f"ranks 0-1, 3 made call 2 of {name}, rank 2 did not",),
        "waiting": (0, 1, 3),
        "via": ((0, 2), (1, 2), (3, 2)),
        "next_steps": ("Take a stack of rank 2: py-spy dump",),
        "focus": (0, 1),
        **changes,
    }
    return Finding("not-joined", PROVEN, f"Rank 2 never made an all_reduce in {name}.", **facts)


def text_of(job: Job, *findings: Finding) -> str:
    return render(job, list(findings), "text").decode()


def test_the_first_line_is_the_answer(tmp_path: Path) -> None:
    job = job_of(tmp_path)
    lines = text_of(job, finding_of(job)).splitlines()
    assert lines[0] == "NOT-JOINED (proven): Rank 2 never made an all_reduce in tp."
    assert "train.py:60" in lines[2]
    assert max(map(len, lines)) <= 80


def test_the_text_says_who_waits_for_whom_and_where(tmp_path: Path) -> None:
    job = job_of(tmp_path)
    text = text_of(job, finding_of(job))
    assert "ranks 0-1, 3 (3 ranks)" in text
    assert "ranks 0-1, 3 wait for rank 2" in text
    assert "(3 frames of torch and C++)" in text
    assert "torch_inner" not in text
    assert "1. Take a stack of rank 2" in text


def test_a_chain_is_told_from_the_cause_outwards(tmp_path: Path) -> None:
    job = job_of(tmp_path)
    text = text_of(job, finding_of(job, via=((0, 1), (1, 3), (3, 2))))
    first, second, third = (text.index(f"rank {a} waits for rank {b}") for a, b in ((3, 2), (1, 3), (0, 1)))
    assert first < second < third


def test_a_thousand_waiting_ranks_are_a_few_lines(tmp_path: Path) -> None:
    job = job_of(tmp_path)
    via = tuple((rank, rank - 1) for rank in range(3, 1024))
    text = text_of(job, finding_of(job, waiting=tuple(range(3, 1024)), via=via))
    assert len(text.splitlines()) < 50
    assert "ranks 3-1023 (1,021 ranks)" in text
    assert "more (--format json lists all)" in text


def test_every_finding_is_told(tmp_path: Path) -> None:
    job = job_of(tmp_path)
    other = Finding("straggler", LIKELY, "Rank 1 came late.", ranks=(1,))
    for format in FORMATS:  # noqa: A001
        told = render(job, [finding_of(job), other], format).decode()
        assert "Rank 1 came late." in told
        assert "Rank 1 came late." not in render(job, [finding_of(job), other], format, only=0).decode()
        alone = render(job, [finding_of(job), other], format, only=1).decode()
        assert "Rank 1 came late." in alone
        assert "Rank 2 never" not in alone


def test_nobody_to_blame(tmp_path: Path) -> None:
    job = job_of(tmp_path)
    healthy = Finding("no-hang", LIKELY, "Nothing is stuck in communication.")
    assert not found_hang([healthy])
    report = json.loads(render(job, [healthy], "json"))
    assert report["findings"] == []
    assert report["verdict"]["kind"] == "no-hang"
    assert report["verdict"]["group"] is None
    assert report["verdict"]["call_site"] is None
    assert "rank 2: all_reduce [4] f32" in text_of(job, healthy)


def test_json_has_the_documented_fields(tmp_path: Path) -> None:
    job = job_of(tmp_path)
    finding = json.loads(render(job, [finding_of(job)], "json"))["verdict"]
    assert finding["group"] == {"name": "tp", "desc": "tp", "ranks": [0, 1, 2, 3], "label": "tp:tp"}
    assert finding["call_site"] == "train.py:60"
    assert finding["waiting"] == {"ranks": [0, 1, 3], "via": [[0, 2], [1, 2], [3, 2]]}
    assert (finding["seq"], finding["p2p"], finding["op"]) == (2, False, "all_reduce")
    assert finding["last_calls"][0]["seq"] == 1
    assert finding["stack"]["rank"] == 0


@pytest.mark.parametrize("format", FORMATS)
def test_no_format_lets_a_control_character_through(tmp_path: Path, format: str) -> None:  # noqa: A002
    job = job_of(tmp_path, NASTY, NASTY)
    told = render(job, [finding_of(job, NASTY)], format).decode()
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", told)


def test_hostile_names_stay_inside_their_line(tmp_path: Path) -> None:
    job = job_of(tmp_path, NASTY, NASTY)
    lines = text_of(job, finding_of(job, NASTY)).splitlines()
    assert not any(line.startswith("second line") for line in lines)


def test_markdown_shows_hostile_names_as_text(tmp_path: Path) -> None:
    markdown_it = pytest.importorskip("markdown_it")
    job = job_of(tmp_path, NASTY, NASTY)
    told = render(job, [finding_of(job, NASTY)], "markdown").decode()
    html = markdown_it.MarkdownIt("gfm-like", {"linkify": False}).render(told)
    assert not set(re.findall(r"<(\w+)", html)) - {"h3", "p", "ul", "ol", "li", "strong", "code", "pre"}
    assert "@all" not in re.sub(r"(?s)<code.*?</code>", "", html)
    plain_html = markdown_it.MarkdownIt("commonmark").render(
        render(job_of(tmp_path / "b"), [finding_of(job)], "markdown").decode()
    )
    shape = [re.sub(r' class="[^"]*"', "", tag) for tag in re.findall(r"</?\w+[^>]*>", plain_html)]
    assert [re.sub(r' class="[^"]*"', "", tag) for tag in re.findall(r"</?\w+[^>]*>", html)] == shape


@pytest.mark.parametrize(
    "start", ["- x", "1. x", "1) x", "# x", "> x", "+ x", "=== x", "    x", "``` x", "~~~ x", "|a|b|"]
)
def test_markdown_of_a_summary_is_one_paragraph(tmp_path: Path, start: str) -> None:
    markdown_it = pytest.importorskip("markdown_it")
    from frtui.report.markdown import prose

    html = markdown_it.MarkdownIt("commonmark").render(prose(start))
    assert html.startswith("<p>")
    assert html.count("<") == 2


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("run `py-spy dump` on it", "run <code>py-spy dump</code> on it"),
        ("one ` alone *x*", "one ` alone *x*"),
        ("`a` and ` alone", "<code>a</code> and ` alone"),
        ("``` fence", "``` fence"),
    ],
)
def test_markdown_keeps_code_in_backticks(text: str, html: str) -> None:
    markdown_it = pytest.importorskip("markdown_it")
    from frtui.report.markdown import prose

    assert markdown_it.MarkdownIt("commonmark").render(prose(text)) == f"<p>{html}</p>\n"


def test_a_name_of_a_megabyte_is_cut(tmp_path: Path) -> None:
    job = job_of(tmp_path, "x" * 1_000_000, "y" * 1_000_000)
    assert len(text_of(job, finding_of(job))) < 10_000
    assert len(render(job, [finding_of(job)], "markdown")) < 10_000
