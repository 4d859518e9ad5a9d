"""What --selected-ranks and --pg-filters name."""

from __future__ import annotations

import re
from collections.abc import Sequence

from frtui.model import Job
from frtui.text import clean, ranges

_RANKS = re.compile(r"(\d{1,18})(?:-(\d{0,18}))?")
"""More digits are no rank; Python refuses to read some thousands of them."""
_SHOWN = 60


class BadSelection(Exception):
    """What --selected-ranks or --pg-filters name can't be shown; the message says what there is."""


def select_ranks(job: Job, words: Sequence[str] | None) -> list[int]:
    """Ranks with a dump, of those that `0 3-7` names; all without words."""
    if words is None:
        return list(job.ranks)
    wanted: set[int] = set()
    for word in ",".join(words).split(","):
        found = _RANKS.fullmatch(word)
        if found is None:
            raise BadSelection(f"--selected-ranks takes numbers and ranges like 0 3-7, not {clean(word[:_SHOWN])}")
        first, last = int(found[1]), int(found[2] or found[1])
        # Cut to the ranks there are: 0-999999999 is a fine way to say "all".
        wanted.update(rank for rank in job.ranks if first <= rank <= last)
    if not wanted:
        raise BadSelection(f"none of the selected ranks has a dump; there are: {ranges(list(job.ranks))}")
    return sorted(wanted)


def select_groups(job: Job, words: Sequence[str] | None) -> frozenset[int]:
    """Groups whose name or description is one of `words`; all without words."""
    if words is None:
        return frozenset(range(len(job.groups)))
    wanted = frozenset(i for i, g in enumerate(job.groups) if {g.name, g.desc, g.label} & set(words))
    if not wanted:
        known = ", ".join(dict.fromkeys(group.desc or group.name for group in job.groups))
        raise BadSelection(f"no process group is called {clean(' or '.join(words))}; there are: {known}")
    return wanted
