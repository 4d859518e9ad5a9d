"""What pane 5 can tell beside the selected call: each topic is a page, a title and a key of the screen."""

from __future__ import annotations

from typing import Callable, NamedTuple

from frtui.engine.finding import Finding
from frtui.view.across_page import AcrossPage
from frtui.view.index import Index
from frtui.view.rows import Linked
from frtui.view.select import ACROSS, Selection


class Topic(NamedTuple):
    title: str
    page: Callable[[Index, tuple[Finding, ...], Selection], Linked | None]
    """None where the selection gives it nothing to tell of."""
    nothing: str
    """Said then."""


def across(index: Index, findings: tuple[Finding, ...], now: Selection) -> AcrossPage | None:
    """The selected call on every member; where a finding is about a call that the rank lacks, that one."""
    made = index.job.call(now.rank, now.row) if now.rank in index.job.ranks and now.row is not None else None
    finding = findings[now.finding] if now.finding is not None else None
    if finding and finding.group is not None and finding.seq is not None and not finding.p2p:
        named = (finding.group, finding.seq)
        if made is None or (finding.focus == (made.rank, made.row) and named != (made.group, made.seq)):
            return AcrossPage(index, *named, None)
    return AcrossPage(index, made.group, made.seq, made) if made else None


TOPICS = {
    ACROSS: Topic("5 This call on every rank", across, "no call is selected"),
}
