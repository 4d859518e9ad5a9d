"""Small real dumps that ship with frtui; `tests/make_demo.py` makes them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path

ABOUT = {
    "tutorial": "2 ranks fall out of step: one makes an all_reduce that the other does not make",
    "idle": "4 ranks, tensor and data parallel: one stops outside communication, the others wait",
    "loader": "the same job with frtui's recorder on: what the stopped rank was doing instead",
    "deadlock": "4 ranks, tensor and data parallel: one enters two groups in the other order",
}


@contextmanager
def folder(name: str) -> Iterator[str]:
    """A folder on the disk with the dumps of one demo; a temporary one where frtui runs from a zip file."""
    place = files("frtui.demo").joinpath(name)
    if isinstance(place, Path):
        yield str(place)
        return
    with tempfile.TemporaryDirectory(prefix="frtui-demo-") as temporary:
        target = Path(temporary) / name
        target.mkdir()
        for file in place.iterdir():
            (target / file.name).write_bytes(file.read_bytes())
        yield str(target)
