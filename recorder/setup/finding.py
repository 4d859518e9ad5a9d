"""One line of what `doctor` says."""

from __future__ import annotations

from typing import NamedTuple

OK = "ok"
NOTE = "note"
"""Good to know, nothing to do."""
WARN = "warn"
"""Worth a change, but dumps are written."""
LOST = "lost"
"""A dump that one would want is not written, or can't be used."""


class Finding(NamedTuple):
    level: str
    text: str
