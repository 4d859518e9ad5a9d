"""Both ways of reading a dump, and what they make of it."""

from __future__ import annotations

from typing import Any

from frtui.load import tiles
from frtui.load.decode import interpret, unpack
from frtui.load.errors import Odd, Unusable
from frtui.load.normalise import Dump, normalise
from frtui.model import Entries
from tests import torch_pickle
from tests.dumps import DEFAULT, batch, dump, entry

# What stands where something else is expected; each test adds what its own way could stumble over.
NONSENSE: list[Any] = [None, True, -1, 1.5, "x", [], {}, [[]], {"a": 1}, ["x"], float("nan")]


def told(dump: Dump) -> dict[str, Any]:
    """Everything in a dump, in what can be compared."""
    columns = {
        name: (getattr(dump.entries, name).typecode, list(getattr(dump.entries, name))) for name, _ in Entries.COLUMNS
    }
    rest = {name: value for name, value in vars(dump).items() if name != "entries"}
    orders = {name: list(value) for name, value in rest.items() if isinstance(value, dict)}
    return {"orders": orders, **columns, **rest}


def general(data: bytes) -> Any:
    try:
        raw, cut, size = interpret(*unpack(data))
        return told(normalise(raw, size)), cut
    except Unusable as error:
        return error.problem, error.detail


def fast(data: bytes) -> Any:
    """None where it is left to the general way."""
    try:
        return told(normalise(tiles.read(data), len(data))), ""
    except Odd:
        return None
    except Unusable as error:
        return error.problem, error.detail


def same(data: bytes) -> bool:
    """Whether the fast way read it; then it read what is there."""
    found = fast(data)
    assert found is None or found == general(data)
    return found is not None


def reads(raw: Any) -> bool:
    return same(torch_pickle.dumps(raw))


def job(**options: Any) -> Any:
    """A bit of everything: two groups, batches, other states, stacks, sizes, and times that are known for some."""
    pp = ("1", "pp")
    rows = [
        entry(1),
        entry(2, duration=0.5, state="completed"),
        *batch(["send 0->1", "recv 0<-1"], seq=2, p2p_seq=1, group=pp),
        entry(3, "_all_gather_base", sizes=[[4, 8], []], outputs=[[16, 8]], dtype="Half", site=("a.py", 1)),
        entry(4, "barrier", sizes=(), site=None),
        *[entry(seq, sizes=[[seq, 70_000 * seq]], site=("b.py", seq % 3)) for seq in range(250, 270)],
        *[entry(s, group=pp, p2p_seq=s // 2, duration=s / 7 if s % 2 else None, thread=str(s % 3)) for s in range(9)],
        entry(300, state="started", backend="gloo", retired=True),
        entry(301, state="scheduled", created=-1, timeout=-1),
    ]
    return dump(rows, pg_config={DEFAULT: [0, 1], pp: [0, 1]}, **options)
