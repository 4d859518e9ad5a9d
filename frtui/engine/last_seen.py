"""What the others' dumps tell of a rank that left none: the last call that they finished together with it."""

from __future__ import annotations

from frtui.engine import process
from frtui.engine.agree import canonical
from frtui.engine.case import Case
from frtui.engine.waits import SYNCHRONISING
from frtui.engine.wording import name
from frtui.model import Signature


def last_seen(case: Case, ranks: tuple[int, ...]) -> list[str]:
    """Its last sign of life in the others' dumps: what a peer finished that cannot finish without it."""
    told: list[str] = []
    # A signature is what thousands of calls have in common, and on gloo none fits: no call need be looked at.
    fitting = {number for number, made in enumerate(case.job.signatures) if _needs_all(made)}
    for rank in ranks if fitting else ():
        place = None if rank in case.job.ranks else _last_together(case, rank, fitting)
        if place:
            call = case.call(place)
            ns = call.completed if call.completed > 0 else call.created
            when = f" at {process.clock(ns)}" if ns > 0 else ""
            told.append(
                f"rank {rank} was last seen in {name(case, place)}, which rank {place[0]} finished with it{when}"
            )
    return told


def _last_together(case: Case, rank: int, fitting: set[int]) -> tuple[int, int] | None:
    """(peer, row) of the latest collective, of a fitting signature, that a peer finished together with a rank."""
    groups = {g for g, group in enumerate(case.job.groups) if rank in group.ranks}
    found = []
    for peer in {r for g in groups for r in case.job.groups[g].ranks if r in case.job.ranks}:
        dump = case.job.ranks[peer]
        e = dump.entries
        for row in reversed(dump.calls):
            if e.group[row] in groups and e.done[row] and not e.p2p[row] and e.signature[row] in fitting:
                found.append((e.created[row], -peer, row))
                break
    if not found:
        return None
    _, peer, row = max(found)
    return -peer, row


def _needs_all(made: Signature) -> bool:
    """gloo shows a call that failed as finished, too: it proves nothing."""
    return canonical(made.op) in SYNCHRONISING and made.backend != "gloo"
