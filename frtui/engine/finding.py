"""What the engine says: one `Finding` per independent cause."""

from __future__ import annotations

from dataclasses import dataclass

from frtui.model import Frame

PROVEN, LIKELY, POSSIBLE = "proven", "likely", "possible"


@dataclass(frozen=True)
class Finding:
    """One cause, whom it blames, what proves it and what follows from it."""

    kind: str
    """A name from the table of verdicts: `size-mismatch`, `not-joined`, `no-hang`, …"""
    confidence: str
    """PROVEN: only this explains the dumps; LIKELY; POSSIBLE: a tie, or what would decide is missing."""
    summary: str
    """One sentence that a tired person understands."""
    ranks: tuple[int, ...] = ()
    """The blamed ranks, sorted; empty where nobody is blamed."""
    group: int | None = None
    """Index into Job.groups."""
    op: str = ""
    seq: int | None = None
    """`collective_seq_id`, or `p2p_seq_id` where `p2p` is true."""
    p2p: bool = False
    site: Frame | None = None
    """Where the blamed call was made, or for a call left out, where the others made it."""
    evidence: tuple[str, ...] = ()
    """Facts from the dumps, each of which can be looked up on the screen."""
    waiting: tuple[int, ...] = ()
    """Ranks that are stuck because of this one."""
    via: tuple[tuple[int, int], ...] = ()
    """(waiting rank, rank it waits for) pairs: the paths from `waiting` to the cause."""
    next_steps: tuple[str, ...] = ()
    focus: tuple[int, int] | None = None
    """(rank, row of its entries) of the call that the screen opens on."""
