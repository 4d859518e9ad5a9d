"""What the in-job recorder saw of the blamed ranks, in three formats."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from frtui.arguments import FORMATS
from frtui.engine import diagnose
from frtui.load import load
from frtui.report import render
from tests.dumps import DEFAULT, Raw, dump, entry, frame, write
from tests.recorded import SLEEPS, failure, recorded, ring, thread
from tests.report.test_render import NASTY

CONFIG = {DEFAULT: (0, 1, 2, 3)}
DEEP = [frame("/job/deep.py", n, "again") for n in range(500)]


def told(folder: Path, format: str, blamed: dict[int, Raw]) -> str:  # noqa: A002
    """The report on four ranks of which `blamed` did not join call 2."""
    calls = dump([entry(1), entry(2, state="started")], pg_config=CONFIG)
    job = load(write(folder, {**{r: recorded(calls, r) for r in range(4)}, **blamed}, "rank_{}"))
    return render(job, diagnose(job), format).decode()


def idle(rank: int = 1, frames: list[Raw] = SLEEPS, **more: Any) -> Raw:
    return recorded(dump([entry(1)], pg_config=CONFIG), rank, [thread(*frames)], **more)


def raised(rank: int = 1, kind: str = "ValueError", message: str = "boom") -> Raw:
    return {**idle(rank), "exception": failure(kind, message)}


def test_the_main_threads_stack_is_printed(tmp_path: Path) -> None:
    text = told(tmp_path, "text", {1: idle()})
    assert "rank 1 was in: sleep_forever (train.py:13) ← main (train.py:30)" in " ".join(text.split())
    _, _, stack = text.partition("Stack of rank 1 in its main thread, innermost first\n")
    lines = [line.strip() for line in stack.splitlines()[:4]]
    assert lines == [
        "(1 frame of torch, C++ and Python's library)",
        "sleep_forever  /job/train.py:13",
        "main           /job/train.py:30",
        "(1 frame of torch, C++ and Python's library)",
    ]


def test_an_exceptions_stack_takes_its_place(tmp_path: Path) -> None:
    text = told(tmp_path, "text", {1: raised()})
    assert "because rank 1 ended with ValueError: boom at train.py:20" in " ".join(text.split())
    assert "Stack of rank 1 where it raised ValueError, innermost first\n  step  /job/train.py:20" in text
    assert "main thread" not in text


def test_equal_stacks_are_printed_once_and_few_of_different_ones(tmp_path: Path) -> None:
    text = told(tmp_path, "text", {1: idle(1), 2: idle(2)})
    assert text.count("innermost first") == 2
    assert "Stack of ranks 1-2 in its main thread" not in text
    assert "Stack of ranks 1-2 in their main threads" in text
    others = {r: idle(r, [frame("/job/x.py", r)], world_size=8) for r in range(1, 4)}
    config = {DEFAULT: tuple(range(8))}
    rows = dump([entry(1), entry(2, state="started")], pg_config=config)
    many = {**{r: recorded(rows, r, world_size=8) for r in range(8)}, **others}
    assert told(tmp_path / "b", "text", many).count("main thread") == 2


def test_a_deep_stack_is_cut(tmp_path: Path) -> None:
    assert len(told(tmp_path, "text", {1: idle(frames=DEEP)}).splitlines()) < 100


def test_a_crash_is_in_the_json_and_harmless_on_a_terminal(tmp_path: Path) -> None:
    crashed = {**idle(alive=False), "crash": failure("Segmentation fault\x1b[31m", "")}
    (process,) = json.loads(told(tmp_path, "json", {1: crashed}))["verdict"]["processes"]
    assert process["crash"]["type"].startswith("Segmentation fault")
    assert "\x1b" not in process["crash"]["type"]
    assert process["crash"]["call_site"] == "/job/train.py:20"


def test_json_has_all_of_it(tmp_path: Path) -> None:
    verdict = json.loads(told(tmp_path, "json", {1: raised()}))["verdict"]
    (process,) = verdict["processes"]
    assert (process["rank"], process["host"], process["pid"], process["by"]) == (1, "host-a", 4711, "rank")
    assert (process["reason"], process["alive"], process["ended"]) == ("asked by rank 0", True, None)
    assert process["crash"] is None
    assert process["exception"]["call_site"] == "/job/train.py:20"
    assert (process["exception"]["type"], process["exception"]["message"]) == ("ValueError", "boom")
    assert process["was_in"] == "sleep_forever (train.py:13) ← main (train.py:30)"
    (main,) = process["threads"]
    assert main["name"] == "MainThread"
    assert [f["internal"] for f in main["frames"]] == [True, False, False, True]


def test_torchs_own_dumps_have_none_of_it(tmp_path: Path) -> None:
    job = load(
        write(
            tmp_path,
            {r: dump([entry(1), *([entry(2, state="started")] if r else [])], pg_config=CONFIG) for r in range(4)},
        )
    )
    report = json.loads(render(job, diagnose(job), "json"))
    assert (report["verdict"]["ranks"], report["verdict"]["processes"], report["job"]["from_rings"]) == ([0], [], [])


def test_ranks_that_are_read_from_their_rings_are_told(tmp_path: Path) -> None:
    for rank in range(4):
        ring(tmp_path, rank, calls=2, done=1)
    job = load(tmp_path)
    assert json.loads(render(job, diagnose(job), "json"))["job"]["from_rings"] == [0, 1, 2, 3]
    assert "ranks 0-3 read from the recorder's rings" in render(job, diagnose(job), "text").decode()


def test_how_the_last_call_ended(tmp_path: Path) -> None:
    row = {**entry(2, sizes=[[9]], state="started"), "error": "Connection closed by peer"}
    text = told(tmp_path, "text", {1: recorded(dump([entry(1), row], pg_config=CONFIG), 1)})
    assert "; it ended with: Connection closed by peer" in " ".join(text.split())
    assert text.startswith("SIZE-MISMATCH")


def nasty() -> Raw:
    raw = idle(1, [frame(NASTY, 1, NASTY)], host=NASTY, reason=NASTY, later_reasons=[NASTY])
    raw["python_stacks"][0]["name"] = NASTY
    return {**raw, "exception": failure(NASTY, NASTY, frame(NASTY, 3, NASTY))}


@pytest.mark.parametrize("format", FORMATS)
def test_hostile_texts_stay_in_their_line(tmp_path: Path, format: str) -> None:  # noqa: A002
    text = told(tmp_path, format, {1: nasty()})
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", text)
    assert not any(line.lstrip().startswith("second line") for line in text.splitlines())


def test_hostile_texts_are_no_markdown(tmp_path: Path) -> None:
    markdown_it = pytest.importorskip("markdown_it")
    html = markdown_it.MarkdownIt("gfm-like", {"linkify": False}).render(told(tmp_path, "markdown", {1: nasty()}))
    assert not set(re.findall(r"<(\w+)", html)) - {"h3", "p", "ul", "ol", "li", "strong", "code", "pre"}
    assert "@all" not in re.sub(r"(?s)<code.*?</code>", "", html)


def test_a_message_of_a_megabyte_is_cut(tmp_path: Path) -> None:
    for format in ("text", "markdown"):  # noqa: A001
        assert len(told(tmp_path / format, format, {1: raised(1, "x" * 1_000_000, "y" * 1_000_000)})) < 10_000
