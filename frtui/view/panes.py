"""The five panes for a job, its findings and a selection; and where a key in one of them leads."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from frtui.engine.finding import Finding
from frtui.model import Frame, Job
from frtui.stacks import call_site
from frtui.view import call, calls, fields, findings, groups, query, ranks, select
from frtui.view.index import Index
from frtui.view.lacking import MISSING_ROW
from frtui.view.rows import Linked, Page, Rows
from frtui.view.select import CALL, MISSING, PROBLEMS, SOURCE, Selection
from frtui.view.sorting import Sorting
from frtui.view.topics import PAGES


class Pane(NamedTuple):
    title: str
    rows: Rows
    key: int | None
    """Of the line that the cursor stands on; None: the first."""


class Panes:
    def __init__(self, job: Job, found: tuple[Finding, ...]) -> None:
        self.job, self.findings, self.index = job, found, Index(job)
        self.sorting = Sorting(self.index)
        self._made: tuple[Selection, Linked | None] | None = None
        """The last page of a topic, and of which selection."""

    def warm(self) -> None:
        """Computes beforehand, in the loader's thread, what the first screen needs."""
        for rank in self.job.ranks:
            self.index.ends(rank)
        ranks.rows(self.index, self.findings)
        groups.rows(self.index, self.findings)

    def first(self) -> Selection:
        return self.on_finding(0) if self.findings else select.on_first(self.index)

    def on_finding(self, number: int) -> Selection:
        return select.on_finding(self.index, self.findings, number)

    def pane(self, name: str, now: Selection, order: str = "") -> Pane:
        """`order` is one of `sorting.ORDERS`; empty: the pane's own."""
        rows, key, title = getattr(self, "_" + name)(now)
        rows, title = self.sorting.sort(name, now, order, rows, title)
        return Pane(title, rows, key)

    def _findings(self, now: Selection) -> tuple[Rows, int | None, str]:
        names = findings.note_names(self.job)
        key = len(self.findings) + names.index(now.topic) if now.topic in names else now.finding
        return findings.rows(self.job, self.findings), key, "1 Findings"

    def _ranks(self, now: Selection) -> tuple[Rows, int | None, str]:
        return ranks.rows(self.index, self.findings), now.rank, "2 Ranks"

    def _groups(self, now: Selection) -> tuple[Rows, int | None, str]:
        group = now.group
        if group is None and now.row is not None and now.rank in self.job.ranks:
            group = self.job.ranks[now.rank].entries.group[now.row]
        return groups.rows(self.index, self.findings), group, "3 Groups"

    def _calls(self, now: Selection) -> tuple[Rows, int | None, str]:
        finding = select.selected(self.findings, now)
        rows = calls.rows(self.index, now, finding)
        key = MISSING_ROW if now.row is None and isinstance(rows, calls.OneMissing) else now.row
        return rows, key, calls.title(self.index, now)

    def _call(self, now: Selection) -> tuple[Rows, int | None, str]:
        if now.topic == PROBLEMS:
            return findings.problems(self.job), None, "5 What could not be read"
        if now.topic == MISSING:
            return findings.missing(self.job), None, "5 Ranks without a dump"
        page = self.topic(now)
        if page is not None:
            return page, now.rank, PAGES[now.topic].title
        return call.page(self.index, self.findings, now), None, "5 Call"

    def sentences(self, width: int, most: int) -> int:
        """Lines that the longest summary takes."""
        pages = [findings.summary(self.findings, n, most) for n in range(len(self.findings))]
        for page in pages:
            page.fit(width)
        return max(map(len, pages), default=0)

    def summary(self, now: Selection, most: int) -> Page:
        return findings.summary(self.findings, now.finding or 0, most)

    def topic(self, now: Selection) -> Linked | None:
        """The page of the selection's topic, where it has one of its own."""
        topic = PAGES.get(now.topic)
        if topic is None:
            return None
        if self._made is None or self._made[0] != now or now.topic == SOURCE:  # a file, which may be another by now
            self._made = now, topic.page(self.index, self.findings, now)
        return self._made[1]

    def why_not(self, now: Selection) -> str:
        """What to say where a topic has no page."""
        topic = PAGES[now.topic]
        return topic.why_not(self.findings, now) if topic.why_not else topic.nothing

    def unfolds(self, now: Selection) -> bool:
        """Whether there is more of this topic's page to see."""
        return now.topic in PAGES and PAGES[now.topic].unfolds

    def rest(self, name: str, key: int, now: Selection) -> Selection:
        """Where the other panes follow when the cursor rests on a line."""
        if name == "findings":
            if key < len(self.findings):
                return now if key == now.finding and now.topic == CALL else self.on_finding(key)
            return replace(now, topic=findings.note_names(self.job)[key - len(self.findings)])
        if name == "ranks":
            return now if key == now.rank else select.on_rank(self.index, now, key)
        if name == "groups":
            return now if key == now.group else select.on_group(self.index, now, key)
        if name == "calls" and now.rank is not None and self.index.rows(now.rank, now.group):
            return select.on_row(now, None if key == MISSING_ROW else key)
        return now

    def open(self, name: str, key: int, now: Selection, frame: Frame | None = None) -> tuple[Selection, str]:
        """Where Enter leads, and the pane that goes on from there; from a line that tells of a frame, its source."""
        if frame is not None:
            return replace(now, topic=SOURCE, frame=frame), "call"
        if name == "call":
            page = self.topic(now)
            target = page.call_of(key) if page is not None and key >= 0 else None
            return (select.on_call(self.index, now, *target), "call") if target else (now, "call")
        onward = {"findings": "calls" if key < len(self.findings) else "call", "calls": "call"}.get(name, "calls")
        return self.rest(name, key, now), onward

    def site(self, name: str, now: Selection) -> Frame | None:
        """The source line that a pane is about: the finding's, or else where the selected call was made."""
        if now.topic == SOURCE:
            return now.frame
        finding = select.selected(self.findings, now)
        of = finding.site if finding else None
        if (name == "findings" and of) or now.row is None or now.rank not in self.job.ranks:
            return of
        return call_site(self.job.call(now.rank, now.row).stack)

    def turning(self, now: Selection) -> query.Test:
        """Whether a call of the selected rank, given by its row, is unfinished or deviates."""
        rank = now.rank if now.rank is not None else -1
        if not self.index.rows(rank, now.group):
            return lambda _row: False
        done = self.job.ranks[rank].entries.done
        return lambda row: row == MISSING_ROW or not done[row] or self.index.deviates(rank, row)

    def values(self, name: str, now: Selection) -> fields.Values:
        """What the lines of a pane have in the fields that a filter may name."""
        if name == "calls" and now.rank is not None and self.index.rows(now.rank, now.group):
            return fields.of_calls(self.index, now.rank)
        if name in ("ranks", "groups"):
            return fields.of_ranks(self.index) if name == "ranks" else fields.of_groups(self.index)
        return lambda _key, _field: None
