"""What pane 5 can tell beside the selected call: each topic is a page, a title and a key of the screen."""

from __future__ import annotations

from typing import Callable, NamedTuple

from frtui.engine.finding import Finding
from frtui.view.across_page import AcrossPage
from frtui.view.aligned import aligned, why_not
from frtui.view.index import Index
from frtui.view.lacking import left_alone
from frtui.view.matrix import matrix
from frtui.view.rows import Linked
from frtui.view.select import ACROSS, ALIGNED, MATRIX, SOURCE, TIMES, WAITS, Selection, selected
from frtui.view.source import SourcePage
from frtui.view.times import times
from frtui.view.waits_page import waits


class Topic(NamedTuple):
    title: str
    page: Callable[[Index, tuple[Finding, ...], Selection], Linked | None]
    """None where the selection gives it nothing to tell of."""
    nothing: str
    """Said then."""
    unfolds: bool = False
    """`c` shows more of this page; else it leads to the stack of the call."""
    why_not: Callable[[tuple[Finding, ...], Selection], str] | None = None
    """Says it where the reason depends on what is selected."""


def across(index: Index, findings: tuple[Finding, ...], now: Selection) -> AcrossPage | None:
    """The selected call on every member; where a finding is about a call that the rank lacks, that one."""
    made = index.job.call(now.rank, now.row) if now.rank in index.job.ranks and now.row is not None else None
    finding = selected(findings, now)
    blamed = finding.ranks if finding else ()
    if finding and finding.group is not None and finding.seq is not None and not finding.p2p:
        named = (finding.group, finding.seq)
        if made is None or (finding.focus == (made.rank, made.row) and named != (made.group, made.seq)):
            return AcrossPage(index, *named, None, blamed)
    if finding and finding.p2p and made is None:
        # The numbers of sends and recvs are each rank's own: who waits in one shows what is missing.
        made = next((index.job.call(*alone) for alone in left_alone(index, finding)), None)
    return AcrossPage(index, made.group, made.seq, made, blamed) if made else None


def source(index: Index, findings: tuple[Finding, ...], now: Selection) -> SourcePage | None:
    """The lines around a frame's; shown by Enter on the frame, not by a key of its own."""
    return SourcePage(now.frame) if now.frame else None


PAGES = {
    ACROSS: Topic("5 This call on every rank", across, "no call is selected"),
    MATRIX: Topic("5 Ranks by groups", matrix, "there are no ranks", unfolds=True),
    TIMES: Topic("5 Times", times, "there are no calls"),
    WAITS: Topic("5 Who waits for whom", waits, "nobody waits here", unfolds=True),
    ALIGNED: Topic("5 Beside its witnesses", aligned, "nothing to compare", unfolds=True, why_not=why_not),
    SOURCE: Topic("5 Source", source, "no source line is selected"),
}
