"""Asking, observing and recovering ranks from beside the job."""

from __future__ import annotations

import os
import pickle
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest

from recorder import cli, ringfile
from tests.recorder.running import ROOT, environment, needs_torch, python
from tests.recorder.zygotes import Zygote, dump_of, wait_for

pytestmark = needs_torch


def test_a_rank_that_is_stuck_is_asked_from_outside(
    zygote: Zygote, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pids = [zygote.start(tmp_path, "stuck", str(rank), name=f"job{rank}") for rank in (0, 1)]
    wait_for(tmp_path / "ready0", tmp_path / "ready1")
    time.sleep(0.3)
    assert cli.main(["stacks", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert "in all_reduce" in text or "all_reduce" in text
    assert "stuck" in text
    assert not list(tmp_path.glob("rank_*"))

    assert cli.main(["dump", str(pids[0])]) == 0
    assert capsys.readouterr().out.startswith("rank 0: ")
    assert not (tmp_path / "rank_1").exists()
    assert dump_of(tmp_path)["entries"][-1]["state"] == "started"
    assert dump_of(tmp_path)["recorder"]["demanded"]

    assert cli.main(["dump", str(tmp_path)]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2
    assert len(dump_of(tmp_path, 1)["entries"]) == 1

    assert cli.main(["dump", str(tmp_path), "-o", f"{tmp_path}/active_", "--only-active"]) == 0
    assert len(pickle.loads((tmp_path / "active_0").read_bytes())["entries"]) == 1

    assert cli.main(["recover", str(tmp_path)]) == 0
    assert capsys.readouterr().out.count("still running") == 2

    for rank in (0, 1):
        (tmp_path / f"rank_{rank}").unlink()
    (tmp_path / "recorder" / "dump.request").touch()
    wait_for(tmp_path / "rank_0", tmp_path / "rank_1", seconds=6)
    assert "dump.request" in dump_of(tmp_path)["recorder"]["reason"]
    assert zygote.end(pids[0]) == -9


def test_a_stranger_at_the_socket_changes_nothing(zygote: Zygote, tmp_path: Path) -> None:
    pid = zygote.start(tmp_path, "works", "60")
    wait_for(tmp_path / "ready")
    path = str(tmp_path / "recorder" / "r0.sock")
    assert os.stat(path).st_mode & 0o777 == 0o600
    for sent in (b"", b"[" * 4000, b"\xff\xfe", b"null", b'{"command": ["dump"]}', b'{"command": "trace"}'):
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(path if len(path) < 100 else os.path.relpath(path))
            client.sendall(sent)
    assert cli.main(["dump", str(tmp_path)]) == 0
    assert zygote.end(pid) == -9


def observe(folder: Path, *options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "recorder", "observe", str(folder), *options]
    return subprocess.Popen(
        command, env=environment(), cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def test_an_observer_leaves_a_healthy_job_alone_and_ends_with_it(zygote: Zygote, tmp_path: Path) -> None:
    folder, parent = tmp_path / "not" / "yet", tmp_path
    observer = observe(folder, "--stuck-after", "0.5")
    try:
        time.sleep(0.7)
        assert observer.poll() is None
        folder.mkdir(parents=True)
        assert zygote.run(folder, "works", "2") == 0
        out, err = observer.communicate(timeout=40)
    finally:
        observer.kill()
        observer.communicate()
    assert (observer.returncode, out) == (0, "")
    assert err.splitlines() == [f"observing {folder}; ctrl+c stops"]
    assert not list(parent.rglob("rank_*"))
    assert not list(parent.rglob("dump.request"))


def test_an_observer_dumps_a_rank_that_is_killed(zygote: Zygote, tmp_path: Path) -> None:
    old = zygote.start(tmp_path, "ends", "os-exit", "recorded")  # an earlier job: no reason to end, nor to be lost
    assert zygote.wait(old) == 5
    (tmp_path / "store").unlink(missing_ok=True)  # with the address of a rank that is no more
    observer = observe(tmp_path)
    try:
        pids = [zygote.start(tmp_path, "stuck", str(rank), name=f"job{rank}") for rank in (0, 1)]
        wait_for(tmp_path / "ready0", tmp_path / "ready1")
        assert zygote.end(pids[1]) == -9
        wait_for(tmp_path / "rank_1", seconds=40)
        assert dump_of(tmp_path, 1)["recorder"]["by"] == "observer"
        zygote.end(pids[0])
        out, _ = observer.communicate(timeout=40)
    finally:
        observer.kill()
        observer.communicate()
    assert observer.returncode == 0
    assert f"rank 1: wrote {tmp_path}/rank_1: the process (pid {pids[1]}) is gone" in out


def test_nobody_waits_for_a_fifo_in_place_of_a_dump(zygote: Zygote, tmp_path: Path) -> None:
    assert zygote.run(tmp_path, "ends", "os-exit", "recorded") == 5
    for name in ("rank_0", "recorder/dump.request"):
        os.mkfifo(tmp_path / name)
    (tmp_path / "recorder" / "fault.r0.log").unlink()
    os.mkfifo(tmp_path / "recorder" / "fault.r0.log")
    done = python("-m", "recorder", "recover", str(tmp_path), timeout=30)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("recorder: rank 0: ")
    assert "no regular file" in done.stderr


def test_a_job_does_not_wait_for_a_fifo_in_place_of_its_files(zygote: Zygote, tmp_path: Path) -> None:
    (tmp_path / "recorder").mkdir()
    for name in ("ring.r0.frr", "dump.request"):
        os.mkfifo(tmp_path / "recorder" / name)
    pid = zygote.start(tmp_path, "works", "60")
    wait_for(tmp_path / "ready", seconds=20)
    os.utime(tmp_path / "recorder" / "dump.request")
    wait_for(tmp_path / "rank_0", seconds=10)
    assert zygote.end(pid) == -9


def test_rings_of_other_hosts_and_damaged_ones(
    zygote: Zygote, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert zygote.run(tmp_path, "ends", "os-exit", "recorded") == 5
    ring = tmp_path / "recorder" / "ring.r0.frr"
    data = ring.read_bytes()
    host = ringfile.read(data).header.host.encode()
    start = data.index(host)
    beat, where = ringfile.HEARTBEAT_AT, struct.calcsize("<8sIIQQQQ")

    def leave(rank: int, name: bytes, heartbeat: int) -> None:
        changed = bytearray(data)
        changed[start : start + len(host)] = name
        changed[where : where + 4] = rank.to_bytes(4, "little")
        changed[beat : beat + 8] = heartbeat.to_bytes(8, "little")
        (tmp_path / "recorder" / f"ring.r{rank}.frr").write_bytes(changed)

    assert ringfile.read_header(bytes(data)).rank == 0
    hour = 3600 * 10**9
    leave(0, host, time.time_ns() - hour)  # one that just died could be in another container
    leave(1, b"x" * len(host), time.time_ns() + hour)
    leave(2, b"x" * len(host), time.time_ns() - hour)
    (tmp_path / "recorder" / "ring.r3.frr").write_bytes(data[:5000])
    (tmp_path / "recorder" / "ring.r4.frr").write_bytes(b"something else")

    assert cli.main(["recover", str(tmp_path)]) == 1
    out, err = capsys.readouterr()
    assert f"rank 0: wrote {tmp_path}/rank_0 (3 calls)" in out
    assert "rank 1: still running" in out
    assert f"rank 2: wrote {tmp_path}/rank_2 (3 calls)" in out
    assert "ring.r3.frr: cut off" in err
    assert "ring.r4.frr: no ring file" in err
    assert cli.main(["dump", str(tmp_path)]) == 2
