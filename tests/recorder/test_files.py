"""Dumps on disk: whole or not at all, and nothing rich lost to something poor."""

from __future__ import annotations

import os
import pickle
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from frtui.load import load
from recorder.files import is_poorer, loads, write_atomically, write_dump
from recorder.stacks import of_exception

MADE = 1_700_000_000_000_000_000
FRAMES = [{"name": "step", "filename": "train.py", "line": 3}]
STACKS = [{"name": "MainThread", "frames": FRAMES}]


def dump(last: int, first: int = 0, *, frames: bool = True, began: int = MADE, **more: Any) -> dict[str, Any]:
    """The ring of a process that began at `began`, from record `first` to `last`."""
    same = {"profiling_name": "gloo:all_reduce", "process_group": ("0", "default_pg"), "collective_seq_id": 1}
    entries = [{**same, "record_id": n, "time_created_ns": began + n} for n in range(first, last + 1)]
    return {"version": "2.10", "entries": [{**e, "frames": FRAMES} if frames else e for e in entries], **more}


def of(pid: int, **more: Any) -> dict[str, Any]:
    return {"recorder": {"pid": pid, "host": "a", "source": "gloo", **more}}


WHOLE = dump(4, python_stacks=STACKS, **of(7))
EMPTY: dict[str, Any] = {"version": "2.10", "entries": []}


@pytest.mark.parametrize(
    "new",
    [
        pytest.param(dump(3, python_stacks=STACKS, **of(7)), id="ends earlier"),
        pytest.param(dump(4, python_stacks=STACKS, frames=False, **of(7)), id="lost the frames"),
        pytest.param(dump(4, **of(7)), id="lost the threads' stacks"),
        pytest.param(dump(4, python_stacks=[{"name": "MainThread", "frames": []}], **of(7)), id="lost their frames"),
        pytest.param(dump(4, 2, python_stacks=STACKS, **of(7)), id="lost the first calls"),
        pytest.param(dump(3), id="ends earlier, and says not whose it is"),
        pytest.param(EMPTY, id="holds nothing"),
        pytest.param({**EMPTY, **of(7, dumped_ns=MADE + 9)}, id="holds nothing, of the same process"),
        pytest.param(dump(3, began=MADE + 50, **of(7, source="ring")), id="another recorder's, with fewer calls"),
        pytest.param(dump(9, began=MADE - 100, **of(8)), id="an older process's"),
        pytest.param({"version": "2.10", "entries": "?"}, id="no entries at all"),
    ],
)
def test_a_poorer_dump_does_not_replace(new: dict[str, Any], tmp_path: Path) -> None:
    assert is_poorer(new, WHOLE)
    path = tmp_path / "rank_3"
    assert write_dump(path, WHOLE) == str(path)
    assert write_dump(path, new) == str(tmp_path / "recorder" / "later1.r3.pkl~")
    assert write_dump(path, new) == str(tmp_path / "recorder" / "later2.r3.pkl~")
    assert loads(path.read_bytes()) == WHOLE
    assert loads((tmp_path / "recorder" / "later2.r3.pkl~").read_bytes()) == new


def test_who_asks_does_not_replace_the_dump_of_an_incident() -> None:
    incident, asked = (dump(4, python_stacks=STACKS, **of(7, demanded=demanded)) for demanded in (False, True))
    assert is_poorer(asked, incident)
    assert not is_poorer(incident, asked)
    later = dump(5, python_stacks=STACKS, **of(7, demanded=True))
    assert not is_poorer(later, incident)


def test_a_dump_that_knows_the_exception_stays() -> None:
    knows = {**WHOLE, "exception": {"type": "ValueError", "message": "boom", "frames": FRAMES}}
    assert is_poorer(WHOLE, knows)
    assert not is_poorer(knows, WHOLE)


@pytest.mark.parametrize(
    "new",
    [
        pytest.param(WHOLE, id="the same"),
        pytest.param(dump(5, python_stacks=STACKS, **of(7)), id="one call more"),
        pytest.param(dump(7, 3, python_stacks=STACKS, **of(7)), id="the ring went on and dropped its first calls"),
        pytest.param(dump(90, 80, python_stacks=STACKS, **of(7)), id="the ring went round"),
    ],
)
def test_a_dump_with_all_of_it_replaces(new: dict[str, Any], tmp_path: Path) -> None:
    assert not is_poorer(new, WHOLE)
    path = tmp_path / "rank_3"
    write_dump(path, WHOLE)
    assert write_dump(path, new) == str(path)
    assert loads(path.read_bytes()) == new
    assert os.listdir(tmp_path) == ["rank_3"]


@pytest.mark.parametrize(
    "new",
    [
        pytest.param(dump(5, frames=False, **of(7)), id="newer, without stacks"),
        pytest.param(dump(0, began=MADE + 100, **of(8)), id="a later process's"),
        pytest.param(dump(0, began=MADE + 100), id="a later ring of one that says not whose it is"),
        pytest.param(dump(0, began=MADE + 100, **of(7)), id="the same process, whose ring was reset"),
        pytest.param({**EMPTY, "python_stacks": STACKS, **of(8, dumped_ns=MADE + 9)}, id="hung before its first call"),
        pytest.param({**EMPTY, **of(9, opened_ns=MADE + 50, dumped_ns=MADE + 60)}, id="began after the last call"),
    ],
)
def test_what_a_newer_dump_lacks_is_kept_beside_it(new: dict[str, Any], tmp_path: Path) -> None:
    assert not is_poorer(new, WHOLE)
    path = tmp_path / "rank_3"
    write_dump(path, WHOLE)
    assert write_dump(path, new) == str(path)
    assert loads(path.read_bytes()) == new
    assert loads((tmp_path / "recorder" / "earlier1.r3.pkl~").read_bytes()) == WHOLE


def test_a_merged_dump_whose_calls_are_numbered_anew_is_still_of_the_same_ring() -> None:
    anew = dump(9, 3, python_stacks=STACKS)
    for number, entry in enumerate(anew["entries"]):
        entry["record_id"] = number
    assert not is_poorer(anew, WHOLE)
    assert is_poorer(WHOLE, anew)


def test_a_torch_dump_that_says_not_whose_it_is_is_known_by_a_call_that_both_have() -> None:
    plain = {key: value for key, value in WHOLE.items() if key == "entries"}
    assert not is_poorer(WHOLE, plain)
    assert is_poorer(dump(4, frames=False, **of(7)), plain)


@pytest.mark.parametrize("old", [b"\x80\x02}(X\x07", b"Traceback", b"\x80\x02cbuiltins\nprint\n."])
def test_what_is_no_dump_is_moved_aside(old: bytes, tmp_path: Path) -> None:
    path = tmp_path / "rank_10"
    path.write_bytes(old)
    write_dump(path, EMPTY)
    assert loads(path.read_bytes()) == EMPTY
    assert (tmp_path / "recorder" / "earlier1.r10.pkl~").read_bytes() == old


def test_an_empty_file_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "rank_0").touch()
    write_dump(tmp_path / "rank_0", EMPTY)
    assert os.listdir(tmp_path) == ["rank_0"]


def test_the_folder_is_made_and_the_file_is_as_open_as_others(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "rank_0"
    write_atomically(path, b"x")
    (tmp_path / "other").write_bytes(b"x")
    assert path.read_bytes() == b"x"
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE((tmp_path / "other").stat().st_mode)
    assert os.listdir(path.parent) == ["rank_0"]


def test_a_relative_path_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_dump("rank_0", WHOLE)
    write_dump("rank_0", EMPTY)
    assert sorted(os.listdir(tmp_path)) == ["rank_0", "recorder"]


@pytest.mark.parametrize("write", [lambda path: write_atomically(path, b"x"), lambda path: write_dump(path, EMPTY)])
def test_a_pipe_or_a_device_is_never_replaced(write: Any, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "rank_0")
    with pytest.raises(OSError, match="no regular file.*rank_0"):
        write(tmp_path / "rank_0")
    assert os.listdir(tmp_path) == ["rank_0"]
    assert stat.S_ISFIFO((tmp_path / "rank_0").stat().st_mode)


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="the dump can't be written: .*rank_0"):
        write_atomically(tmp_path / "file" / "rank_0", b"x")


def test_a_full_disk_leaves_the_old_dump_and_nothing_else(tmp_path: Path) -> None:
    program = """
import resource, sys
from recorder.files import write_dump
write_dump(sys.argv[1], {"entries": [{"record_id": 0}]})
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    write_dump(sys.argv[1], {"entries": [{"record_id": 0}, {"record_id": 1}], "text": "x" * 5000})
except OSError as error:
    print(error)
"""
    root = str(Path(__file__).parents[2])
    command = [sys.executable, "-c", program, str(tmp_path / "rank_0")]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": root}, capture_output=True, text=True)
    assert "the dump can't be written: File too large" in done.stdout, done.stderr
    assert str(tmp_path / "rank_0") in done.stdout
    assert os.listdir(tmp_path) == ["rank_0"]
    assert len(loads((tmp_path / "rank_0").read_bytes())["entries"]) == 1


def test_of_many_writers_at_once_the_richest_wins(tmp_path: Path) -> None:
    path = tmp_path / "rank_0"
    dumps = [dump(n, **of(7)) for n in range(20)]
    threads = [threading.Thread(target=write_dump, args=(path, d)) for d in (*dumps[10:], *dumps[:10])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert loads(path.read_bytes()) == dumps[-1]
    assert not [name for name in os.listdir(tmp_path) if name.startswith(".")]


def test_a_reader_never_sees_half_a_dump(tmp_path: Path) -> None:
    path = tmp_path / "rank_0"
    write_dump(path, dump(0))
    writer = threading.Thread(target=lambda: [write_dump(path, dump(n)) for n in range(1, 200)])
    writer.start()
    seen = {len(loads(path.read_bytes())["entries"])}
    while writer.is_alive():
        seen.add(len(loads(path.read_bytes())["entries"]))
    writer.join()
    assert len(seen) > 1


def test_auxiliary_names_are_none_that_torchs_analyzer_or_frtui_take_for_dumps(tmp_path: Path) -> None:
    for rank in (0, 1):
        for n in (4, 2, 3):
            write_dump(tmp_path / f"rank_{rank}", dump(n, **of(7)))
    names = [p.name for p in (tmp_path / "recorder").iterdir()]
    assert len(names) == 4
    assert not [name for name in names if "rank_" in name or name[-1].isdigit()]
    assert sorted(load(tmp_path).ranks) == [0, 1]


@pytest.mark.parametrize("data", [b"", b"\x80\x02", pickle.dumps([1]), b"\x80\x02cos\nsystem\n."])
def test_only_a_dict_of_plain_values_is_a_dump(data: bytes) -> None:
    with pytest.raises(ValueError, match="no dump: "):
        loads(data)


def test_a_cause_that_was_suppressed_is_no_cause() -> None:
    def fail() -> None:
        try:
            raise KeyError("a")
        except KeyError:
            raise ValueError("b") from None

    with pytest.raises(ValueError, match="b") as caught:
        fail()
    assert "cause" not in of_exception(caught.value)
    caught.value.__cause__ = ValueError("c")
    caught.value.__cause__.__cause__ = caught.value
    assert of_exception(caught.value)["cause"]["message"] == "c", "a chain that goes round"
