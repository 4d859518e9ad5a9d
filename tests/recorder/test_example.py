"""The example that everything starts from, `recorder/examples/crash.py`: what frtui and torch's analyzer say of it."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from contextlib import ExitStack
from importlib import metadata
from pathlib import Path

import pytest

from tests.recorder.running import PREFIX, ROOT, analyzed, needs_torch, python, recorder, running, torchrun, wait_for

pytestmark = needs_torch

EXAMPLE = "recorder.examples.crash"
SOURCE = (ROOT / "recorder" / "examples" / "crash.py").read_text(encoding="utf-8").splitlines()
EXTRA = 1 + next(n for n, line in enumerate(SOURCE) if "all_reduce(b)" in line)
WAYS = ("module", "variable", "both")


def _autoloads() -> bool:
    """Whether torch would call the recorder by itself: it was installed, not only put on the path."""
    return any(
        point.value == "recorder.autoload:autoload"
        for installed in metadata.distributions()
        for point in installed.entry_points
        if point.group == "torch.backends"
    )


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """What the example left, by how the recorder was switched on."""
    found = {way: tmp_path_factory.mktemp(way) for way in WAYS if way == "module" or _autoloads()}
    with ExitStack() as stack:
        jobs = []
        for way, folder in found.items():
            # Without GPUs it is gloo that the test knows.
            more = {"CUDA_VISIBLE_DEVICES": "", "TORCH_FR_BUFFER_SIZE": "2000"}
            if way == "variable":
                more.update(RECORDER="1", TORCH_FR_DUMP_TEMP_FILE=str(folder / PREFIX))
            elif way == "both":  # what is asked for on the command line counts
                more.update(RECORDER="1", TORCH_FR_DUMP_TEMP_FILE=str(folder / "elsewhere" / PREFIX))
            on = [] if way == "variable" else recorder(folder)
            # The launcher stops a rank that is not quick enough to say why it ends: it shall look once a second.
            command = torchrun(2, "--monitor-interval", "1", *on, "-m", EXAMPLE)
            jobs.append((stack.enter_context(running(command, folder / "job.log", **more)), folder / "job.log"))
        for job, log in jobs:
            wait_for(lambda job=job: job.poll() is not None, log)  # type: ignore[misc]
            assert job.returncode, "it should not have ended well"
    return found


@pytest.fixture(params=WAYS)
def folder(request: pytest.FixtureRequest, folders: dict[str, Path]) -> Path:
    if request.param not in folders:
        pytest.skip("frtui isn't installed here, so torch doesn't load its recorder")
    return folders[request.param]


def test_the_report_names_the_call_that_rank_1_did_not_join(folder: Path) -> None:
    done = _frtui("report", str(folder), "--format", "json")
    assert done.returncode == 1, done.stderr
    finding = json.loads(done.stdout)["verdict"]
    assert finding["op"] == "all_reduce"
    assert finding["seq"] == 3
    assert finding["call_site"].endswith(f"crash.py:{EXTRA}"), finding["summary"]
    assert "rank 1" in finding["summary"]
    assert "[4, 5]" in finding["summary"]


def test_the_rank_that_gloo_let_live_says_why_it_ended(folder: Path) -> None:
    """gloo ends the rank that gets too much by SIGABRT; the other one hears that the connection is gone."""
    dumps = [pickle.loads(path.read_bytes()) for path in folder.glob(f"{PREFIX}*")]
    by_itself = [dump for dump in dumps if dump["recorder"]["by"] == "rank"]
    assert by_itself
    for dump in by_itself:
        reasons = [dump["recorder"]["reason"], *dump["recorder"]["later_reasons"]]
        assert any("RuntimeError" in reason for reason in reasons), reasons
        assert [entry["input_sizes"] for entry in dump["entries"][:2]] == [[[3, 4]]] * 2


def test_torch_s_analyzer_blames_the_same_rank(folders: dict[str, Path]) -> None:
    """Once `recorder recover` has made a dump of the rank that was killed: torch's analyzer reads no rings."""
    folder = folders["module"]
    recovered = python("-m", "recorder", "recover", str(folder))
    assert recovered.returncode == 0, recovered.stderr
    assert sorted(path.name for path in folder.glob(f"{PREFIX}*")) == [f"{PREFIX}0", f"{PREFIX}1"], recovered.stdout
    done = analyzed(folder, "-p", PREFIX)
    said = " ".join((done.stdout + done.stderr).split())
    assert "Collective sequence number: 3 has errors" in said
    assert "Culprit rank 1" in said
    assert f"crash.py:{EXTRA}" in said


def _frtui(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "frtui", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
