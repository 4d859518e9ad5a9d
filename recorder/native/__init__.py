"""torch's own buffer of this process, on demand: fetched, repaired, and written where torch would write it.

    from recorder import native
    native.dump()                       # now; the job goes on

torch keeps one buffer for NCCL (`_dump_nccl_trace`, in builds with CUDA), one for XPU's (`_dump_xccl_trace`) and one
for gloo (`_dump_fr_trace`, from 2.8), each off in torch before 2.11 unless TORCH_FR_BUFFER_SIZE is set.

Hazards, all of them in a process that may hang already:

- The first stacks that a process asks for make torch import some 850 modules (2.13: 1.4 s), with the GIL and import
  locks held, so that a thread that hangs in an import hangs this one too. Call `prewarm()` when the job starts, or
  ask for no stacks.
- NCCL's dump asks the device which calls have finished, which can block when the driver does, holding the GIL, and
  must not happen while another thread captures a CUDA graph. The pipe (`recorder.native.pipes`) makes NCCL's own
  thread do it.
- On gloo `only_active` leaves everything in, as nothing there is ever "completed", and a call that timed out is
  `retired` like one that finished.
"""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Iterable
from typing import Any

from recorder import files
from recorder.native import buffers, repair
from recorder.native.buffers import Switches, Unavailable
from recorder.setup import settings

__all__ = ["Unavailable", "available", "default_path", "dump", "fetch", "prewarm"]


def available() -> list[str]:
    """The buffers that this process can be asked for: `nccl`, `xccl`, `gloo`, and back ends that have one of their own.

    Empty without torch. That a buffer is there doesn't say that it is switched on.
    """
    return buffers.names()


def fetch(
    source: str | None = None,
    groups: Iterable[repair.Group] = (),
    /,
    *,
    include_collectives: bool = True,
    include_stack_traces: bool = True,
    only_active: bool = False,
) -> dict[str, Any]:
    """The buffer `source` as a dump in torch's shape, with the groups' names and members in `pg_config`.

    Without `source`, the first of `available()` that holds a call; a file has room for one buffer only. `groups` are
    further groups to name, such as destroyed ones, which torch's own tables have forgotten. Under `recorder` it says
    where it is from and what was left out. Raises Unavailable when there is nothing to fetch.
    """
    switches = Switches(include_collectives, include_stack_traces, only_active)
    name, taken = _first_with_calls([source] if source else buffers.names(), switches)
    fixed = repair.repaired(taken, [*buffers.torch_groups(), *groups], whole=not only_active)
    # torch's analyzer stops at a dump without any. They stand last, as in its own files: the rest is read without them.
    entries = fixed.pop("entries", [])
    return {**fixed, "recorder": _header(name, switches), "entries": entries}


def dump(
    path: files.Path | None = None,
    source: str | None = None,
    *,
    include_collectives: bool = True,
    include_stack_traces: bool = True,
    only_active: bool = False,
    groups: Iterable[repair.Group] = (),
) -> str:
    """`fetch` to a file: `path`, or torch's own name for this rank's. Returns the file that was written.

    That is another, in the sub-folder `recorder/`, when a richer dump is there already. Raises Unavailable when there
    is nothing to fetch or the rank isn't known, and OSError when the file can't be written.
    """
    made = fetch(
        source,
        groups,
        include_collectives=include_collectives,
        include_stack_traces=include_stack_traces,
        only_active=only_active,
    )
    return files.write_dump(default_path() if path is None else path, made)


def prewarm() -> bool:
    """Make torch import now what it needs for its first stack, 1 to 3 s of it; False where that can't be done.

    Call it once when the job starts, on a thread that may wait: later, in a hang, the import may never end.
    """
    profiler: Any = sys.modules.get("torch._C._profiler")
    try:
        profiler.symbolize_tracebacks([profiler.gather_traceback(True, False, False)])  # of Python, not of C++
    except (AttributeError, TypeError):  # these are no part of torch's API
        return False
    return True


def default_path() -> str:
    """Where torch itself would write this rank's dump. Raises Unavailable when the rank isn't known."""
    rank, _ = buffers.rank_and_world()
    if rank is None:
        raise Unavailable("the rank of this process isn't known: give a path, or set RANK")
    prefix = settings.value_of("dump_prefix", os.environ, buffers.release())
    return f"{prefix}{rank}"


def _first_with_calls(names: list[str], switches: Switches) -> tuple[str, dict[str, Any]]:
    """The first of the buffers that holds a call, or else that knows a group, or else the first."""
    if not names:
        raise Unavailable(buffers.why_none())
    empty: list[tuple[str, dict[str, Any]]] = []
    for name in names:
        taken = buffers.take(name, switches)
        if taken["entries"]:
            return name, taken
        empty.append((name, taken))
    known = [found for key in ("pg_status", "pg_config") for found in empty if found[1].get(key)]
    if not known:
        buffers.check_on(names)
    return (known or empty)[0]


def _header(source: str, switches: Switches) -> dict[str, Any]:
    rank, world_size = buffers.rank_and_world()
    left_out = {
        "calls": not switches.includeCollectives,
        "stacks": not switches.includeStackTraces,
        "finished calls": switches.onlyActive,
    }
    header = {
        "by": "rank",
        "reason": "torch's own buffer was asked for",
        "source": source,
        "rank": rank,
        "world_size": world_size,
        "host": socket.gethostname(),
        "pid": os.getpid(),
        "torch": buffers.version(),
        "dumped_ns": time.time_ns(),
        "left_out": [what for what, so in left_out.items() if so],
    }
    return {key: value for key, value in header.items() if value is not None}
