"""NCCL's dump pipes, with real pipes and a process that reads them as torch does. NCCL itself needs a GPU."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from recorder.files import loads
from recorder.native import pipes, trigger
from recorder.native.pipes import DUMPED, NO_PIPE, NO_READER, REFUSED, SILENT

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
READER = Path(__file__).with_name("jobs") / "pipe_reader.py"


@contextmanager
def reading(prefix: Path, *ranks: str) -> Iterator[None]:
    """A process that has the pipes of `ranks`."""
    command = [sys.executable, str(READER), str(prefix), *ranks]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield
        finally:
            process.kill()


@pytest.fixture
def prefix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Of pipes and dumps alike; it ends in a digit, as a job's number may."""
    for name in ("TORCH_FR_DUMP_TEMP_FILE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE", "TORCH_NCCL_DEBUG_INFO_PIPE_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path / "job2"


def states(replies: list[pipes.Reply]) -> dict[int, str]:
    return {reply.rank: reply.state for reply in replies}


def test_each_rank_is_told_apart(prefix: Path) -> None:
    Path(f"{prefix}0").write_bytes(b"an older dump.")
    os.mkfifo(f"{prefix}4.pipe")
    Path(f"{prefix}5.pipe").touch()
    told: list[pipes.Reply] = []
    with reading(prefix, "0:whole", "1:whole", "2:deaf", "3:half"):
        replies = pipes.trigger(prefix, ranks=range(7), timeout=1.5, progress=told.append)
    assert states(replies) == {
        0: DUMPED,
        1: DUMPED,
        2: SILENT,
        3: SILENT,
        4: NO_READER,
        5: REFUSED,
        6: NO_PIPE,
    }
    assert [reply.detail for reply in replies[:2]] == [f"{prefix}0", f"{prefix}1"]
    assert loads(Path(f"{prefix}0").read_bytes())["version"] == "2.10"
    assert replies[2].detail.startswith(f"asked, but after 1.5 s nothing came as {prefix}2 or ")
    assert replies[3].detail == f"asked, but after 1.5 s {prefix}3 is not whole"
    assert "the rank has ended" in replies[4].detail
    assert replies[5].detail == f"{prefix}5.pipe is no pipe; nothing was written"
    assert Path(f"{prefix}5.pipe").read_bytes() == b""
    assert sorted(told) == replies
    assert {reply.rank for reply in told[:3]} == {4, 5, 6}, "what is known at once is told at once"


def test_all_ranks_of_a_folder_are_asked_and_no_time_is_wasted(prefix: Path) -> None:
    with reading(prefix.parent / "rank_", "0:whole", "11:whole"):
        began = time.monotonic()
        replies = pipes.trigger(prefix.parent, timeout=30)
    assert states(replies) == {0: DUMPED, 11: DUMPED}
    assert time.monotonic() - began < 5


def test_a_prefix_has_only_its_own_pipes(prefix: Path) -> None:
    os.mkfifo(f"{prefix}_0.pipe")
    with reading(prefix, "7:whole"):
        assert states(pipes.trigger(prefix, timeout=5)) == {7: DUMPED}


def test_a_process_that_reads_no_more_is_not_waited_for(prefix: Path) -> None:
    with reading(prefix, "0:busy"):
        pipe = os.open(f"{prefix}0.pipe", os.O_WRONLY | os.O_NONBLOCK)
        os.write(pipe, bytes(1 << 20))  # as much of it as there is room for
        os.close(pipe)
        replies = pipes.trigger(prefix, timeout=0.2)
    assert states(replies) == {0: REFUSED}
    assert "no longer reads it" in replies[0].detail


def test_dumps_are_looked_for_where_the_variables_say(prefix: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCH_FR_DUMP_TEMP_FILE", str(prefix))
    os.mkdir(prefix.parent / "pipes")
    with reading(prefix, "0:whole"):
        os.rename(f"{prefix}0.pipe", prefix.parent / "pipes" / "other_0.pipe")
        replies = pipes.trigger(prefix.parent / "pipes", timeout=5)
    assert [(reply.state, reply.detail) for reply in replies] == [(DUMPED, f"{prefix}0")]


def test_without_variables_every_release_is_thought_of() -> None:
    assert pipes.stems({"HOME": "/h", "XDG_CACHE_HOME": "/c"}) == [
        "/c/torch/comm_lib_trace_rank_",
        "/h/.cache/torch/comm_lib_trace_rank_",
        "/h/.cache/torch/nccl_trace_rank_",
        "/tmp/nccl_trace_rank_",
    ]


def command(*words: str) -> int:
    parser = argparse.ArgumentParser()
    trigger.add_arguments(parser)
    return trigger.run(parser.parse_args(words))


def test_the_command_prints_a_line_a_rank_and_says_by_its_code_whether_all_dumped(
    prefix: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with reading(prefix, "0:whole", "1:whole", "2:deaf"):
        assert command(str(prefix), "--ranks", "0-1") == 0
        assert sorted(capsys.readouterr().out.splitlines()) == [
            f"rank 0: dumped: {prefix}0",
            f"rank 1: dumped: {prefix}1",
        ]
        assert command(str(prefix), "--ranks", "0", "2-3", "--timeout", "0.5", "--dumps", str(prefix)) == 1
        said = sorted(capsys.readouterr().out.splitlines())
        assert [line.split(":")[1] for line in said] == [" dumped", " silent", " no pipe"]
        assert said[1] == f"rank 2: silent: asked, but after 0.5 s nothing came as {prefix}2"


@pytest.mark.parametrize("words", [["{prefix}"], ["{prefix}", "--ranks", "0"], ["{prefix}/nowhere/rank_"]])
def test_without_any_pipe_it_says_what_the_job_needs(
    words: list[str], prefix: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(*(word.format(prefix=prefix) for word in words)) == 2
    said = capsys.readouterr().err
    assert "TORCH_NCCL_DEBUG_INFO_PIPE_FILE" in said or "No such file" in said


def test_the_prefix_is_taken_from_the_environment(prefix: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SystemExit):
        command()
    monkeypatch.setenv("TORCH_NCCL_DEBUG_INFO_PIPE_FILE", str(prefix))
    with reading(prefix, "0:whole"):
        assert command() == 0


@pytest.mark.parametrize("word", ["x", "3-", "-3", "5-2", "0-99999999"])
def test_ranks_are_numbers_and_ranges(word: str) -> None:
    assert list(trigger.ranks("2-4")) == [2, 3, 4]
    assert list(trigger.ranks("7")) == [7]
    with pytest.raises(argparse.ArgumentTypeError, match=word):
        trigger.ranks(word)
