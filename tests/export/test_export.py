"""What other programs read is well-formed, and says what the job says."""

from __future__ import annotations

import csv
import gzip
import io
import json
import pickle
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from frtui.demo import ABOUT
from frtui.export import render
from frtui.load import load
from frtui.model import Job
from tests.dumps import DEFAULT, T0, batch, dump, entry, write
from tests.test_cli import DEMO, frtui
from tests.view import jobs

TP = ("7", "tp")
CONFIG = {DEFAULT: range(3), TP: range(2)}


def job(folder: Path) -> Job:
    """Three ranks; rank 2 makes a call less, the first two send, and make calls in a group of their own."""
    for rank in range(3):
        calls = [entry(seq, sizes=[[seq]], duration=0.5) for seq in range(1, 5 if rank == 2 else 6)]
        calls[-1].update(state="scheduled", retired=False)
        if rank < 2:
            calls += [entry(seq, "broadcast", group=TP, state="started") for seq in (1, 2)]
            calls += [entry(0, "send 0->1" if rank == 0 else "recv 1<-0", group=TP, p2p_seq=1)]
        write(folder, {rank: dump(calls, pg_config={n: r for n, r in CONFIG.items() if rank in r})})
    return load(folder)


def exported(of: Job, form: str, ranks: list[str] | None = None, groups: list[str] | None = None) -> bytes:
    return b"".join(render(of, form, ranks, groups))


# Perfetto


def trace(of: Job, **chosen: Any) -> list[dict[str, Any]]:
    found: dict[str, Any] = json.loads(exported(of, "perfetto", **chosen))
    assert set(found) == {"displayTimeUnit", "otherData", "traceEvents"}
    events: list[dict[str, Any]] = found["traceEvents"]
    return events


def check(events: list[dict[str, Any]]) -> None:
    """What the format asks of each event, and what a viewer needs so that nothing is lost."""
    tracks: dict[tuple[int, int], list[tuple[float, float]]] = {}
    for event in events:
        assert isinstance(event["pid"], int)
        assert event["ph"] in "MXistf"
        if event["ph"] == "M":
            assert event["name"] in ("process_name", "process_sort_index", "thread_name")
            continue
        assert isinstance(event["name"], str)
        assert event["ts"] >= 0
        if event["ph"] == "X":
            assert event["dur"] > 0
            tracks.setdefault((event["pid"], event["tid"]), []).append((event["ts"], event["ts"] + event["dur"]))
    for slices in tracks.values():
        assert slices == sorted(slices)
        assert all(end <= start + 0.01 for (_, end), (start, _) in zip(slices, slices[1:]))
    arrows: dict[int, list[dict[str, Any]]] = {}
    for event in events:
        if event["ph"] in "stf":
            arrows.setdefault(event["id"], []).append(event)
            within = tracks[event["pid"], event["tid"]]
            assert any(start <= event["ts"] <= end for start, end in within)
    for points in arrows.values():
        assert [p["ph"] for p in points] == ["s", *["t"] * (len(points) - 2), "f"]
        assert [p["ts"] for p in points] == sorted(p["ts"] for p in points)
        assert len({(p["name"], p["cat"]) for p in points}) == 1
        assert len({p["pid"] for p in points}) == len(points)


def test_a_timeline_of_ranks_and_groups(tmp_path: Path) -> None:
    events = trace(job(tmp_path))
    check(events)
    names = {event["pid"]: event["args"]["name"] for event in events if event["name"] == "process_name"}
    assert names == {0: "rank 0", 1: "rank 1", 2: "rank 2"}
    kinds = Counter(event["ph"] for event in events)
    # Each rank's second open call of a group is queued: a mark. Five collectives have all members, and one has two.
    assert (kinds["X"], kinds["i"]) == (5 + 5 + 4 + 2 * 2, 2)
    assert kinds["s"] == kinds["f"] == 5 + 1
    (last,) = (e for e in events if e["ph"] == "X" and e["pid"] == 2 and not e["args"]["finished"])
    newest = max(e["ts"] + e["dur"] for e in events if e["ph"] == "X")
    assert last["ts"] + last["dur"] == pytest.approx(newest, abs=2)
    assert last["args"]["call_site"] == "train.py:60"


@pytest.mark.parametrize("name", ABOUT)
def test_timelines_of_real_dumps(name: str) -> None:
    events = trace(load(DEMO / name))
    check(events)
    assert {event["ph"] for event in events} > {"M", "X"}


def test_only_what_was_asked_for(tmp_path: Path) -> None:
    events = trace(job(tmp_path), ranks=["0-1"], groups=["tp"])
    check(events)
    assert {event["pid"] for event in events} == {0, 1}
    assert {event["args"]["group"] for event in events if event["ph"] == "X"} == {"tp:7"}


def test_calls_that_overlap_follow_each_other(tmp_path: Path) -> None:
    """Enqueued at once, they run one after the other."""
    calls = [entry(seq, created=T0 + seq) for seq in range(1, 9)]
    calls += batch(["send 0->1", "recv 0<-1"], p2p_seq=1)
    write(tmp_path, {rank: dump(calls, pg_config={DEFAULT: range(2)}) for rank in range(2)})
    check(trace(load(tmp_path)))


# Tables


def test_csv_is_what_entries_prints(tmp_path: Path) -> None:
    of = job(tmp_path)
    rows = list(csv.DictReader(io.StringIO(exported(of, "csv").decode())))
    assert len(rows) == of.n_entries
    assert {row["group_desc"] for row in rows} == {"default_pg", "tp"}
    assert frtui("export", tmp_path, "--format", "csv").stdout == exported(of, "csv")


def test_parquet_has_every_entry_with_its_types(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    of = job(tmp_path)
    table = parquet.read_table(io.BytesIO(exported(of, "parquet")))
    flat = json.loads(frtui("entries", tmp_path, "--format", "json", "--stack").stdout)
    assert table.to_pylist() == flat
    assert str(table.schema.field("input_sizes").type) == "list<element: list<element: int64>>"


def test_parquet_of_no_entries_has_their_columns(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    write(tmp_path / "none", {0: dump([], pg_config={DEFAULT: range(2)})})
    none, some = (
        parquet.read_table(io.BytesIO(exported(of, "parquet")))
        for of in (load(tmp_path / "none"), job(tmp_path / "some"))
    )
    assert (none.num_rows, none.schema) == (0, some.schema)


def test_names_of_strangers(tmp_path: Path) -> None:
    jobs.stuck(tmp_path)
    raw = dump([entry(1, "all\x1b[31m[/bold]", site=("=1+1\u202e.py", 1))], pg_config={("0", "a\nb"): [0]})
    write(tmp_path, {0: raw})
    for form in ("perfetto", "csv"):
        assert not set(exported(load(tmp_path), form).decode()) & set("\x1b\u202e")


# torch's flat database


def database(data: bytes) -> Any:
    pytest.importorskip("torch")
    _, found = pickle.loads(data)
    return found


def torch_says(folder: Path) -> Any:
    pytest.importorskip("torch")
    out = folder.with_name("torch.pkl")
    command = [sys.executable, "-m", "torch.distributed.flight_recorder.fr_trace", str(folder), "-o", str(out)]
    subprocess.run([*command, "-p", "nccl_trace_rank_"], check=True, capture_output=True)
    return database(out.read_bytes())


def test_the_database_of_a_healthy_job_is_torchs(tmp_path: Path) -> None:
    folder = tmp_path / "dumps"
    calls = [entry(seq, sizes=[[seq, 2]], site=("train.py", seq)) for seq in range(1, 6)]
    calls += [entry(seq, "broadcast", group=TP, site=None) for seq in (1, 2)]
    write(folder, {rank: dump(calls, pg_config={DEFAULT: range(2), TP: range(2)}) for rank in range(2)})
    ours, theirs = database(exported(load(folder), "torch-db")), torch_says(folder)
    assert type(ours) is type(theirs)
    assert set(ours.groups) == set(theirs.groups)
    assert set(ours.memberships) == set(theirs.memberships)
    assert ours.tracebacks == theirs.tracebacks

    def collectives(of: Any) -> list[Any]:
        return sorted((one._replace(id=0) for one in of.collectives), key=lambda one: (one.group_id, one.record_id))

    def calls_of(of: Any) -> list[Any]:
        found = {one.id: one for one in of.collectives}
        told = [one._replace(id=0, collective_id=found[one.collective_id].collective_seq_id) for one in of.ncclcalls]
        return sorted(told, key=repr)

    assert collectives(ours) == collectives(theirs)
    assert calls_of(ours) == calls_of(theirs)


def test_the_database_says_what_did_not_match(tmp_path: Path) -> None:
    found = database(exported(job(tmp_path), "torch-db"))
    by_check = Counter((one.group_id, one.pass_check) for one in found.collectives)
    assert by_check == {("0", True): 4, ("0", False): 1, ("7", True): 3}
    (wrong,) = (one for one in found.collectives if not one.pass_check)
    assert (wrong.collective_seq_id, wrong.missing_ranks) == (5, {2})
    assert len(found.ncclcalls) == 5 + 5 + 4 + 2 * 3
    assert [one.collective_type for one in found.ncclcalls[-2:]] == ["nccl:send 0->1", "nccl:recv 1<-0"]


def test_who_was_not_selected_or_left_no_dump_is_not_missing(tmp_path: Path) -> None:
    group = {DEFAULT: range(5)}
    write(tmp_path, {rank: dump([entry(1), entry(2)], pg_config=group) for rank in range(4)})
    for ranks in (["0-1"], None):
        found = database(exported(load(tmp_path), "torch-db", ranks))
        assert {(one.pass_check, one.missing_ranks) for one in found.collectives} == {(True, None)}
        assert found.collectives[0].expected_ranks == set(range(5))


def test_what_fell_out_of_a_ring_is_not_missing(tmp_path: Path) -> None:
    group = {DEFAULT: range(2), TP: range(2)}
    sends = [entry(0, "send 0->1", group=TP, p2p_seq=n) for n in (1, 2, 3)]
    recvs = [entry(0, "recv 1<-0", group=TP, p2p_seq=n) for n in (2, 3)]
    write(tmp_path, {0: dump([*sends, *map(entry, (1, 2, 3, 4, 5))], pg_config=group)})
    write(tmp_path, {1: dump([*recvs, *map(entry, (3, 4))], pg_config=group, first_record=3)})
    found = database(exported(load(tmp_path), "torch-db")).collectives
    told = [(one.p2p_seq_id or one.collective_seq_id, one.pass_check, one.missing_ranks) for one in found]
    assert told[:5] == [*((seq, True, None) for seq in (1, 2, 3, 4)), (5, False, {1})]
    assert told[5:] == [(seq, True, None) for seq in (1, 2, 3)]


def test_arguments_that_may_differ_are_no_mismatch(tmp_path: Path) -> None:
    for rank in range(2):
        uneven = entry(1, "all_to_all", sizes=[[4 + rank]], outputs=[[5 - rank]])
        calls = [uneven, entry(2, sizes=[[4 + rank]])]
        write(tmp_path, {rank: dump(calls, pg_config={DEFAULT: range(2)})})
    found = database(exported(load(tmp_path), "torch-db"))
    assert [one.pass_check for one in found.collectives] == [True, False]


def test_the_types_are_torchs_own(tmp_path: Path) -> None:
    types = pytest.importorskip("torch.distributed.flight_recorder.components.types")
    found, _ = pickle.loads(exported(job(tmp_path), "torch-db"))
    assert found is types.types


# As a person meets it


def test_the_command_writes_a_file_and_compresses_it(tmp_path: Path) -> None:
    out = tmp_path / "trace.json.gz"
    done = frtui("export", DEMO / "tutorial", "-o", out)
    assert (done.returncode, done.stdout) == (0, b"")
    check(json.loads(gzip.decompress(out.read_bytes()))["traceEvents"])


def test_without_pyarrow_it_says_so(tmp_path: Path) -> None:
    (tmp_path / "pyarrow.py").write_text("raise ImportError")
    program = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from frtui.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", program, "export", str(DEMO / "tutorial"), "--format", "parquet"]
    done = subprocess.run(command, capture_output=True, cwd=DEMO.parent.parent, check=False)
    assert done.returncode == 64
    assert b"pip install 'frtui[parquet]'" in done.stderr
