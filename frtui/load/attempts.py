"""Folders that hold the same ranks again (attempts) and folders that hold other ranks (nodes)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Callable, NamedTuple

from frtui.load.found import Found
from frtui.model import Problem
from frtui.text import clean

_ATTEMPT = re.compile(r"(?:attempt|restart|retry|try|run|generation|incarnation)[_\-.]?\d+$", re.IGNORECASE)


class Chosen(NamedTuple):
    files: list[Found]
    names: tuple[str, ...]
    """The attempts, oldest first; empty when there is only one."""
    name: str


def choose(files: Sequence[Found], wanted: str | None) -> Chosen:
    """The files of one attempt: `wanted`, or the newest.

    Folders with disjoint ranks are nodes of one job and stay together. Raises KeyError(names) when there is
    no attempt `wanted`.
    """
    classes = _split(files)
    if len(classes) < 2:
        inside = [f for f in files if wanted is None or wanted.rstrip("/") in (*_parts(f), f.folder)]
        if files and not inside:
            raise KeyError(())
        return Chosen(_with_hosts(inside), (), "")
    order = sorted(classes, key=lambda name: (max(f.mtime_ns for f in classes[name]), _natural(name)))
    shown = tuple(clean(name) or "." for name in order)
    if wanted is None:
        picked = len(order) - 1
    elif wanted.rstrip("/") in shown:
        picked = shown.index(wanted.rstrip("/"))
    else:
        raise KeyError(shown)
    return Chosen(_with_hosts(classes[order[picked]]), shown, shown[picked])


def one_per_rank(files: Iterable[Found], problems: list[Problem]) -> list[Found]:
    """The newest file of each rank, by rank; the others go to `problems`."""
    kept: dict[int, Found] = {}
    for file in sorted(files, key=lambda f: (f.rank, f.mtime_ns, f.name)):
        if file.rank in kept:
            older = kept[file.rank]
            detail = clean(f"rank {file.rank} is also in {file.name}, which is newer and was read")
            problems.append(Problem(clean(older.name), file.rank, "duplicate", detail))
        kept[file.rank] = file
    return list(kept.values())


def with_rings(files: Sequence[Found], problems: list[Problem]) -> tuple[list[Found], list[Found]]:
    """One file for each rank, by rank, and the rings of ranks that have a dump, which are no duplicates of it.

    A dump is the better witness: it was written in one go, and holds the threads' stacks.
    """
    dumps = one_per_rank((f for f in files if not f.ring), problems)
    ranks = {f.rank for f in dumps}
    alone = one_per_rank((f for f in files if f.ring and f.rank not in ranks), problems)
    spares = one_per_rank((f for f in files if f.ring and f.rank in ranks), [])
    return sorted([*dumps, *alone], key=lambda f: f.rank), spares


def _split(files: Sequence[Found]) -> dict[str, list[Found]]:
    """Files by attempt: by the first level of folders that tells the copies of a rank apart."""
    depth = max((len(_parts(f)) for f in files), default=0)
    for level in range(depth):
        classes = _classes(files, partial(_part, level=level))
        if len(classes) > 1 and _are_attempts(classes):
            return classes
    whole = _classes(files, lambda f: f.folder)
    return whole if len(whole) > 1 and _are_attempts(whole) else {"": list(files)}


def _parts(file: Found) -> list[str]:
    return file.folder.split("/") if file.folder else []


def _part(file: Found, level: int) -> str:
    return next(iter(_parts(file)[level:]), "")


def _classes(files: Iterable[Found], key: Callable[[Found], str]) -> dict[str, list[Found]]:
    classes: dict[str, list[Found]] = {}
    for file in files:
        classes.setdefault(key(file), []).append(file)
    return classes


def _are_attempts(classes: dict[str, list[Found]]) -> bool:
    """True when the classes repeat each other, and none repeats itself.

    One stale file among node folders makes no attempt: two classes have to share half of the smaller one.
    """
    ranks = {name: {f.rank for f in files} for name, files in classes.items()}
    if any(len(ranks[name]) < len({(f.rank, f.folder) for f in files}) for name, files in classes.items()):
        return False
    if all(_ATTEMPT.search(name) for name in classes):
        return True
    seen: set[int] = set()
    for own in sorted(ranks.values(), key=len, reverse=True):
        if 2 * len(own & seen) >= len(own):
            return True
        seen |= own
    return False


def _with_hosts(files: Sequence[Found]) -> list[Found]:
    """Where several folders make one job, the folder names the host that the file name does not."""
    folders = {f.folder for f in files}
    if len(folders) < 2:
        return list(files)
    level = _naming_level(folders)
    return [f if f.host else f._replace(host=clean(_level(f.folder, level))) for f in files]


def _naming_level(folders: set[str]) -> int:
    """The level at which the folders differ: the node's, in `node3/attempt_1`."""
    depth = max(folder.count("/") for folder in folders)
    return next((n for n in range(depth + 1) if len({_level(f, n) for f in folders}) > 1), depth)


def _level(folder: str, level: int) -> str:
    parts = folder.split("/")
    return parts[level] if level < len(parts) else parts[-1]


def _natural(name: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdecimal() and len(part) < 19 else (-1, part) for part in re.split(r"(\d+)", name)]
