"""Pane 1: one line for each cause, the most likely first; below them what could not be read."""

from __future__ import annotations

from frtui.engine.finding import POSSIBLE, Finding
from frtui.model import Job
from frtui.text import count
from frtui.view.rows import Keyed, Line, Page, Rows, cells, cut, pad, wrap
from frtui.view.words import BAD, DOUBT, OK, WARN, label, place, rank_list

NOTES = ("problems", "missing")
"""Lines after the findings, where there is something to note."""


def glyph(finding: Finding) -> tuple[str, str]:
    if finding.kind == "no-hang":
        return OK, "ok"
    unsure = finding.kind == "inconclusive" or finding.confidence == POSSIBLE
    return (DOUBT, "warn") if unsure else (BAD, "bad")


def call_name(job: Job, finding: Finding, width: int = 60) -> str:
    """`tp:7 all_reduce #85`; where there is no room for it, the group is shortened."""
    seq = "" if finding.seq is None else f"p2p #{finding.seq}" if finding.p2p else f"#{finding.seq}"
    call = " ".join(part for part in (finding.op, seq) if part)
    if finding.group is None:
        return call
    room = max(4, width - cells(call) - bool(call))
    return f"{label(job.groups[finding.group].label, room)} {call}".rstrip()


def rows(job: Job, findings: tuple[Finding, ...]) -> Rows:
    kinds = max((len(f.kind) for f in findings), default=0)
    sure = max((len(f.confidence) for f in findings), default=0)
    blamed = max((len(rank_list(f.ranks)) for f in findings), default=0)
    notes = note_names(job)

    def say(i: int, width: int) -> Line:
        if i >= len(findings):
            return note(job, notes[i - len(findings)])
        finding = findings[i]
        mark, role = glyph(finding)
        site = "  " + place(finding.site) if finding.site else ""
        # A line number that is cut would pass for another one: the group's name gives way.
        room = width - 2 - kinds - 1 - sure - 1 - (blamed + 1 if blamed else 0) - cells(site)
        return [
            (mark + " ", role),
            (pad(finding.kind, kinds + 1), "bold"),
            (pad(finding.confidence, sure + 1), "dim"),
            (pad(rank_list(finding.ranks), blamed + 1) if blamed else "", "bold"),
            (call_name(job, finding, room), "plain"),
            (site, "bold"),
        ]

    return Keyed(range(len(findings) + len(notes)), say)


def note_names(job: Job) -> list[str]:
    return [name for name, there in zip(NOTES, (job.problems, job.missing)) if there]


def note(job: Job, name: str) -> Line:
    if name == "problems":
        ignored = sum(p.problem == "skipped" for p in job.problems)
        empty = [p.rank for p in job.problems if p.problem == "no-entries"]
        read = len(job.problems) - ignored - len(empty)
        said = " and ".join(
            part
            for part in (
                f"{count(read, 'file')} could not be read as written" if read else "",
                empty_dumps(empty) if empty else "",
                f"{ignored} ignored" if ignored else "",
            )
            if part
        )
        return [(WARN + " ", "warn"), (said, "plain"), ("  Enter lists them", "dim")]
    missing = job.missing
    return [(WARN + " ", "warn"), (f"no dump from {rank_list(missing, 40)}", "plain"), ("  Enter tells more", "dim")]


def empty_dumps(ranks: list[int | None]) -> str:
    """`2 dumps are empty (ranks 9, 14)`: they were read, and hold no calls."""
    known = sorted({rank for rank in ranks if rank is not None})
    told = f" ({rank_list(known, 30)})" if known else ""
    return f"{count(len(ranks), 'dump')} {'is' if len(ranks) == 1 else 'are'} empty{told}"


def summary(findings: tuple[Finding, ...], number: int, most: int) -> Page:
    """The sentence of the finding under the cursor, in at most `most` lines."""

    def make(width: int) -> list[Line]:
        if number >= len(findings):
            return []
        lines = wrap(findings[number].summary, width - 2)
        if len(lines) > most:
            lines = [*lines[: most - 1], cut(lines[most - 1] + " …", width - 2)]
        return [[("  " + text, "plain")] for text in lines]

    return Page(make)


def problems(job: Job) -> Page:
    """Every file that was not read as written: which, how far, why and what to do."""

    def make(width: int) -> list[Line]:
        lines: list[Line] = []
        for p in job.problems:
            saved = "" if p.salvaged_entries is None else f", {count(p.salvaged_entries, 'entry')} read"
            rank = "" if p.rank is None else f"  rank {p.rank}"
            lines.append([(WARN + " ", "warn"), (p.file, "bold"), (rank, "plain"), (f"  {p.problem}{saved}", "warn")])
            lines += [[("  " + text, "plain")] for text in wrap(p.detail, width - 2)]
        return lines

    return Page(make)


def missing(job: Job) -> Page:
    """Ranks that are members of a group and left no dump, and in which groups."""

    def make(width: int) -> list[Line]:
        told = "These ranks are members of a group, but the folder has no readable dump of them."
        lines: list[Line] = [[(text, "plain")] for text in wrap(told, width)]
        groups: dict[int, list[str]] = {rank: [] for rank in job.missing}
        for group in job.groups:
            for rank in groups.keys() & group.ranks:
                groups[rank].append(group.label)
        for rank, labels in groups.items():
            first, *rest = wrap(f"in {', '.join(labels)}", width - 14)
            lines.append([(DOUBT + " ", "warn"), (f"rank {rank}".ljust(12), "bold"), (first, "plain")])
            lines += [[(" " * 14 + text, "plain")] for text in rest]
        return lines

    return Page(make)
