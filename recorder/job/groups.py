"""Process groups as the records name them, and their sequence numbers.

A group is known by the identity of its Python object, which lives as long as torch knows the group; holding the
object here would keep the group, its threads and its sockets alive after it was destroyed.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator
from functools import partial
from typing import Any, Callable

UNDEFINED = "undefined"
"""torch's own description of a group that was given none."""


class Group:
    """One process group on this rank."""

    __slots__ = (
        "collective_seq",
        "completed",
        "desc",
        "name",
        "number",
        "op_id",
        "p2p_seq",
        "rank",
        "ranks",
        "timeout",
    )

    def __init__(self, number: int, pg: Any) -> None:
        self.number = number
        self.name = str(_attribute(pg, "group_name") or number)
        self.desc = str(_attribute(pg, "group_desc") or UNDEFINED)
        self.ranks = _ranks(pg)
        self.rank = int(pg.rank())
        self.timeout = _timeout_ms(pg)
        self.collective_seq = self.p2p_seq = self.op_id = 0
        self.completed = -1
        """Record of a late collective that is known to be over: those before it are too."""


class Groups:
    """The groups that this rank has used or torch has listed, by the identity of torch's object."""

    def __init__(self, told: Callable[[Group], None]) -> None:
        self._told = told
        self._known: dict[int, Group] = {}
        self._references: dict[int, weakref.ref[Any]] = {}
        self._made = 0
        self._lock = threading.RLock()

    def of(self, pg: Any) -> Group:
        return self._known.get(id(pg)) or self._add(pg)

    def refresh(self) -> None:
        """Take in groups that were made but not used yet: a rank that hangs before its first call is a member too."""
        for pg in _listed():
            if id(pg) not in self._known:
                self._add(pg)

    def _add(self, pg: Any) -> Group:
        identity = id(pg)
        with self._lock:  # the watch thread may find a group while its first call is made: it must not be two
            known = self._known.get(identity)
            if known is not None:
                return known
            group = Group(self._made, pg)
            self._made += 1
            self._known[identity] = group
            # Not a method of ours: that would be a cycle, and jobs that switch the collector off would keep it.
            self._references[identity] = weakref.ref(pg, partial(_forget, identity, self._known, self._references))
            self._told(group)
            return group

    def close(self) -> None:
        """The session is over. Lets go of who is told, who holds this."""
        self._told = lambda group: None

    def __iter__(self) -> Iterator[Group]:
        return iter(list(self._known.values()))


def _forget(identity: int, *tables: dict[int, Any] | Any) -> None:
    for table in tables[:2]:  # the last one is the dead reference
        table.pop(identity, None)


def library(pg: Any, device: str) -> str:
    """The back end of `pg` for tensors on `device`, in lower case: `gloo`, `nccl`, `fake`."""
    if device:
        try:
            return str(pg._get_backend(_torch_device(device)).name()).lower()
        except (AttributeError, RuntimeError, TypeError):
            pass
    return str(_attribute(pg, "name") or "unknown").lower()


def _torch_device(kind: str) -> Any:
    import torch

    return torch.device(kind)


def _listed() -> list[Any]:
    """The groups whose members torch has written down, which it does last when it makes one."""
    from torch.distributed import distributed_c10d

    world = getattr(distributed_c10d, "_world", None)
    return [pg for pg in list(getattr(world, "pg_group_ranks", ())) if hasattr(pg, "rank")]


def _ranks(pg: Any) -> list[int]:
    """Global ranks in group-local order. torch keeps them by group; a group it doesn't list is counted."""
    from torch.distributed import distributed_c10d

    world = getattr(distributed_c10d, "_world", None)
    local = getattr(world, "pg_group_ranks", {}).get(pg)
    if local:
        return sorted(local, key=local.__getitem__)
    return list(range(int(pg.size())))


def _timeout_ms(pg: Any) -> int:
    """Of the group's first back end; 0 where it doesn't say."""
    for kind in _attribute(pg, "_device_types") or ():
        try:
            return int(pg._get_backend(kind).options._timeout.total_seconds() * 1000)
        except (AttributeError, RuntimeError, TypeError):
            continue
    return 0


def _attribute(pg: Any, name: str) -> Any:
    """`pg.name`, called where it is a function; None where this release has none or it raises."""
    try:
        value = getattr(pg, name)
        return value() if callable(value) else value
    except (AttributeError, RuntimeError, TypeError, ValueError):
        return None
