"""A job for other programs: a timeline, tables as CSV and Parquet, the flat database of torch's analyzer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from frtui.entries import flat
from frtui.entries.select import select_groups, select_ranks
from frtui.export.errors import Unavailable
from frtui.model import Job

__all__ = ["Unavailable", "render"]


def render(job: Job, format: str, ranks: Sequence[str] | None, groups: Sequence[str] | None) -> Iterable[bytes]:  # noqa: A002
    """The calls of some ranks and groups (None: all), in pieces. Raises BadSelection, and Unavailable."""
    chosen, members = select_ranks(job, ranks), select_groups(job, groups)
    if format == "perfetto":
        from frtui.export import perfetto

        return perfetto.trace(job, chosen, members)
    if format == "torch-db":
        from frtui.export import torch_db

        return [torch_db.database(job, chosen, members)]
    names, rows = flat.columns(stack=True), flat.entries(job, chosen, members, stack=True)
    if format == "csv":
        return flat.as_csv(names, rows)
    from frtui.export import parquet

    return [parquet.table(names, rows)]
