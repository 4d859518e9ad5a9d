"""Short ways to say what most jobs in these tests are made of."""

from __future__ import annotations

from typing import Any

from tests.dumps import Raw, dump, entry

WORLD = ("0", "default_pg")
OPEN = "scheduled"


def world(n: int) -> dict[tuple[str, str], list[int]]:
    return {WORLD: list(range(n))}


def steps(upto: int, **more: Any) -> list[Raw]:
    return [entry(seq, **more) for seq in range(1, upto + 1)]


def cascade() -> dict[int, Any]:
    """Groups with hashes for names, as torch makes them: rank 5 is idle in its pair, and it stops all eight."""
    tp = {r: (f"{'a' * 39}{r // 2}", "tp") for r in range(8)}
    dp = {r: (f"{'b' * 39}{r % 2}", "dp") for r in range(8)}
    ranks = {}
    for r in range(8):
        pair, column = [r // 2 * 2, r // 2 * 2 + 1], [x for x in range(8) if x % 2 == r % 2]
        rows = [entry(1, group=tp[r]), entry(1, group=dp[r])]
        if r == 4:
            rows.append(entry(2, group=tp[r], state=OPEN, site=("layers.py", 30)))
        elif r != 5:
            rows += [entry(2, group=tp[r]), entry(2, group=dp[r], state=OPEN, site=("optim.py", 9))]
        ranks[r] = dump(rows, pg_config={WORLD: list(range(8)), tp[r]: pair, dp[r]: column})
    return ranks
