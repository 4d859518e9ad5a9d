"""What one dump may cost, whatever it claims: lengths of texts, and lists that stand for more than was written."""

from __future__ import annotations

from functools import lru_cache

from frtui.load.errors import Unusable
from frtui.text import clean

MAX_TEXT = 2000
"""Characters of one name that are kept; the longest of torch's own are mangled C++ symbols."""

_SLACK = 1 << 20


def text(value: str) -> str:
    """`value` safe to print and of bounded length."""
    return _text(value[: MAX_TEXT + 1])


@lru_cache(maxsize=4096)  # a string in a pickle's memo costs two bytes a time; made safe, it is up to ten times longer
def _text(value: str) -> str:
    return clean(value if len(value) <= MAX_TEXT else value[:MAX_TEXT] + "...")


class Budget:
    """How many values a dump may unfold to.

    Each value that was written out took two bytes at least. A list in a pickle's memo can be named again for two
    bytes whatever its length, so that a few megabytes could stand for as much as no machine can hold.
    """

    def __init__(self, size: int) -> None:
        """`size`: bytes of the dump, unpacked."""
        self.left = size + _SLACK

    def spend(self, values: int) -> None:
        """Raises Unusable when the dump has unfolded to more than can have been written out."""
        self.left -= values
        if self.left < 0:
            raise Unusable("refused", "names the same lists again and again, and unfolds to far more than its size")


def check_containers(data: bytes) -> None:
    """Raises Unusable where most bytes are empty lists and dicts: each is one byte there, and 80 in memory."""
    made = data.count(b"]") + data.count(b"}")  # what closes one in JSON makes one in a pickle
    if made > 1 << 18 and made * 8 > len(data):
        raise Unusable("refused", f"{made:,} lists and dicts in {len(data):,} bytes, which torch's dumps never have")


def length(values: object) -> int:
    """Values in a list; 0 for anything else."""
    return len(values) if isinstance(values, (list, tuple)) else 0


def lengths(sizes: object) -> int:
    """Values in a list of lists, together with those; what is in deeper ones is not looked at."""
    if not isinstance(sizes, (list, tuple)):
        return 0
    try:
        return len(sizes) + sum(map(len, sizes))
    except TypeError:
        return len(sizes) + sum(len(item) for item in sizes if isinstance(item, (list, tuple, str, dict)))
