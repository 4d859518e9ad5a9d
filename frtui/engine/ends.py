"""The two ends of a send and its recv, and what each of them did before at the same line."""

from __future__ import annotations

from collections.abc import Hashable

from frtui.engine.agree import canonical, numels
from frtui.engine.case import Case
from frtui.model import Signature


def fit(signature: Signature) -> Hashable:
    """What must be equal on both ends: number of elements and type. torch gives a recv's tensor as input too."""
    return numels(signature.inputs or signature.outputs), (signature.input_dtypes or signature.output_dtypes)[:1]


def unlike_before(case: Case, place: tuple[int, int]) -> bool:
    """Whether a rank never sent, or received, such a tensor before at this line, but did something else there."""
    rank, row = place
    group, site = case.job.ranks[rank].entries.group[row], case.site(place)
    p2p = case.job.ranks[rank].entries.p2p
    earlier = [n for n in case.rows_in(group, rank) if n < row and p2p[n] and case.site((rank, n)) == site]
    before = {what for n in earlier for what in _done(case, (rank, n))}
    return site is not None and bool(before) and not _done(case, place) <= before


def _done(case: Case, place: tuple[int, int]) -> set[Hashable]:
    signature = case.call(place).signature
    return {(canonical(part.op), fit(part)) for part in signature.parts or (signature,)}
