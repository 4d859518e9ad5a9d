"""Where the person is after the folder was read again: at the same call, as far as it is still there."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from frtui.model import NONE, Rank
from frtui.view import findings
from frtui.view.select import CALL, TOPICS, Selection, Trail, selected, telling_row

if TYPE_CHECKING:
    from frtui.view.panes import Panes


def again(before: Panes, after: Panes, then: Selection) -> Trail:
    """From a topic, the way back leads to the call that it was asked from."""
    if before.job.attempt != after.job.attempt:
        return Trail(after.first())
    number = _same_finding(before, after, then)
    base = replace(then, topic=CALL, unfolded=False, frame=None)
    untouched = base == (before.first() if then.finding is None else before.on_finding(then.finding))
    if untouched:
        place = after.first() if number is None else after.on_finding(number)
    else:
        place = _place(before, after, replace(base, finding=number))
    told = replace(place, topic=then.topic, unfolded=then.unfolded, frame=then.frame)
    if then.topic in TOPICS and after.topic(told) is not None:
        return Trail(told, (place,))
    return Trail(told if then.topic == CALL or then.topic in findings.note_names(after.job) else place)


def _same_finding(before: Panes, after: Panes, then: Selection) -> int | None:
    """The same finding, or the first."""
    old = selected(before.findings, then)
    if old is None:
        return 0 if after.findings else None
    same = (n for n, f in enumerate(after.findings) if (f.kind, f.ranks, f.op) == (old.kind, old.ranks, old.op))
    return next(same, 0 if after.findings else None)


def _place(before: Panes, after: Panes, then: Selection) -> Selection:
    """Groups and rows have other numbers in another reading."""
    if then.rank is None or then.rank not in after.index.world:
        return after.first()
    old = None if then.group is None else before.job.groups[then.group]
    alike = (
        n for n, group in enumerate(after.job.groups) if (group.name, group.ranks) == (old and old[0], old and old[2])
    )
    group = next(alike, None)
    row = _same_call(before.job.ranks.get(then.rank), after.job.ranks.get(then.rank), then.row)
    here = row is not None and (group is None or after.job.ranks[then.rank].entries.group[row] == group)
    return replace(then, group=group, row=row if here else telling_row(after.index, then.rank, group))


def _same_call(before: Rank | None, after: Rank | None, row: int | None) -> int | None:
    """By its record number, which stays while the ring turns."""
    if before is None or after is None or row is None or before.entries.record[row] == NONE:
        return None
    try:
        return after.entries.record.index(before.entries.record[row])
    except ValueError:
        return None
