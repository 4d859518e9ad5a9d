"""Text from elsewhere (files, environment, other processes) on its way to a terminal."""

from __future__ import annotations


def clean(text: str) -> str:
    """`text` without control characters, which could move the cursor or worse: they become `\\xNN` or `\\uNNNN`."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
