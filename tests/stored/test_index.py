"""What is opened from an index is what the dumps hold, or the dumps are read."""

from __future__ import annotations

import json
import os
import random
import shutil
from dataclasses import fields
from pathlib import Path
from typing import Any, Callable

import pytest

from frtui.demo import ABOUT
from frtui.engine import diagnose
from frtui.engine.finding import Finding
from frtui.load import LoadError, load
from frtui.model import Rank
from frtui.stored import file, open_job, path_of, shapes, write
from frtui.stored.shapes import Wrong
from frtui.tui.loader import Folder
from tests import corpus
from tests.dumps import DEFAULT, batch, dump, entry
from tests.dumps import write as write_dumps
from tests.faults.__main__ import solve
from tests.faults.cases import HEALTHY, make
from tests.faults.kinds import FAULTS
from tests.load.jobs import assert_same
from tests.recorded import SLEEPS, failure, recorded, ring, thread
from tests.test_cli import frtui
from tests.tui.screens import opened, text

ROOT = Path(__file__).parents[2]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A bit of everything: batches, a wrapped ring, a cut file, one that is none, what the recorder adds."""
    calls = [entry(seq, sizes=[[seq, 8]], duration=1.5) for seq in range(1, 40)]
    calls += batch(["send 0->1", "recv 0<-1"], p2p_seq=7, state="started")
    config = {DEFAULT: range(6)}
    for rank in range(5):
        write_dumps(tmp_path, {rank: dump(calls[: 20 + rank], pg_config=config, first_record=rank * 100)})
    cut = tmp_path / "nccl_trace_rank_3"
    cut.write_bytes(cut.read_bytes()[:-500])
    (tmp_path / "nccl_trace_rank_4").write_bytes(b"no dump\n")
    raw = dump(calls, pg_config=config)
    write_dumps(
        tmp_path,
        {
            5: {
                **recorded(raw, 5, [thread(*SLEEPS)]),
                "exception": {**failure(), "cause": failure()},
                "crash": failure(),
            }
        },
    )
    return tmp_path


def assert_opens_as_read(folder: Path) -> None:
    job = load(folder)
    write(folder)
    found = open_job(folder)
    assert (found.note, found.findings) == ("", tuple(diagnose(job)))
    assert_same(found.job, job)


def test_what_is_opened_is_what_was_read(folder: Path) -> None:
    assert_opens_as_read(folder)


@pytest.mark.parametrize("name", ABOUT)
def test_demos(name: str, tmp_path: Path) -> None:
    assert_opens_as_read(shutil.copytree(ROOT / "frtui" / "demo" / name, tmp_path / name))


@pytest.mark.parametrize("kind", [*FAULTS, *HEALTHY][::3])
def test_verdicts_and_their_evidence(kind: str, tmp_path: Path) -> None:
    case = make(kind, 4)
    job, findings = solve(case, tmp_path / case.name)
    write(tmp_path / case.name)
    found = open_job(tmp_path / case.name)
    assert found.findings == tuple(findings)
    assert_same(found.job, job)


@corpus.needed
def test_the_corpus(tmp_path: Path) -> None:
    for case in corpus.cases():
        assert_opens_as_read(shutil.copytree(case, tmp_path / case.parent.name / case.name))


def test_rings_and_archives(tmp_path: Path) -> None:
    for rank in range(3):
        ring(tmp_path / "rings" / "recorder", rank, 5, done=4)
    assert_opens_as_read(tmp_path / "rings")
    shutil.copytree(ROOT / "frtui" / "demo" / "tutorial", tmp_path / "dumps")
    archive = Path(shutil.make_archive(str(tmp_path / "dumps"), "gztar", tmp_path / "dumps"))
    assert_opens_as_read(archive)
    assert path_of(archive).name == "dumps.tar.gz.frtui.index"


def test_an_index_in_an_archive_is_no_dump_and_no_problem(folder: Path) -> None:
    before = load(shutil.make_archive(str(folder.with_name("without")), "tar", folder)).problems
    write(folder)
    after = load(shutil.make_archive(str(folder.with_name("with")), "tar", folder)).problems
    assert [(p.rank, p.problem) for p in after] == [(p.rank, p.problem) for p in before]


def test_an_index_is_for_whom_its_folder_is(folder: Path) -> None:
    before = os.umask(0o077)
    try:
        _, path, _ = write(folder)
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o600


# When it no longer holds


def touched(folder: Path) -> None:
    os.utime(folder / "nccl_trace_rank_0", ns=(1, 1))


def shorter(folder: Path) -> None:
    path, times = folder / "nccl_trace_rank_0", os.stat(folder / "nccl_trace_rank_0")
    path.write_bytes(path.read_bytes()[:-1])
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def gone(folder: Path) -> None:
    (folder / "nccl_trace_rank_0").unlink()


def more(folder: Path) -> None:
    write_dumps(folder, {7: dump([entry(1)])})


def a_log(folder: Path) -> None:
    (folder / "job.log").write_text("x")


@pytest.mark.parametrize("change", [touched, shorter, gone, more, a_log])
def test_an_index_of_other_files_is_not_used(change: Any, folder: Path) -> None:
    write(folder)
    change(folder)
    found = open_job(folder)
    assert found.findings is None
    assert "frtui.index is of other dumps than there are now" in found.note
    assert_same(found.job, load(folder))


def test_nor_one_of_another_frtui_or_other_options(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(folder)
    assert open_job(folder).note == ""
    asked = open_job(folder, prefix="nccl_trace_rank_")
    assert (asked.findings, asked.note) == (None, ""), "to make it anew would not help"
    monkeypatch.setattr("frtui.stored.__version__", "99")
    assert open_job(folder).note


def test_attempts_are_told_apart(tmp_path: Path) -> None:
    for attempt in ("attempt_0", "attempt_1"):
        write_dumps(tmp_path / attempt, {rank: dump([entry(1)]) for rank in range(2)})
    write(tmp_path)
    assert open_job(tmp_path).job.attempt == "attempt_1"
    assert open_job(tmp_path, attempt="attempt_1").note == ""
    other = open_job(tmp_path, attempt="attempt_0")
    assert (other.note, other.findings, other.job.attempt) == ("", None, "attempt_0")
    write_dumps(tmp_path / "attempt_2", {rank: dump([entry(1)]) for rank in range(2)})
    newest = open_job(tmp_path)
    assert "is of other dumps" in newest.note
    assert newest.job.attempt == "attempt_2"


def test_a_ring_changes_where_its_size_and_time_stay(tmp_path: Path) -> None:
    """The rank goes on after the index was made; what it writes through mapped memory leaves the time as it was."""
    path = ring(tmp_path, 0, 2, members=[0])
    write(tmp_path)
    assert open_job(tmp_path).note == ""
    info, later = path.stat(), ring(tmp_path / "later", 0, 4, members=[0]).read_bytes()
    path.write_bytes(later)
    os.utime(path, ns=(info.st_atime_ns, info.st_mtime_ns))
    assert path.stat().st_size == info.st_size
    found = open_job(tmp_path)
    assert "is of other dumps" in found.note
    assert found.job.n_entries == 4


def test_a_folder_that_was_moved_is_called_what_it_is_called_now(folder: Path) -> None:
    write(folder)
    moved = folder.rename(folder.with_name("moved"))
    found = open_job(moved)
    assert (found.note, found.job.source) == ("", str(moved))
    assert found.findings is not None


def test_the_index_is_no_dump_and_no_problem(folder: Path) -> None:
    before = load(folder)
    write(folder)
    assert_same(load(folder), before)


# Files of strangers


def opens(folder: Path, data: bytes) -> bool:
    """Whether an index of these bytes is used; if not, it is said why, and the dumps are read."""
    path_of(folder).write_bytes(data)
    found = open_job(folder)
    assert bool(found.note) == (found.findings is None)
    assert len(found.job.ranks) == 5
    return not found.note


def test_no_cut_index_is_used(folder: Path) -> None:
    write(folder)
    data = path_of(folder).read_bytes()
    for size in [0, 1, 20, 30, *range(40, len(data), len(data) // 60), len(data) - 1]:
        assert not opens(folder, data[:size])


def test_changed_bytes_never_do_harm(folder: Path) -> None:
    """Numbers in columns may be others, as they might in a dump; what points somewhere points to something."""
    write(folder)
    data = path_of(folder).read_bytes()
    chance = random.Random(5)
    for _ in range(300):
        changed = bytearray(data)
        for _ in range(chance.choice([1, 1, 4])):
            changed[chance.randrange(len(data))] = chance.randrange(256)
        if opens(folder, bytes(changed)):
            diagnose(open_job(folder).job)


def head_of(folder: Path) -> tuple[bytes, dict[str, Any]]:
    data = path_of(folder).read_bytes()
    place = int.from_bytes(data[len(file._MAGIC) : len(file._MAGIC) + 8], "little")
    return data[:place], json.loads(data[place:])


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["packed", 0, 0], 1 << 40),
        (["packed", 0, 0], -1),
        (["packed", 0, 0], 0),
        (["packed", 0, 1, 0], ["same", 5]),
        (["packed", 0, 1, 1], ["same", 99]),
        (["packed", 0, 1, 1], ["same", "x"]),
        (["packed", 0, 1, 4], ["rows"]),
        (["packed", 0, 1, 5], ["other"]),
        (["packed", 0, 1], []),
        (["packed"], {}),
        (["ranks", 0], []),
        (["ranks", 0, 0, 0], "zero"),
        (["ranks", 0, 1], [[99, [1, 1, 1]]]),
        (["ranks", 0, 2], [[9999, "x"]]),
        (["ranks", 0, 3], [[99, None]]),
        (["groups"], []),
        (["signatures"], []),
        (["stacks"], [["x"]]),
        (["findings", 0, 5], 3),
        (["findings", 0, 4], 99),
        (["findings", 0, 13], [0, 9999]),
        (["findings", 0, 13], [99, 0]),
        (["findings", 0, 0], None),
        (["threads", 0], ["x"]),
        (["problems", 0], ["x"]),
        (["source"], None),
    ],
)
def test_a_head_that_says_something_else_is_refused(folder: Path, path: list[Any], value: Any) -> None:
    write(folder)
    columns, head = head_of(folder)
    inner: Any = head
    for key in path[:-1]:
        inner = inner[key]
    assert inner[path[-1]] != value
    inner[path[-1]] = value
    assert not opens(folder, columns + json.dumps(head).encode())


def test_texts_of_an_index_do_not_control_the_terminal(folder: Path) -> None:
    write(folder)
    columns, head = head_of(folder)
    head["findings"][0][2] = "\x1b]0;title\x07 [/bold]"
    head["signatures"][0][0] = "all\x1b[31m_reduce"
    assert opens(folder, columns + json.dumps(head).encode())
    found = open_job(folder)
    assert found.findings
    assert found.findings[0].summary == "\\x1b]0;title\\x07 [/bold]"
    assert found.job.signatures[0].op == "all\\x1b[31m_reduce"


def a_folder(path: Path) -> None:
    path.mkdir()


def a_fifo(path: Path) -> None:
    os.mkfifo(path)


def a_link_to_nothing(path: Path) -> None:
    path.symlink_to("nothing")


@pytest.mark.parametrize("make", [a_folder, a_fifo, a_link_to_nothing])
def test_what_only_has_its_name_is_not_opened(make: Callable[[Path], None], folder: Path) -> None:
    make(path_of(folder))
    assert_same(open_job(folder).job, load(folder))


def test_an_index_of_no_dumps_can_not_be_made(tmp_path: Path) -> None:
    with pytest.raises(LoadError):
        write(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_read_says_what_it_is_not(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"hello")
    with pytest.raises(Wrong, match="no index"):
        file.read(tmp_path / "x", [])


# As a person meets it


def test_the_command_and_what_comes_after_it(folder: Path) -> None:
    before = {name: frtui(*name.split(), folder).stdout for name in ("report", "entries", "report --format json")}
    done = frtui("index", folder)
    assert (done.returncode, done.stdout) == (0, b"")
    assert b"wrote" in done.stderr
    assert b"frtui.index: 5 ranks" in done.stderr
    for name, told in before.items():
        again = frtui(*name.split(), folder)
        assert again.stdout == told
        assert again.stderr == b""
    more(folder)
    assert b"of other dumps than there are now" in frtui("report", folder).stderr


def test_a_folder_that_may_not_be_written_to(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "frtui.index").mkdir()
    done = frtui("index", folder)
    assert done.returncode == 2
    assert b"cannot write" in done.stderr
    assert b"Traceback" not in done.stderr
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]


async def test_the_screen_is_the_same(folder: Path) -> None:
    async with opened(folder, Folder(str(folder), None, None)) as pilot:
        before = text(pilot)
    write(folder)
    read = Folder(str(folder), None, None)
    async with opened(folder, read) as pilot:
        assert text(pilot) == before
        assert read.note == ""


def test_a_finding_has_every_field_in_the_index() -> None:
    """A field that is added has to be added there, too."""
    finding = Finding("no-hang", "likely", "all is well")
    assert shapes.finding(json.loads(json.dumps(shapes.finding_out(finding)))) == finding
    apart = {"entries", "calls", "config", "status", "call_errors"}
    assert set(shapes._RANK) == {field.name for field in fields(Rank)} - apart
