"""What the engine says: one `Finding` per independent cause."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from frtui.engine.align import Edit
from frtui.model import Frame

PROVEN, LIKELY, POSSIBLE = "proven", "likely", "possible"


class Wait(NamedTuple):
    """A rank that is stuck in a call."""

    rank: int
    row: int
    """Of its entries: the call that it is in."""
    on: tuple[int, ...]
    """Who keeps that call from finishing, on the way to the cause; empty where all have joined it."""

    @property
    def call(self) -> tuple[int, int]:
        """(rank, row), which names the wait: `on` may be thousands of ranks, too many to hash it again and again."""
        return self.rank, self.row


class Beside(NamedTuple):
    """The calls of a rank lined up with those of a witness, as the engine compared them."""

    rank: int
    rows: tuple[int, ...]
    """Of the rank's entries, oldest first; the edits count in these."""
    witness: int
    witness_rows: tuple[int, ...]
    """The edits may go on after the last of them, with what the witness is expected to do next."""
    edits: tuple[Edit, ...]
    """Up to the end of whichever ends first."""
    at: int
    """Index of the edit at which the two part; after the last edit: where the shorter one ends."""
    by: str = ""
    """Who says that the witness is right, as `witnesses` names them; empty where it only got further."""
    agree: tuple[int, ...] = ()
    """Ranks that did as the witness; of sibling groups where these say so."""
    asked: int = 0
    """Of so many that got there and could say."""
    agree_rows: tuple[int, ...] = ()
    """Of the entries of each of `agree`: what it did at the parting; empty where that is not known."""


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
    waits: tuple[Wait, ...] = ()
    """The calls that the ranks on the paths are stuck in, those of the cause first."""
    beside: Beside | None = None
    """What the blamed rank did beside what it should have done; None where there is nothing to compare."""
