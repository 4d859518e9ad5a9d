"""Entries side by side: one column a rank, one line a call, whatever its position in the rings."""

from __future__ import annotations

from collections.abc import Sequence

from frtui.engine.lanes import build
from frtui.entries.flat import finished
from frtui.entries.order import Key, merged, placed
from frtui.model import Job
from frtui.stacks import call_site
from frtui.view.across import why_absent
from frtui.view.index import Index
from frtui.view.words import arguments, named

OPEN, DIFFERS = "!", "#"
_WIDEST = 500
"""Characters of a line in a cell. A stranger's name may have thousands, and every row is as wide as the widest."""
LEGEND = f"{OPEN} not finished   {DIFFERS} differs from the other ranks   (...) the rank has no such entry\n"


def table(job: Job, ranks: Sequence[int], groups: frozenset[int], stack: bool) -> str:
    from tabulate import tabulate

    index = Index(job)
    lanes = build(job, ranks=ranks)
    columns = {rank: placed(lanes, rank, groups) for rank in ranks}
    rows = []
    for key in merged(columns):
        cells = [_cell(index, rank, columns[rank], key, stack) for rank in ranks]
        rows.append([_cut(job.groups[key.group].label), key.number, *cells])
    headers = ["group", "call", *(f"rank {rank}" for rank in ranks)]
    return tabulate(rows, headers=headers, tablefmt="simple", disable_numparse=True) + "\n\n" + LEGEND


def _cell(index: Index, rank: int, column: dict[Key, int], key: Key, stack: bool) -> str:
    row = column.get(key)
    if row is None:
        return _absent(index, rank, key)
    call = index.job.call(rank, row)
    mark = "" if finished(index.job, call) else OPEN
    mark += DIFFERS if index.deviates(rank, row) else ""
    said = f"{mark + ' ' if mark else ''}{named(index.job, call.group, call.signature)} {arguments(call.signature)}"
    site = call_site(call.stack) if stack else None
    return _cut(said.rstrip()) + (f"\n  {_cut(site.place) if site else 'no stack'}" if stack else "")


def _cut(text: str) -> str:
    return text if len(text) <= _WIDEST else text[: _WIDEST - 3] + "..."


def _absent(index: Index, rank: int, key: Key) -> str:
    if rank not in index.job.groups[key.group].ranks:
        return ""
    return f"({why_absent(index, rank, key.group, key.seq)})" if key.collective else ""
