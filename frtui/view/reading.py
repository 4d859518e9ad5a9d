"""What the panes say while the files are read."""

from __future__ import annotations

from bisect import bisect_left, insort

from frtui.model import Job
from frtui.text import clean, count, ranges
from frtui.view.rows import Line, Page, Rows, cells, cut_left, wrap
from frtui.view.words import DOUBT, OK, size

PATH = 24
"""Columns of the folder's name in the first line that the rest must leave."""


class Reading(Rows):
    """The ranks whose files have been read so far. The loader's thread adds, the screen looks."""

    def __init__(self) -> None:
        self.ranks: list[int] = []
        self.entries: dict[int, int] = {}

    def add(self, rank: int, entries: int) -> None:
        self.entries[rank] = entries
        at = bisect_left(self.ranks, rank)
        if at == len(self.ranks) or self.ranks[at] != rank:
            insort(self.ranks, rank)

    def __len__(self) -> int:
        return len(self.ranks)

    def line(self, i: int, width: int) -> Line:
        rank = self.ranks[i]
        return [(OK + " ", "dim"), (f"{rank:>4} ", "plain"), (f"{self.entries[rank]:,} entries", "dim")]


def progress(done: int, total: int, read: int, whole: int) -> str:
    files = f"{done:,} of {total:,} files" if total else f"{done:,} files"
    volume = f", {size(read)} of {size(whole)}" if whole else ""
    if done == total > 0:
        return f"read {count(done, 'file')}, {size(read)}; looking for the cause  Esc stops"
    return f"reading {files}{volume}  Esc stops"


def preliminary(sentences: list[str]) -> Page:
    """What the heads of the files say, in the place of the findings until there are any."""

    def make(width: int) -> list[Line]:
        lines: list[Line] = [
            [(DOUBT + " ", "warn"), ("preliminary", "bold"), ("  from pg_status; the entries are being read", "dim")]
        ]
        return lines + [[("  " + line, "plain")] for said in sentences for line in wrap(said, width - 2)]

    return Page(make)


def message(text: str, hint: str) -> Page:
    """A text in place of a job: why there is none, and what to do."""

    def make(width: int) -> list[Line]:
        lines: list[Line] = []
        for part in text.splitlines():
            indent = len(part) - len(part.lstrip())
            lines += [[(" " * indent + line, "plain")] for line in wrap(clean(part.strip()), width - indent)]
        return [*lines, [("", "plain")], [(hint, "bold")]]

    return Page(make)


def headline(job: Job, width: int, watching: bool = False) -> str:
    """The first line of the screen: what was read, and whether that is still going on."""
    source = clean(job.source)
    parts = [
        f"attempt {job.attempt} of {len(job.attempts)}" if job.attempt else "",
        f"watching, {len(job.ranks):,} of {count(len(job.world), 'rank')}" if watching else _ranks(job),
        count(len(job.groups), "group"),
        f"{job.n_entries:,} entries",
        "/".join(job.backends),
        ("version " + ", ".join(job.versions)) if job.versions else "",
    ]
    told = [part for part in parts if part]
    while len(told) > 1 and cells("  ".join(told)) + 2 + min(cells(source), PATH) > width:
        told.pop()
    rest = "  ".join(told)
    return f"{cut_left(source, max(PATH, width - cells(rest) - 2))}  {rest}"


def _ranks(job: Job) -> str:
    missing = f" of {len(job.world)}, no dump from {ranges(job.missing)}" if job.missing else ""
    return count(len(job.ranks), "rank") + missing
