"""What is recorded and dumped with these settings, and why not."""

from __future__ import annotations

import os
from collections.abc import Iterator

from recorder.setup.finding import LOST, NOTE, OK, WARN, Finding
from recorder.setup.places import BYTES_PER_ENTRY, MEMORY_PER_ENTRY, check_folder, check_prefix, size_text
from recorder.setup.settings import (
    BY_KEY,
    DEFAULT_SIZE,
    VARIABLES,
    BadValue,
    Environ,
    Release,
    default_for,
    find,
    from_environ,
    name_for,
    parse,
    release_text,
    shown,
    value_of,
)

LARGE = 100_000
"""Entries from which the buffer size was probably meant in bytes (1048576 and 2097152 stand in public guides)."""
_GLOO_RECORDS = (2, 9)  # PR 152614 came in 2.8 or 2.9; seen in 2.13 and 2.14


class Values:
    """The values in force; where torch refuses one, the default, because `check_values` has told of it."""

    def __init__(self, environ: Environ, release: Release) -> None:
        self.environ = environ
        self.release = release

    def get(self, key: str) -> bool | int | str | None:
        try:
            return value_of(key, self.environ, self.release)
        except BadValue:
            text = default_for(BY_KEY[key], self.release)
            return None if text is None else parse(BY_KEY[key], text)

    def number(self, key: str) -> int:
        return int(self.get(key) or 0)

    def given(self, key: str) -> bool:
        return find(BY_KEY[key], self.environ, self.release) is not None

    def said(self, key: str) -> str:
        """The setting as it is set, or what it would be called."""
        found = find(BY_KEY[key], self.environ, self.release)
        if found:
            return f"{found.name}={shown(found.text)}"
        return f"{name_for(BY_KEY[key], self.release)} is not set"

    def ranks(self) -> int:
        """How many ranks write to one disk, as far as the environment says."""
        for name in ("LOCAL_WORLD_SIZE", "SLURM_NTASKS_PER_NODE"):
            if self.environ.get(name, "").isascii() and self.environ.get(name, "").isdigit():
                return min(max(int(self.environ[name][:6]), 1), 10_000)
        return 8


def check_values(values: Values) -> Iterator[Finding]:
    """Values that torch refuses, or reads otherwise than they look."""
    for variable in VARIABLES:
        found = find(variable, values.environ, values.release)
        if found is None or "cncl" in variable.backends or variable.key.startswith(("hook_", "nccl_")):
            continue
        said = f"{found.name}={shown(found.text)}"
        try:
            value = parse(variable, found.text)
        except BadValue as error:
            yield Finding(LOST, f"{said}: {error}; with this value the job fails or hangs at its first call")
            continue
        if variable.kind == "int" and str(value) != found.text.strip().lstrip("+"):
            yield Finding(WARN, f"{said} is read as {value}: torch takes the digits in front and ignores the rest")


def check_nccl(values: Values) -> Iterator[Finding]:
    """Torch's own recorder of NCCL."""
    yield from _buffer(values)
    on = bool(values.get("dump_on_timeout"))
    # `ProcessGroupNCCL.cpp` up to 2.6: dumpOnTimeoutOrEx_ is also true with DETAIL.
    if not on and values.release < (2, 7) and values.get("distributed_debug") == "DETAIL":
        yield Finding(OK, "a timeout is dumped, because of TORCH_DISTRIBUTED_DEBUG=DETAIL")
    elif not on:
        default = (
            "" if values.given("dump_on_timeout") else f", and torch {release_text(values.release)} doesn't by itself"
        )
        yield Finding(LOST, f"a timeout is not dumped: {values.said('dump_on_timeout')}{default}; set it to 1")
    else:
        yield Finding(OK, "a timeout is dumped, one file per rank")
    yield from _threads(values)


def _buffer(values: Values) -> Iterator[Finding]:
    size = values.number("buffer_size")
    if size <= 0:
        name = name_for(BY_KEY["buffer_size"], values.release)
        yield Finding(LOST, f"nothing is recorded: {values.said('buffer_size')}; set {name}=2000")
        return
    # `dumpDebuggingInfo` writes only if ProcessGroupNCCL's own number, which has only the older name, is above 0.
    if values.number("nccl_buffer_size") <= 0:
        yield Finding(LOST, f"recorded, but not dumped: {values.said('nccl_buffer_size')}; unset it")
        return
    yield Finding(OK, f"the last {size} calls of each rank are kept")
    if size >= LARGE:
        memory, dump = size_text(size * MEMORY_PER_ENTRY), size_text(size * BYTES_PER_ENTRY)
        yield Finding(
            WARN,
            f"{values.said('buffer_size')} counts calls, not bytes: "
            f"up to {memory} of memory and {dump} of dump per rank",
        )


def _threads(values: Values) -> Iterator[Finding]:
    """The watchdog and monitor threads, which notice a timeout and dump."""
    if values.get("blocking_wait"):
        yield Finding(LOST, f"{values.said('blocking_wait')}: no watchdog thread runs, and nobody dumps; unset it")
    if not values.get("monitoring"):
        if values.release < (2, 4):
            yield Finding(LOST, f"{values.said('monitoring')}: the thread that dumps is not started; set it to 1")
        else:
            yield Finding(
                WARN, f"{values.said('monitoring')}: dumps are written, but nothing ends a job that then hangs"
            )
    if values.given("async_error_handling") and values.number("async_error_handling") == 0:
        yield Finding(WARN, f"{values.said('async_error_handling')}: a rank that timed out goes on and is not ended")
    wait = values.number("dump_wait_ms")
    heartbeat = values.number("heartbeat_sec") * 1000
    if wait and heartbeat < wait:
        yield Finding(
            WARN, f"the heartbeat timeout ({heartbeat} ms) is shorter than the wait for a dump ({wait} ms): raise it"
        )
    if values.given("dump_wait_ms") and wait < 1000:
        yield Finding(WARN, f"{values.said('dump_wait_ms')} leaves no time for a dump with stacks")


def check_content(values: Values) -> Iterator[Finding]:
    """Settings that change what is in a dump, or how long it takes."""
    if values.get("include_stacks") is False:
        yield Finding(WARN, f"{values.said('include_stacks')}: dumps have no stacks, so no source line can be named")
    if values.get("only_active"):
        yield Finding(
            WARN, f"{values.said('only_active')}: finished calls are missing, so ranks can't be compared by history"
        )
    if values.get("cpp_stack"):
        yield from _cpp_stack(values)
    if values.get("timing"):
        yield Finding(NOTE, f"{values.said('timing')}: start times and durations are recorded, for some CPU time")
    if values.get("extra_dump"):
        yield Finding(
            NOTE, f"{values.said('extra_dump')}: also dumped on exceptions; the last dump overwrites those before"
        )
    if values.get("pipe_file"):
        yield from _pipe(values)


def _cpp_stack(values: Values) -> Iterator[Finding]:
    mode = values.get("symbolize_mode")
    if not values.given("symbolize_mode") and values.get("disable_addr2line"):
        mode = "dladdr"
    if mode == "addr2line":
        wait = values.number("dump_wait_ms")
        yield Finding(
            WARN,
            f"{values.said('cpp_stack')} with addr2line, which may take minutes; after {wait} ms torch dumps without "
            "any stacks. Set TORCH_SYMBOLIZE_MODE=fast",
        )
    else:
        yield Finding(NOTE, f"{values.said('cpp_stack')}: C++ frames are kept, named by {mode}")


def _pipe(values: Values) -> Iterator[Finding]:
    pipe = str(values.get("pipe_file"))
    folder = os.path.dirname(pipe) or "."
    if not os.path.isdir(folder):
        yield Finding(
            LOST, f"{values.said('pipe_file')}: the folder is not there, and torch ends the job over it; mkdir -p it"
        )
        return
    yield Finding(
        NOTE,
        f"any byte written to {shown(pipe)}<rank>.pipe asks for a dump; it is a named pipe, so a reader of it blocks",
    )


def check_files(values: Values) -> Iterator[Finding]:
    """Where dumps go."""
    prefix = str(values.get("dump_prefix"))
    given = values.given("dump_prefix")
    if values.get("dynamic_file_name"):
        yield from _dynamic(values, prefix, given)
    else:
        yield Finding(OK, f"files are called {shown(prefix)}<rank>" + ("" if given else " (the default)"))
        yield from check_prefix(prefix)
    ranks = values.ranks()
    size = max(values.number("buffer_size"), 0) * BYTES_PER_ENTRY * ranks
    yield from check_folder(prefix, given, size, ranks)


def _dynamic(values: Values, prefix: str, given: bool) -> Iterator[Finding]:
    said = values.said("dynamic_file_name")
    if not given:
        yield Finding(LOST, f"{said} needs a file name: set {name_for(BY_KEY['dump_prefix'], values.release)}")
    elif values.environ.get("RANK", "no rank") not in os.path.basename(prefix):
        yield Finding(
            LOST, f"{said}: every rank writes {shown(prefix)}, and one survives, unless the job changes it by rank"
        )
    else:
        yield Finding(OK, f"the file is called {shown(prefix)}; no rank is appended")


def check_gloo(values: Values) -> Iterator[Finding]:
    """Torch's own recorder of gloo, which keeps calls but has no thread that would dump them."""
    release = release_text(values.release)
    if values.release < _GLOO_RECORDS:
        yield Finding(NOTE, f"torch {release} records no gloo calls; this package's recorder does")
    elif values.number("buffer_size") <= 0:
        yield Finding(NOTE, f"nothing is recorded: {values.said('buffer_size')}")
    else:
        yield Finding(NOTE, "collectives are recorded, send and recv are not; torch writes no file when gloo times out")


def check_recorder(values: Values) -> Iterator[Finding]:
    """The recorder of this package."""
    settings = from_environ(values.environ, values.release)
    autoload = values.get("backend_autoload")
    if not settings.requested:
        yield Finding(NOTE, "off; RECORDER=1, or `torchrun -m recorder train.py`, switches it on, for any back end")
    elif autoload is None:
        yield Finding(
            LOST, f"RECORDER=1 needs torch 2.5; with torch {release_text(values.release)}: torchrun -m recorder"
        )
    elif not autoload:
        yield Finding(
            LOST, f"RECORDER=1 has no effect: {values.said('backend_autoload')} (torch wants exactly 1); unset it"
        )
    else:
        size = settings.buffer_size or DEFAULT_SIZE  # 0 switches torch's own recorder off, not this one
        yield Finding(OK, f"RECORDER=1: {size} calls are kept, dumps go to {shown(settings.dump_prefix)}<rank>")
