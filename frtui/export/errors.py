"""What an export can raise."""

from __future__ import annotations


class Unavailable(Exception):
    """A package that the format needs is not installed; the message says which."""
