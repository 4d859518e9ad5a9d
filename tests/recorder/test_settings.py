"""The tables of environment variables, and values as torch reads them."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

from recorder.setup.settings import (
    BY_KEY,
    FIRST,
    NEWEST,
    VARIABLES,
    BadValue,
    Release,
    Settings,
    default_for,
    default_prefix,
    from_environ,
    name_for,
    parse,
    parse_bool,
    parse_int,
    parse_release,
    value_of,
)
from recorder.setup.variables import OTHER_NAMES

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.parametrize("variable", VARIABLES, ids=lambda variable: variable.key)
def test_rows_are_consistent(variable: object) -> None:
    row = BY_KEY[variable.key]  # type: ignore[attr-defined]
    assert row is variable, "two rows have one key"
    assert [default.since for default in row.defaults] == sorted(default.since for default in row.defaults)
    assert row.defaults[0].since == min(name.since for name in row.names)
    assert name_for(row, NEWEST) == row.names[0].text or row.names[0].since > NEWEST
    for default in row.defaults:
        parse(row, default.value)  # raises where torch would


@pytest.mark.parametrize(
    ("key", "release", "name", "default"),
    [
        ("buffer_size", (2, 2), "TORCH_NCCL_TRACE_BUFFER_SIZE", "0"),
        ("buffer_size", (2, 7), "TORCH_NCCL_TRACE_BUFFER_SIZE", "0"),
        ("buffer_size", (2, 8), "TORCH_FR_BUFFER_SIZE", "0"),
        ("buffer_size", (2, 10), "TORCH_FR_BUFFER_SIZE", "0"),
        ("buffer_size", (2, 11), "TORCH_FR_BUFFER_SIZE", "2000"),
        ("buffer_size", (3, 0), "TORCH_FR_BUFFER_SIZE", "2000"),
        ("dump_on_timeout", (2, 6), "TORCH_NCCL_DUMP_ON_TIMEOUT", "false"),
        ("dump_on_timeout", (2, 7), "TORCH_NCCL_DUMP_ON_TIMEOUT", "true"),
        ("dump_prefix", (2, 7), "TORCH_NCCL_DEBUG_INFO_TEMP_FILE", ""),
        ("dump_prefix", (2, 14), "TORCH_FR_DUMP_TEMP_FILE", ""),
        ("cpp_stack", (2, 7), "TORCH_NCCL_TRACE_CPP_STACK", "false"),
        ("include_stacks", (2, 9), None, None),
        ("include_stacks", (2, 10), "TORCH_INCLUDE_STACK_TRACE", "true"),
        ("dynamic_file_name", (2, 9), None, None),
        ("propagate_error", (2, 6), None, None),
        ("pipe_file", (2, 2), None, None),
    ],
)
def test_names_and_defaults_by_release(key: str, release: Release, name: str | None, default: str | None) -> None:
    assert name_for(BY_KEY[key], release) == name
    assert default_for(BY_KEY[key], release) == default


@pytest.mark.parametrize(
    ("release", "environ", "prefix"),
    [
        ((2, 6), {"HOME": "/h", "XDG_CACHE_HOME": "/x"}, "/tmp/nccl_trace_rank_"),
        ((2, 7), {"HOME": "/h"}, "/h/.cache/torch/nccl_trace_rank_"),
        ((2, 8), {}, "/tmp/.cache/torch/nccl_trace_rank_"),
        ((2, 10), {"HOME": "/h", "XDG_CACHE_HOME": "/x"}, "/h/.cache/torch/comm_lib_trace_rank_"),
        ((2, 11), {"HOME": "/h", "XDG_CACHE_HOME": "/x"}, "/x/torch/comm_lib_trace_rank_"),
        ((2, 14), {"HOME": "/h"}, "/h/.cache/torch/comm_lib_trace_rank_"),
    ],
)
def test_default_prefix(release: Release, environ: dict[str, str], prefix: str) -> None:
    assert default_prefix(release, environ) == prefix
    assert value_of("dump_prefix", environ, release) == prefix


def test_torchs_bools() -> None:
    assert all(parse_bool(text) for text in ("1", "y", "Y", "yes", "t", "TRUE", "True"))
    assert not any(parse_bool(text) for text in ("0", "n", "NO", "f", "False"))
    for text in ("", "on", "off", "2", " 1", "1 ", "enabled"):
        with pytest.raises(BadValue):
            parse_bool(text)


def test_torchs_numbers() -> None:
    read = {"2000": 2000, " 7": 7, "-1": -1, "+3": 3, "2e3": 2, "20k": 20, "0x10": 0, "1.5": 1, "2147483647": 2**31 - 1}
    assert {text: parse_int(text) for text in read} == read
    for text in ("", "many", "2147483648", "-", "9" * 5000, "٣"):
        with pytest.raises(BadValue):
            parse_int(text)


def test_releases() -> None:
    assert parse_release("2.13.0+cpu") == (2, 13)
    assert parse_release("v2.7") == (2, 7)
    assert parse_release("2.10.0a0+git1234") == (2, 10)
    for text in ("", "2", "two", "2.", "2.1234", "\x1b[31m"):
        with pytest.raises(BadValue, match="no torch release") as caught:
            parse_release(text)
        assert str(caught.value).isprintable()


def test_the_newer_name_wins_where_the_release_knows_it() -> None:
    both = {"TORCH_FR_BUFFER_SIZE": "5", "TORCH_NCCL_TRACE_BUFFER_SIZE": "7"}
    assert value_of("buffer_size", both, (2, 8)) == 5
    assert value_of("buffer_size", both, (2, 7)) == 7
    assert from_environ(both).buffer_size == 5
    assert from_environ({"TORCH_NCCL_TRACE_BUFFER_SIZE": "7"}).buffer_size == 7


def test_the_recorders_own_settings() -> None:
    settings = from_environ({"HOME": "/h"})
    assert settings == from_environ({"HOME": "/h"}, NEWEST)
    assert (settings.requested, settings.buffer_size, settings.dump_on_timeout) == (False, 2000, True)
    assert settings.dump_prefix == "/h/.cache/torch/comm_lib_trace_rank_"
    assert settings.problems == ()
    set_ = from_environ(
        {
            "RECORDER": "1",
            "TORCH_FR_BUFFER_SIZE": "50",
            "TORCH_FR_DUMP_TEMP_FILE": "/d/rank_",
            "TORCH_NCCL_DUMP_ON_TIMEOUT": "no",
            "TORCH_FR_CPP_STACK": "t",
        }
    )
    assert set_ == Settings(True, 50, "/d/rank_", False, True, ())


def test_a_bad_value_is_told_and_the_default_stands_in() -> None:
    settings = from_environ({"TORCH_FR_BUFFER_SIZE": "many\x1b[2J", "TORCH_FR_CPP_STACK": "on"})
    assert (settings.buffer_size, settings.cpp_stack) == (2000, False)
    assert len(settings.problems) == 2
    assert all(problem.isprintable() for problem in settings.problems)
    assert from_environ({"TORCH_FR_BUFFER_SIZE": "-1"}).buffer_size == 0


def test_every_name_in_torchs_headers_is_known_here() -> None:
    found = importlib.util.find_spec("torch")
    headers = Path(found.origin or "").parent / "include/torch/csrc/distributed/c10d" if found else Path("absent")
    if not headers.is_dir():
        pytest.skip("no torch")
    text = "".join((headers / name).read_text() for name in ("FlightRecorder.hpp", "ProcessGroupNCCL.hpp"))
    names = set(re.findall(r'"((?:TORCH_NCCL|TORCH_FR|TORCH_INCLUDE|NCCL)_[A-Z_]+)"', text))
    known = {name.text for variable in VARIABLES for name in variable.names} | OTHER_NAMES
    assert len(names) > 20
    assert names - known <= {"NCCL_USE_TENSOR_REGISTER_ALLOCATOR_HOOK"}


def test_it_needs_only_the_standard_library() -> None:
    code = "import sys, recorder.setup.settings, recorder.setup.advice, recorder.setup.doctor; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-S", "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert not loaded & {"torch", "frtui", "textual", "rich", "numpy"}
    assert FIRST == (2, 2)
