"""A folder through all of frtui, as a person would go; and what has to hold whatever is in its files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from itertools import islice
from pathlib import Path
from random import Random

from frtui import entries, report
from frtui.arguments import FORMATS
from frtui.engine import diagnose
from frtui.engine.finding import Finding
from frtui.engine.quick import quick, sentences
from frtui.load import LoadError, load_heads
from frtui.model import Job
from frtui.stored import open_job
from frtui.view import select
from frtui.view.fields import OF_PANE
from frtui.view.panes import Panes
from frtui.view.rows import Rows, plain
from frtui.view.select import MISSING, NAMES, PROBLEMS, TOPICS, Selection
from frtui.view.sorting import ORDERS

UNSAFE = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
MOST_LINES = 12
"""Of a pane."""
MOST_OUTPUT = 200 << 20
ALLOWED = {"http-equiv", "content", "charset", "name", "lang", "open", "class"}
"""Attributes of HTML, none of which loads or runs anything."""


class Broken(AssertionError):
    """Something does not hold."""


def check(folder: Path, healthy: dict[int, list[int]], chance: Random) -> None:
    """Raises whatever is wrong. `healthy`: ranks whose files were left alone, and their sequence numbers."""
    heads(folder)
    try:
        found = open_job(folder)
    except LoadError as error:
        if healthy:
            raise Broken("healthy ranks were not read") from error
        safe("the error", str(error))
        return
    job = found.job
    safe("the note", found.note)
    for problem in job.problems:
        if "fault in frtui" in problem.detail:
            raise Broken(problem.detail)
    for rank, seqs in healthy.items():
        if rank not in job.ranks or list(job.ranks[rank].entries.seq) != seqs:
            raise Broken(f"rank {rank}, which nobody touched, was read as something else")
    findings = tuple(diagnose(job))
    for judged in dict.fromkeys((findings, found.findings or findings)):
        outputs(job, judged)
        screen(job, judged, chance)


def heads(folder: Path) -> None:
    try:
        job = load_heads(folder)
    except LoadError:
        return
    if job is not None:
        for said in sentences(job, quick(job)):
            safe("the heads", said)


def outputs(job: Job, findings: tuple[Finding, ...]) -> None:
    for name in FORMATS:
        data = report.render(job, findings, name)
        safe(name, data.decode())
        if name == "html":
            Page().feed(data.decode())
    for name in ("table", "json", "csv"):
        for stack in (False, True):
            size = 0
            for piece in entries.render(job, name, None, None, stack):
                safe(name, piece.decode())
                size += len(piece)
                if size > MOST_OUTPUT:
                    raise Broken(f"entries as {name} are endless")


def screen(job: Job, findings: tuple[Finding, ...], chance: Random) -> None:
    panes = Panes(job, findings)
    panes.warm()
    for now in selections(panes, chance):
        for name in NAMES:
            for order in chance.sample(("", *ORDERS.get(name, ())), 1):
                look(panes, name, now, order, chance)
        panes.summary(now, 4).fit(80)
        panes.site("call", now)


def selections(panes: Panes, chance: Random) -> Iterator[Selection]:
    job, topics = panes.job, (*sorted(TOPICS), PROBLEMS, MISSING)
    yield panes.first()
    starts = [panes.on_finding(number) for number in range(min(3, len(panes.findings)))]
    starts += [select.on_rank(panes.index, panes.first(), rank) for rank in list(job.world)[:2] + list(job.world)[-1:]]
    groups = range(len(job.groups))
    starts += [select.on_group(panes.index, panes.first(), g) for g in chance.sample(groups, min(2, len(groups)))]
    for rank in list(job.ranks)[:3]:
        rows = job.ranks[rank].calls
        starts += [
            select.on_call(panes.index, panes.first(), rank, row) for row in chance.sample(rows, min(2, len(rows)))
        ]
    for start in chance.sample(starts, min(4, len(starts))):
        for topic in ("call", chance.choice(topics)):
            unfolded = chance.random() < 0.5
            yield Selection(
                start.finding, start.rank, start.group, start.row, topic, unfolded, panes.site("call", start)
            )


def look(panes: Panes, name: str, now: Selection, order: str, chance: Random) -> None:
    pane = panes.pane(name, now, order)
    safe(name, pane.title)
    width = chance.choice([38, 80, 160])
    pane.rows.fit(width)
    size = len(pane.rows)
    lines = {*range(min(size, MOST_LINES)), *range(max(0, size - 5), size)}
    for number in lines:
        safe(name, plain(pane.rows.line(number, width)))
        safe(name, pane.rows.text(number))
    for line in pane.rows.head(width):
        safe(name, plain(line))
    if lines:
        go_on(panes, name, pane.rows, now, chance)


def go_on(panes: Panes, name: str, rows: Rows, now: Selection, chance: Random) -> None:
    """What moving the cursor and Enter do."""
    place = chance.randrange(len(rows))
    key = rows.key(place)
    rows.position(key)
    there, _ = panes.open(name, key, now, rows.frame(place))
    panes.rest(name, key, now)
    panes.turning(there)(key) if name == "calls" else None
    values = panes.values(name, now)
    for field in OF_PANE.get(name, ()):
        for number in islice(range(len(rows)), 5):
            values(rows.key(number), field)


def safe(what: str, text: str) -> None:
    found = UNSAFE.search(text)
    if found:
        raise Broken(f"{what} holds {found.group()!r}: {text[max(0, found.start() - 30) : found.end() + 30]!r}")


class Page(HTMLParser):
    """Refuses whatever could load or run something."""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("script", "img", "a", "link", "iframe", "form", "object") or {name for name, _ in attrs} - ALLOWED:
            raise Broken(f"HTML has <{tag} {attrs}>")
