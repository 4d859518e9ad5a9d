"""What the person looks at. Every key makes a new Selection; going back is a stack of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from frtui.model import NONE, Frame
from frtui.view.lacking import lacks

if TYPE_CHECKING:
    from frtui.engine.finding import Finding
    from frtui.view.index import Index

NAMES = ("findings", "ranks", "groups", "calls", "call")
"""The panes, in the order of their numbers."""

CALL, PROBLEMS, MISSING = "call", "problems", "missing"
ACROSS, WAITS, ALIGNED, MATRIX, TIMES, SOURCE = "across", "waits", "aligned", "matrix", "times", "source"
TOPICS = frozenset({ACROSS, WAITS, ALIGNED, MATRIX, TIMES, SOURCE})
"""What pane 5 can tell of beside the selected call; `topics` has a page for each."""


@dataclass(frozen=True)
class Selection:
    finding: int | None = None
    rank: int | None = None
    group: int | None = None
    """The group that the calls are restricted to; None: all of the rank's groups."""
    row: int | None = None
    """Row of the rank's entries; None where the rank has none, has no dump, or did not make the finding's call."""
    topic: str = CALL
    """What the Call pane tells of: CALL, PROBLEMS (what could not be read), MISSING (dumps), or one of TOPICS."""
    unfolded: bool = False
    """Torch's own and C++ frames are shown; in the matrix and the waits, a line for each rank; all aligned calls."""
    frame: Frame | None = None
    """Whose source the topic SOURCE shows."""


@dataclass(frozen=True)
class Trail:
    """A selection and those it was reached from."""

    now: Selection = Selection()
    past: tuple[Selection, ...] = ()
    roaming: bool = False
    """Reached by moving a cursor: going back skips all such steps at once."""

    def go(self, to: Selection) -> Trail:
        """To a place to stay at, and to come back to."""
        return Trail(to, self.past if to == self.now else (*self.past, self.now))

    def roam(self, to: Selection) -> Trail:
        """Along, as the cursor does; the way back leads to where the roaming began."""
        return Trail(to, self.past if self.roaming else (*self.past, self.now), True)

    def turn(self, to: Selection) -> Trail:
        """The same place, seen otherwise."""
        return replace(self, now=to)

    def back(self) -> Trail:
        """To where one came from; at the start, to all groups of the rank."""
        if self.past:
            return Trail(self.past[-1], self.past[:-1])
        return Trail(replace(self.now, group=None, topic=CALL))


def selected(findings: tuple[Finding, ...], now: Selection) -> Finding | None:
    """The finding that is selected; None where none is, or no longer there."""
    return findings[now.finding] if now.finding is not None and now.finding < len(findings) else None


def on_finding(index: Index, findings: tuple[Finding, ...], number: int) -> Selection:
    """All panes on what proves a finding: the call that it names, made or not, else what the blamed rank did last."""
    finding, job = findings[number], index.job
    if finding.focus and lacks(index, finding, finding.focus[0]):
        return Selection(number, finding.focus[0], finding.group)
    if finding.focus and finding.focus[0] in job.ranks and not _tells_without_calls(index, finding):
        rank, row = finding.focus
        return Selection(number, rank, job.ranks[rank].entries.group[row], row)
    rank = next(iter(finding.ranks or job.ranks or index.world), NONE)
    if rank == NONE:
        return Selection(number)
    return on_rank(index, Selection(number, rank, finding.group), rank, finding.seq if not finding.p2p else None)


def _tells_without_calls(index: Index, finding: Finding) -> bool:
    """The blamed rank made no call, but its threads' stacks say more than the call of somebody who waits for it."""
    blamed = index.job.ranks.get(next(iter(finding.ranks), NONE))
    return blamed is not None and not blamed.calls and bool(blamed.threads or blamed.error or blamed.alive is False)


def on_first(index: Index) -> Selection:
    """Where there is no finding: the first rank, all its groups."""
    rank = next(iter(index.world), None)
    return Selection() if rank is None else Selection(rank=rank, row=telling_row(index, rank, None))


def on_rank(index: Index, now: Selection, rank: int, seq: int | None = None) -> Selection:
    """The same group and the same call, seen from another rank, as far as it has them."""
    group = now.group
    if group is not None and rank not in index.job.groups[group].ranks and not index.rows(rank, group):
        group = None
    if seq is None and now.rank in index.job.ranks and now.row is not None and group is not None:
        entries = index.job.ranks[now.rank].entries
        seq = entries.seq[now.row] if entries.group[now.row] == group and not entries.p2p[now.row] else None
    row = index.row_of(rank, group, seq) if group is not None and seq is not None else NONE
    return replace(now, rank=rank, group=group, row=row if row >= 0 else telling_row(index, rank, group), topic=CALL)


def on_group(index: Index, now: Selection, group: int) -> Selection:
    """The calls of one group: by the same rank if it is a member, else by the first that has a dump."""
    members = index.job.groups[group].ranks
    rank = now.rank
    if rank not in members:
        rank = next((r for r in members if r in index.job.ranks), next(iter(members), rank))
    row = telling_row(index, rank, group) if rank is not None else None
    return replace(now, rank=rank, group=group, row=row, topic=CALL)


def on_row(now: Selection, row: int | None) -> Selection:
    return replace(now, row=row, topic=CALL)


def on_call(index: Index, now: Selection, rank: int, row: int) -> Selection:
    """One call of any rank, with its group."""
    return replace(now, rank=rank, row=row, group=index.job.ranks[rank].entries.group[row], topic=CALL)


def telling_row(index: Index, rank: int, group: int | None) -> int | None:
    """The first unfinished call of a rank, or else its last one."""
    ends = index.ends(rank)
    if group is not None:
        return ends.open.get(group, ends.last.get(group))
    return min(ends.open.values(), default=max(ends.last.values(), default=None))
