"""The raw entries: side by side, one column a rank, as `torchfrtrace -j` prints them; or flat, as JSON or CSV."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from frtui.entries import flat
from frtui.entries.select import BadSelection, select_groups, select_ranks
from frtui.entries.table import table
from frtui.model import Job

__all__ = ["BadSelection", "render"]


def render(
    job: Job,
    format: str,  # noqa: A002 - the name of the option
    ranks: Sequence[str] | None,
    groups: Sequence[str] | None,
    stack: bool,
) -> Iterable[bytes]:
    """The entries of some ranks and groups (None: all) in pieces of UTF-8. Raises BadSelection."""
    chosen, members = select_ranks(job, ranks), select_groups(job, groups)
    if format == "table":
        return [table(job, chosen, members, stack).encode()]
    rows = flat.entries(job, chosen, members, stack)
    return flat.as_json(rows) if format == "json" else flat.as_csv(flat.columns(stack), rows)
