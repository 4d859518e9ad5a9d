"""All that is asked of torch about its own buffers, in whichever release: none of it is public, so all of it may lack.

torch is never imported here: a process that has not imported it has no buffer.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from recorder import files
from recorder.native import repair
from recorder.setup import settings

FUNCTIONS = {"nccl": "_dump_nccl_trace", "xccl": "_dump_xccl_trace", "gloo": "_dump_fr_trace"}
"""Each buffer's function in `torch._C._distributed_c10d`. Up to 2.14 that of gloo is everyone else's, too."""


class Unavailable(RuntimeError):
    """There is nothing to fetch; the message says why, and what to set."""


class Switches(NamedTuple):
    """In the order, and with the names, that torch's functions take."""

    includeCollectives: bool = True
    includeStackTraces: bool = True
    onlyActive: bool = False


def names() -> list[str]:
    return [name for name in FUNCTIONS if _function(name) is not None] + _hooked()


def take(name: str, switches: Switches) -> dict[str, Any]:
    """What torch says is in the buffer `name`, read without running anything. Raises Unavailable with the reason."""
    function = _function(name if name in FUNCTIONS else "gloo")
    if function is None or (name not in FUNCTIONS and name not in _hooked()):
        raise Unavailable(f"{_torch()} has no buffer {name!r}; it has: {', '.join(names()) or 'none'}")
    more = {} if name in FUNCTIONS else {"backend": name}
    try:
        taken = files.loads(called(function, switches, more))
    except (RuntimeError, TypeError, ValueError) as error:
        raise Unavailable(f"{_torch()} could not dump its buffer {name!r}: {error}") from error
    return narrowed(taken, switches)


def called(function: Any, switches: Switches, more: Mapping[str, str]) -> bytes:
    """torch's bytes, with the names of its arguments; or by their order, or without any, should another want that."""
    try:
        return bytes(function(**switches._asdict(), **more))
    except TypeError:
        pass
    try:
        return bytes(function(*switches, **more))
    except TypeError:
        return bytes(function(**more))


def narrowed(dump: Mapping[str, Any], switches: Switches) -> dict[str, Any]:
    """`dump` with no more than was asked for, should torch's function have taken no arguments."""
    entries = dump.get("entries", []) if switches.includeCollectives else []
    if switches.onlyActive:
        entries = [entry for entry in entries if entry.get("state") != "completed"]
    if not switches.includeStackTraces:
        entries = [{key: value for key, value in entry.items() if key != "frames"} for entry in entries]
    return {**dump, "entries": entries}


def torch_groups() -> list[repair.Group]:
    """The groups that this process is in, from torch's own tables; without those that were destroyed."""
    world = _world()
    members: Mapping[Any, Mapping[int, int]] = dict(getattr(world, "pg_group_ranks", {}))
    found: list[repair.Group] = []
    for group, name in dict(getattr(world, "pg_names", {})).items():
        local = members.get(group)
        if local:
            ranks = str(sorted(local, key=local.__getitem__))
            found.append({"name": str(name), "desc": str(getattr(group, "group_desc", "")), "ranks": ranks})
    return found


def rank_and_world() -> tuple[int | None, int | None]:
    """Of the default group, or as the launcher's environment has it."""
    dist: Any = sys.modules.get("torch.distributed")
    if dist is not None and dist.is_available() and dist.is_initialized():
        return int(dist.get_rank()), int(dist.get_world_size())
    rank, world = (os.environ.get(name, "") for name in ("RANK", "WORLD_SIZE"))
    return (int(rank) if rank.isdecimal() else None), (int(world) if world.isdecimal() else None)


def version() -> str:
    return str(getattr(sys.modules.get("torch"), "__version__", "0.0"))


def release() -> settings.Release:
    try:
        return settings.parse_release(version())
    except settings.BadValue:  # one that somebody built, perhaps
        return settings.NEWEST


def why_none() -> str:
    if "torch" not in sys.modules:
        return "torch is not imported in this process, so it has no buffer"
    if "torch._C._distributed_c10d" not in sys.modules:
        return f"{_torch()} was built without torch.distributed"
    return f"{_torch()} has no buffer to fetch: NCCL's needs a build with CUDA, gloo's came with torch 2.8"


def check_on(asked: Sequence[str]) -> None:
    """Raises Unavailable when `asked` are empty because all buffers are off, or they are of back ends not in use."""
    if _size() == 0:
        name = settings.name_for(settings.BY_KEY["buffer_size"], release())
        raise Unavailable(f"torch's buffer is off (its size is 0): set {name}=2000 in the job's environment")
    if not getattr(_world(), "pg_names", {}):
        raise Unavailable("torch has recorded nothing: there is no process group (yet) in this process")
    used = _back_ends()
    if used and not used.intersection(asked):
        raise Unavailable(
            f"no process group here uses {' or '.join(asked)}, but {', '.join(sorted(used))}; "
            f"{_torch()} has buffers for {', '.join(names())}"
        )


def _size() -> object:
    """Of the buffers, as torch reads it from the environment; None where it refuses what is there."""
    try:
        return settings.value_of("buffer_size", os.environ, release())
    except settings.BadValue:
        return None


def _function(name: str) -> Any:
    return getattr(sys.modules.get("torch._C._distributed_c10d"), FUNCTIONS[name], None)


def _hooked() -> list[str]:
    """Back ends with buffers of their own, where `_dump_fr_trace` takes the name of one (from torch 2.15)."""
    if "backend" not in (getattr(_function("gloo"), "__doc__", None) or ""):
        return []
    return sorted(_back_ends() - set(FUNCTIONS))


def _back_ends() -> set[str]:
    """Those of all groups, from texts like `cpu:gloo,cuda:nccl`."""
    configs = dict(getattr(_world(), "pg_backend_config", {})).values()
    return {part.split(":")[-1] for text in configs for part in str(text).split(",")}


def _world() -> Any:
    return getattr(sys.modules.get("torch.distributed.distributed_c10d"), "_world", None)


def _torch() -> str:
    return f"torch {version()}"
