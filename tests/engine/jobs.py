"""Short ways to say what most jobs in these tests are made of."""

from __future__ import annotations

from typing import Any

from tests.dumps import Raw, entry

WORLD = ("0", "default_pg")
OPEN = "scheduled"


def world(n: int) -> dict[tuple[str, str], list[int]]:
    return {WORLD: list(range(n))}


def steps(upto: int, **more: Any) -> list[Raw]:
    return [entry(seq, **more) for seq in range(1, upto + 1)]
