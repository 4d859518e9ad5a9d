"""The folder that dumps go to: is it there, can it be written, who else sees it, and is there room."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from typing import NamedTuple

from recorder.setup.finding import LOST, NOTE, OK, WARN, Finding
from recorder.setup.settings import shown

BYTES_PER_ENTRY = 300
"""In a dump with Python stacks: 1,024 ranks x 2,000 entries were 590 MB. Stacks are shared, so few sites take less."""
MEMORY_PER_ENTRY = 1100
"""In the process: measured with 20,000 entries of torch 2.13 on gloo."""

_MEMORY = frozenset({"tmpfs", "ramfs"})
_CONTAINER = frozenset({"overlay", "aufs", "overlayfs", "fuse-overlayfs", "fuse.fuse-overlayfs"})
_SHARED = frozenset(
    {
        "nfs",
        "nfs4",
        "lustre",
        "gpfs",
        "beegfs",
        "beegfs_nodev",
        "ceph",
        "cifs",
        "smb3",
        "smbfs",
        "9p",
        "wekafs",
        "glusterfs",
        "pvfs2",
        "orangefs",
        "afs",
        "panfs",
        "virtiofs",
        "vastnfs",
        "quobyte",
        "daos",
    }
)


class Mount(NamedTuple):
    point: str
    kind: str


def check_folder(prefix: str, given: bool, size: int, ranks: int) -> Iterator[Finding]:
    """`given`: set by the user, so that torch does not make the folder. `size`: bytes of all dumps that go there."""
    folder = os.path.dirname(prefix) or "."
    there = os.path.isdir(folder)
    if given and not there:
        yield Finding(
            LOST, f"the folder {shown(folder)} is not there, and torch does not make it: mkdir -p it{_hint(prefix)}"
        )
        return
    nearest = _nearest(folder)
    if not os.access(nearest, os.W_OK | os.X_OK):
        yield Finding(LOST, f"{shown(nearest)} can't be written by this user; choose another prefix")
        return
    yield Finding(OK, f"{shown(folder)} can be written" if there else f"{shown(folder)} can be made; torch does that")
    yield from _check_mount(nearest)
    yield from _check_room(nearest, size, ranks)


def check_prefix(prefix: str) -> Iterator[Finding]:
    """Whether names made of `prefix` and a rank can be told apart and found again."""
    name = os.path.basename(prefix)
    if not prefix:
        yield Finding(WARN, "the prefix is empty: files are called 0, 1, 2 in the folder where the job runs")
        return
    if not os.path.isabs(prefix):
        yield Finding(WARN, f"{shown(prefix)} is relative to the folder where the job runs; give an absolute path")
    if not name:
        yield Finding(WARN, f"the prefix ends in '/': files are called 0, 1, 2; write {shown(prefix)}rank_")
    elif name[-1].isdigit():
        yield Finding(
            WARN, f"the prefix ends in a digit: of {shown(name)}12 nobody can tell the rank; add an underscore"
        )
    elif os.path.isdir(prefix):
        yield Finding(WARN, f"{shown(prefix)} is a folder, but files go beside it, as {shown(name)}0; add /rank_")


def _hint(prefix: str) -> str:
    return "; torch does not expand ~ or $ either" if prefix.startswith("~") or "$" in prefix else ""


def _nearest(folder: str) -> str:
    """`folder`, or the nearest one above that exists."""
    folder = os.path.abspath(folder)
    while not os.path.isdir(folder) and os.path.dirname(folder) != folder:
        folder = os.path.dirname(folder)
    return folder


def _check_mount(folder: str) -> Iterator[Finding]:
    mount = mount_of(os.path.realpath(folder), read_mounts())
    if mount is None:
        return
    where = f"{shown(folder)} is on {shown(mount.kind, 20)}"
    if mount.kind in _MEMORY:
        yield Finding(WARN, f"{where}, in memory: gone when the node or container ends; choose a shared folder")
    elif mount.kind in _CONTAINER:
        yield Finding(WARN, f"{where}, the container's own disk: gone when it ends; mount a volume and write there")
    elif mount.kind in _SHARED or mount.kind.startswith("fuse."):
        yield Finding(OK, f"{where}, which other nodes can see")
    else:
        yield Finding(
            NOTE, f"{where}, this node's own disk: with several nodes, copy the files together or share a folder"
        )


def _check_room(folder: str, size: int, ranks: int) -> Iterator[Finding]:
    try:
        free = shutil.disk_usage(folder).free
    except OSError:
        return
    who = "1 rank" if ranks == 1 else f"{ranks} ranks"
    said = f"{size_text(free)} are free; full buffers of {who} take about {size_text(size)}"
    if free < size:
        yield Finding(LOST, f"{said}: dumps would be cut; make room or keep fewer entries")
    elif free < 4 * size:
        yield Finding(WARN, said)


def read_mounts(path: str = "/proc/mounts") -> list[Mount]:
    """The mounted file systems; none where the system has no such list."""
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            parts = [line.split(" ") for line in file]
    except OSError:
        return []
    return [Mount(_unescape(part[1]), part[2]) for part in parts if len(part) > 2]


def mount_of(folder: str, mounts: list[Mount]) -> Mount | None:
    """The one that holds `folder`: the deepest, and of equal ones the last, which covers those before."""
    best = None
    for mount in mounts:
        point = mount.point.rstrip("/")
        inside = folder == point or folder.startswith(point + "/")
        if inside and (best is None or len(point) >= len(best.point.rstrip("/"))):
            best = mount
    return best


def _unescape(text: str) -> str:
    """Blanks and backslashes stand as octal numbers in /proc/mounts."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), text)


def size_text(number: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if number < 1000:
            return f"{number:.0f} {unit}" if number >= 10 or unit == "B" else f"{number:.1f} {unit}"
        number /= 1000
    return f"{number:.1f} TB"
