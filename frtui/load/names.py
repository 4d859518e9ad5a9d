"""What a dump's file name says: the rank, and sometimes the host."""

from __future__ import annotations

import re
from typing import NamedTuple

from frtui.text import clean

MAX_RANK = 2**31 - 1

_SUFFIX = re.compile(r"(?:\.(?:pkl|pickle|json|gz|bin|dump|trace|pt))+$", re.IGNORECASE)
_LAST_INTEGER = re.compile(r"(\d+)\D*$")
_AFTER_RANK = re.compile(r"rank[_\-.]?(\d+)(?!.*rank[_\-.]?\d)", re.IGNORECASE)
_WORD = re.compile(r"(?:.*[_\-.]|^)(?:rank|trace|dump)(?=[_\-.]|$)", re.IGNORECASE)
# Prefixes that torch, its forks and the frameworks around it use by default: these name no host.
_GENERIC = re.compile(
    r"_*(?:[a-z]*ccl[a-z]?|comm_lib|torch\w*|fr|pg|flight_recorder)?[_\-.]?(?:trace|dump)?[_\-.]?", re.I
)
_AFTER_HOST = re.compile(r"[_\-.](?:[a-z]*ccl[a-z]?|comm_lib|flight_recorder)(?:[_\-.](?:trace|dump))?[_\-.]?$", re.I)
# Ascend writes `*_py_traceback`, torch's FIFOs are `*.pipe`; an NFS client leaves `.nfs*` behind.
_NEVER = re.compile(
    r"^\.|\.(?:pipe|tmp|swp|txt|log|out|err|md|html|csv|yaml|yml|py|sh|lock)$|~$|_py_traceback$", re.IGNORECASE
)
INDEX = "frtui.index"
"""What `frtui index` leaves beside the dumps; beside a single file, after its name."""

# The in-job recorder keeps its files in a folder beside the dumps.
RECORDER = "recorder"
_RING = re.compile(r"ring\.r(\d{1,10})\.frr")
_BESIDE_RING = re.compile(
    r"fault\.r\d+\.log|r\d+\.sock|dump\.request|(?:later|earlier)\d+\.r\d*\.pkl~|\.ring\.[0-9a-f]+\.tmp|ring\.r\d+\.earlier\d+\.frr~"
)


class Name(NamedTuple):
    rank: int
    host: str
    """Empty where the name gives none."""
    ring: bool = False
    """The recorder's ring file, which is no dump but can stand for one."""


def never_a_dump(name: str) -> bool:
    """Names of what lies beside dumps: logs, FIFOs, temporary files, Python stacks in text."""
    return bool(_NEVER.search(name))


def our_own(name: str) -> bool:
    """Names of what is kept beside dumps: an index, and the recorder's stacks, sockets, requests and poorer dumps."""
    return bool(_BESIDE_RING.fullmatch(name)) or name == INDEX or name.endswith("." + INDEX)


def home(folder: str) -> str:
    """The folder whose dumps a ring in `folder` stands in for."""
    outer, _, last = folder.rpartition("/")
    return outer if last == RECORDER else folder


def parse(name: str, prefix: str | None = None) -> Name | None:
    """Rank and host in the base name of a dump; None where it holds no rank, or not `prefix` before that.

    >>> parse("nccl_trace_rank_container-node02_5")
    Name(rank=5, host='container-node02', ring=False)
    >>> parse("host0.pci3_rank_7.pkl.gz")
    Name(rank=7, host='host0.pci3', ring=False)
    >>> parse("job7.nccl_trace_rank_5")
    Name(rank=5, host='job7', ring=False)
    >>> parse("_dump_3")
    Name(rank=3, host='', ring=False)
    >>> parse("ring.r3.frr")
    Name(rank=3, host='', ring=True)
    """
    start = name.find(prefix) if prefix else 0
    if start < 0:
        return None
    ring = _RING.fullmatch(name)
    if ring is not None:
        return Name(int(ring.group(1)), "", True) if int(ring.group(1)) <= MAX_RANK else None
    stem = _SUFFIX.sub("", name)
    before = name[:start]
    start += len(prefix or "")
    found = _rank(stem, start)
    if found is None:
        return None
    number = found.group(1)
    if len(number) > 10 or int(number) > MAX_RANK:
        return None
    head = stem[start : found.start(1)]
    return Name(int(number), clean((head or before).strip("_-.") if prefix else _host(head)))


def _rank(stem: str, start: int) -> re.Match[str] | None:
    """torch appends the rank to the prefix, so digits at the end are the rank; otherwise `rank_3` wins."""
    last = _LAST_INTEGER.search(stem, start)
    if last is None or last.end(1) == len(stem):
        return last
    return _AFTER_RANK.search(stem, start) or last


def _host(head: str) -> str:
    """The part of `prefix_HOST_` or `HOST_prefix_` that is not one of the usual prefixes."""
    word = _WORD.match(head)
    if word is None:
        return ""
    after = head[word.end() :].strip("_-.")
    if after:
        return after
    before = re.sub(r"[_\-.]?(?:rank|trace|dump)$", "", word.group(), flags=re.IGNORECASE)
    return "" if _GENERIC.fullmatch(before) else _AFTER_HOST.sub("", before).strip("_-.")
