"""Every entry as a row of a Parquet file. Needs the extra `frtui[parquet]`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from frtui.export.errors import Unavailable

_ROWS = 50_000
"""In a row group: what is in memory as Python objects at a time."""
_TEXTS = ("group", "group_desc", "op", "backend", "state", "thread", "call_site")
_FLAGS = ("is_p2p", "retired", "finished")


def table(names: Sequence[str], rows: Iterator[dict[str, Any]]) -> bytes:
    """Raises Unavailable without pyarrow."""
    try:
        import pyarrow as arrow
        from pyarrow import parquet
    except ImportError:
        raise Unavailable("--format parquet needs pyarrow: pip install 'frtui[parquet]'") from None
    sizes, texts = arrow.list_(arrow.list_(arrow.int64())), arrow.list_(arrow.string())
    kinds = {
        **dict.fromkeys(_TEXTS, arrow.string()),
        **dict.fromkeys(_FLAGS, arrow.bool_()),
        **dict.fromkeys(("input_sizes", "output_sizes"), sizes),
        **dict.fromkeys(("input_dtypes", "output_dtypes", "frames"), texts),
        "duration_ms": arrow.float64(),
    }
    schema = arrow.schema([(name, kinds.get(name, arrow.int64())) for name in names])
    sink = arrow.BufferOutputStream()
    with parquet.ParquetWriter(sink, schema, compression="zstd") as writer:
        while group := list(islice(rows, _ROWS)):
            writer.write_table(arrow.Table.from_pylist(group, schema))
    data: bytes = sink.getvalue().to_pybytes()
    return data
