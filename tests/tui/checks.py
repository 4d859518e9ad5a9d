"""A check for each key: the modules that hold them, `test_keys` runs them."""

from __future__ import annotations

from collections.abc import Awaitable
from pathlib import Path
from typing import Callable

from textual.pilot import Pilot

Check = Callable[[Pilot[None], Path], Awaitable[None]]
CHECKS: dict[str, Check] = {}


def checks(*names: str) -> Callable[[Check], Check]:
    """The decorated coroutine proves that these keys do what the help says."""

    def note(check: Check) -> Check:
        CHECKS.update(dict.fromkeys(names, check))
        return check

    return note
