"""Findings about ranks that wait for each other in a circle."""

from __future__ import annotations

from dataclasses import replace

from frtui.engine import deviant, flight, partings
from frtui.engine.case import Case
from frtui.engine.ends import unlike_before
from frtui.engine.finding import LIKELY, POSSIBLE, Finding
from frtui.engine.roots import Root
from frtui.engine.waits import Standing, StuckCall
from frtui.engine.witnesses import HISTORY, MEMBERS, NOBODY, SIBLINGS, Deviation
from frtui.engine.wording import at, at_all, compose, fact, made_by, name, now_in, verb
from frtui.stacks import short
from frtui.text import who

CIRCLE = 8
"""So many ranks of a circle are shown one by one in the evidence."""


def explain(case: Case, root: Root) -> Finding:
    """What closed the circle: the rank whose calls part from the others', else all that are in it."""
    groups = sorted({call.group for call in root.calls if not call.p2p})
    deviations = [
        d for g in groups if (d := partings.in_group(case, g, ahead_ok=False)) and set(d.ranks) & set(root.ranks)
    ]
    decided = [d for d in deviations if d.witness != NOBODY]
    if decided:
        return deviant.finding(case, min(decided, key=_weight), root)
    for group in sorted({call.group for call in root.calls if call.p2p}):
        for rank in root.ranks:
            if role := partings.in_role(case, group, rank):
                return deviant.point_to_point(deviant.finding(case, role, root))
    for group in groups:
        if found := flight.membership(case, group, root):
            return found
    across = partings.across(case, root.ranks, set(groups)) if groups else None
    if across and across.witness != NOBODY:
        return _across(case, across, root)
    for rank in root.ranks:
        if stage := partings.in_stage(case, rank):
            return deviant.point_to_point(deviant.finding(case, stage, root))
    if deviations:
        return deviant.finding(case, deviations[0], root)
    return _unmatched(case, root) or _deadlock(case, root)


def _weight(deviation: Deviation) -> tuple[int, int]:
    return (MEMBERS, SIBLINGS, HISTORY, NOBODY).index(deviation.witness), -deviation.voters


def _across(case: Case, deviation: Deviation, root: Root) -> Finding:
    """Calls of several groups in another order than the other ranks made them."""
    found = deviant.finding(case, deviation, root, later=deviation.kind == "skipped-call")
    found = replace(found, evidence=found.evidence + _sides(case, root))
    if deviation.kind == "order-swap" or _early(case, deviation, root):
        return replace(found, kind="group-deadlock", site=case.site(deviation.subject))
    if deviation.kind == "skipped-call":
        hint = "it may also come later there: then the two groups are entered in different order"
        group = _waited_in(case, deviation, root, found.group)
        # Left out or only made too late cannot be told apart while the rank is stuck before it.
        return replace(found, group=group, confidence=LIKELY, next_steps=(*found.next_steps, hint))
    return found


def _early(case: Case, deviation: Deviation, root: Root) -> bool:
    """A call that the rank usually makes later, in another group than the one the others are in."""
    if deviation.kind != "extra-call" or deviation.subject is None or deviation.before is None:
        return False
    return case.tokens.usual(deviation.subject) and not case.tokens.same(deviation.subject, deviation.before)


def _waited_in(case: Case, deviation: Deviation, root: Root, group: int | None) -> int | None:
    """The blamed rank's own group of the call that it left out."""
    lacking = [c.group for c in root.calls if not c.p2p and deviation.ranks[0] in case.standings(c)[Standing.ABSENT]]
    return group if group in lacking or not lacking else lacking[0]


def _sides(case: Case, root: Root) -> tuple[str, ...]:
    """Who waits in which of the calls."""
    lines = []
    for call in root.calls:
        joined = [] if call.p2p else case.standings(call)[Standing.JOINED]
        places = made_by(case, call, joined)
        if places:
            lines.append(
                f"{who(joined)} {verb(joined, 'waits', 'wait')} in {name(case, places[0])}{at_all(case, places)}"
            )
    return tuple(lines)


def _unmatched(case: Case, root: Root) -> Finding | None:
    """A send or recv in the circle whose other half was never made."""
    lacking = {call: case.standings(call)[Standing.ABSENT] for call in root.calls if call.p2p}
    call = next((call for call, ranks in lacking.items() if ranks), None)
    if call is None:
        return None
    unusual = [p for p in _heads(case, root) if case.call(p).p2p and unlike_before(case, p)]
    if len(unusual) == 1:
        return _unusual(case, unusual[0], root)
    place = (call.rank, call.row)
    blamed = tuple(sorted({r for ranks in lacking.values() for r in ranks}))
    other = "recv" if name(case, place).startswith("send") else "send"
    owed = case.next_p2p(call.group, lacking[call][0])[:1]
    made = f"; the rank in its place of another group made it{at(case.site(owed[0]))}" if owed else ""
    return compose(
        case,
        "p2p-unmatched",
        POSSIBLE if len(blamed) > 1 else LIKELY,
        root,
        place,
        ranks=blamed,
        summary=f"{who(lacking[call]).capitalize()} never made the {other} that rank {call.rank} waits for in "
        f"{name(case, place)}{at(case.site(place))}, and waits elsewhere{made}"
        f"{now_in(case, tuple(lacking[call]), place)}.",
        evidence=[*(f"in its place, {fact(case, p)}" for p in owed), *(fact(case, p) for p in _heads(case, root))],
        next_steps=[f"compare the order of sends and recvs of {who(root.ranks)} at the lines above"],
        site=case.site(owed[0]) if owed else None,
    )


def _unusual(case: Case, place: tuple[int, int], root: Root) -> Finding:
    """One of the ranks in the circle does at this line what it never did there before."""
    rank = place[0]
    return compose(
        case,
        "p2p-unmatched",
        LIKELY,
        root,
        place,
        ranks=(rank,),
        summary=f"Rank {rank} made {name(case, place, True)}{at(case.site(place))}, which has no partner; before, it "
        "always made another call at that line.",
        evidence=[fact(case, p) for p in _heads(case, root)],
        next_steps=[f"find why rank {rank} takes another branch at {short(case.site(place))} this time"],
    )


def _heads(case: Case, root: Root) -> list[tuple[int, int]]:
    """(rank, row) of the calls that the first ranks of the circle are stuck in."""
    return [(rank, rows[0]) for rank in root.ranks[:CIRCLE] if (rows := case.waits.heads.get(rank))]


def _deadlock(case: Case, root: Root) -> Finding:
    heads = _heads(case, root)
    sites = list(dict.fromkeys(f"{name(case, p)}{at(case.site(p))}" for p in heads))
    others = " and ".join(sites[1:3]) or "the same call"
    return compose(
        case,
        "group-deadlock",
        LIKELY,
        root,
        case.example(_first(case, root)),
        ranks=root.ranks,
        summary=f"{who(root.ranks).capitalize()} wait for each other: some are in {sites[0]}, others in {others}.",
        evidence=[*(fact(case, p) for p in heads), *_sides(case, root)],
        next_steps=["make all ranks enter these groups in the same order, or wait for the one before the other"],
    )


def _first(case: Case, root: Root) -> StuckCall:
    return min(root.calls, key=lambda c: case.call(p).created if (p := case.example(c)) else 0)
