"""Of a finding about a call that the blamed rank did not make: whether a rank lacks it, and who stands in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from frtui.model import NONE

if TYPE_CHECKING:
    from frtui.engine.finding import Finding
    from frtui.view.index import Index

MISSING_ROW = 1 << 62
"""The key of the line in Calls that stands for the call that was not made; after those of all rows."""


def lacks(index: Index, finding: Finding | None, rank: int | None) -> bool:
    """Whether a blamed rank, which left a dump, did not come as far as the call that the finding names."""
    if finding is None or finding.group is None or finding.seq is None:
        return False
    if rank is None or rank not in finding.ranks or rank not in index.job.ranks:
        return False
    data, group = index.job.ranks[rank], finding.group
    if not finding.p2p:
        return index.last_seq(rank, group) < finding.seq and not data.truncated
    e = data.entries
    return max((e.p2p_seq[row] for row in index.rows(rank, group) if e.p2p[row]), default=NONE) < finding.seq


def who_lacks(index: Index, finding: Finding) -> list[int]:
    return [rank for rank in finding.ranks if lacks(index, finding, rank)]


def left_alone(index: Index, finding: Finding) -> list[tuple[int, int]]:
    """(rank, row) of the open sends and recvs of the finding's group that a rank without its call does not answer."""
    if finding.group is None:
        return []
    job, found = index.job, []
    for rank in job.groups[finding.group].ranks:
        row = index.ends(rank).open.get(finding.group, NONE)
        if row == NONE or rank in finding.ranks or not job.ranks[rank].entries.p2p[row]:
            continue
        signature = job.signatures[job.ranks[rank].entries.signature[row]]
        peers = {end for part in signature.parts or (signature,) for end in job.endpoints(finding.group, part)}
        if peers.intersection(finding.ranks):
            found.append((rank, row))
    return found
