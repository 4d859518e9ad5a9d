"""Findings about a rank whose calls part from the others': skipped, extra, swapped or replaced calls."""

from __future__ import annotations

from dataclasses import replace

from frtui.engine.case import Case
from frtui.engine.finding import LIKELY, POSSIBLE, PROVEN, Finding
from frtui.engine.roots import Root
from frtui.engine.witnesses import HISTORY, MEMBERS, NOBODY, SIBLINGS, Deviation
from frtui.engine.wording import at, at_all, compose, described, fact, many, name, now_in, number, verb
from frtui.model import NONE
from frtui.stacks import short
from frtui.text import ranges, who

CONFIDENCE = {MEMBERS: PROVEN, SIBLINGS: LIKELY, HISTORY: LIKELY, NOBODY: POSSIBLE}

NAMED = 4
"""So many runs of peers are named in the sentence."""

NEXT = {
    "skipped-call": "look for a branch around {site} that {who} can take alone: on data, on the rank, an exception",
    "extra-call": "look for a branch around {site} that only {who} takes: `if rank == …`, an evaluation, a log line",
    "order-swap": "compare the order of the calls around {site}: it must not depend on data, rank or dictionary order",
    "size-mismatch": "print the shape before {site} on {who}: an uneven last batch, padding, another configuration",
    "dtype-mismatch": "print the dtype before {site} on {who}: autocast, a float32 buffer, another configuration",
    "root-mismatch": "print src or dst before {site} on {who}: all ranks have to name the same one",
    "op-mismatch": "compare the branch taken around {site} on {who} with the others'",
    "coalesced-mismatch": "compare what is put into the batch around {site} on {who} with the others'",
}

P2P_KINDS = {
    "skipped-call": "p2p-unmatched",
    "size-mismatch": "p2p-mismatch",
    "dtype-mismatch": "p2p-mismatch",
    "op-mismatch": "p2p-unmatched",  # a send where a recv belongs
}


Place = tuple[int, int]
"""(rank, row of its entries)"""


def finding(case: Case, deviation: Deviation, root: Root, later: bool = False) -> Finding:
    """The deviation as a finding with everything that waits for it.

    `later`: a call that seems left out may just not have been made yet, for the rank is stuck before it.
    """
    shown = deviation.subject if deviation.kind != "skipped-call" else deviation.reference
    shown = shown or deviation.reference or deviation.before
    assert shown is not None  # a parting lies within one of the two sequences
    # Of two calls in the wrong order, the one that should have come first is the one to look for in the code.
    site = case.site(deviation.reference or shown) if deviation.kind == "order-swap" else case.site(shown)
    found = compose(
        case,
        deviation.kind,
        _confidence(case, deviation, shown),
        root,
        shown,
        ranks=deviation.ranks,
        summary=_summary(case, deviation, shown, root, later),
        evidence=_evidence(case, deviation),
        next_steps=_next_steps(deviation, short(site)),
        site=site,
        focus=deviation.subject or deviation.before or shown,
        beside=deviation.beside,
    )
    return replace(found, group=_own_group(case, deviation, case.call(shown).group))


def _confidence(case: Case, deviation: Deviation, shown: tuple[int, int]) -> str:
    """Without call sites equal calls look alike, so which of them was left out or added is at most likely."""
    confidence = CONFIDENCE[deviation.witness]
    vague = not case.call(shown).stack and not deviation.kind.endswith("-mismatch")
    return LIKELY if confidence == PROVEN and (vague or _may_be_ahead(deviation)) else confidence


def _may_be_ahead(deviation: Deviation) -> bool:
    """A call that the others did not make, and that is the rank's last: it may have left out what they made instead."""
    return deviation.kind == "extra-call" and deviation.foreseen


def point_to_point(found: Finding) -> Finding:
    """The same finding in the words for sends and recvs, if it is about one."""
    return replace(found, kind=P2P_KINDS.get(found.kind, found.kind)) if found.p2p else found


def _own_group(case: Case, deviation: Deviation, group: int) -> int:
    """The group of the blamed rank: the witnesses' call may be a sibling group's."""
    rank = deviation.ranks[0]
    if rank in case.job.groups[group].ranks:
        return group
    return next((g for g in case.siblings(group) if rank in case.job.groups[g].ranks), group)


def _summary(case: Case, d: Deviation, shown: Place, root: Root, later: bool) -> str:
    ranks = who(d.ranks).capitalize()
    if d.witness == NOBODY:
        return _tie(case, d, ranks)
    return f"{ranks} {_deed(case, d, shown, later)}{_victim(case, d, shown, root)}{_ending(case, d)}."


def _deed(case: Case, d: Deviation, shown: Place, later: bool) -> str:
    """What the blamed ranks did, and who did otherwise."""
    near, far = _sides(case, d, shown)
    witnesses, too = _witnesses(case, d, shown)
    theirs = at_all(case, near or far)
    if d.kind == "skipped-call":
        late = ", or will make it later, entering the groups in another order" if later else ""
        return f"left out {_named(case, d, shown)}{theirs}, which {witnesses} made{too}{late}"
    made = f"made {_named(case, d, shown)}{at_all(case, d.subjects) or at(case.site(shown))}"
    if d.kind == "extra-call":
        return f"{made}, a call that {witnesses} did not make there{too.replace('as did', 'nor did')}"
    instead = f"{described(case, d.reference, shown)}{theirs}" if d.reference else "another"
    if d.kind == "order-swap":
        return f"{made} out of order: {witnesses} made {instead} first{too}"
    return f"{made} where {witnesses} made {instead}{too}"


def _sides(case: Case, d: Deviation, shown: Place) -> tuple[list[Place], list[Place]]:
    """Who did as the witness: those of the blamed rank's own group, and those of others of its kind."""
    members = set(case.job.groups[_own_group(case, d, case.call(shown).group)].ranks)
    near = [place for place in d.peers if place[0] in members]
    return near, [place for place in d.peers if place[0] not in members]


def _victim(case: Case, d: Deviation, shown: Place, root: Root) -> str:
    """Who waits for a send or recv that was not made, and in what."""
    if not case.call(shown).p2p or d.kind != "skipped-call":
        return ""
    calls = [w for w in root.waits if set(w.on) & set(d.ranks) and case.call((w.rank, w.row)).p2p]
    if not calls:
        return ""
    place = calls[0].rank, calls[0].row
    what = name(case, place).partition(" #")[0]
    return f"; rank {place[0]} waits for it in {what}{at(case.site(place))}"


def _ending(case: Case, d: Deviation) -> str:
    if d.witness == HISTORY:
        side = f"rank {d.reference[0]}" if d.reference else "the other side"
        return f"; what was made earlier speaks for {side}{now_in(case, d.ranks, d.subject)}"
    return now_in(case, d.ranks, d.subject)


def _named(case: Case, d: Deviation, shown: tuple[int, int]) -> str:
    call = case.call(shown)
    group = case.job.groups[_own_group(case, d, call.group)].label
    return f"{described(case, shown)} {number(call)} of {group}"


def _tie(case: Case, d: Deviation, ranks: str) -> str:
    sides = [f"rank {p[0]} {described(case, p)}{at(case.site(p))}" for p in (d.subject, d.reference) if p]
    place = d.subject or d.reference or d.before
    where = f" {number(case.call(place))} of {case.job.groups[case.call(place).group].label}" if place else ""
    return f"{ranks} disagree in call{where} ({', '.join(sides)}), and nothing in the dumps tells which is wrong."


def _witnesses(case: Case, d: Deviation, shown: Place) -> tuple[str, str]:
    """Who did otherwise, the blamed rank's own group first; and ` (as did 4 ranks of tp:1)`."""
    near, far = ([place[0] for place in places] for places in _sides(case, d, shown))
    groups = _groups(case, d, shown) if far else ""
    others = groups if d.witness == SIBLINGS else f"{many(far)} of {groups}"
    if not near:
        return others if far else "the other side", ""
    if far:
        count = "" if d.witness == SIBLINGS else f"{len(far):,} {verb(far, 'rank', 'ranks')} of "
        return _peers(d, near), f" (as did {count}{groups})"
    own = set(case.job.groups[_own_group(case, d, case.call(shown).group)].ranks)
    if len(own) == len(near) + len(d.ranks):
        return f"the other {len(near):,} ranks" if len(near) > 1 else f"rank {near[0]}", ""
    return _peers(d, near), ""


def _peers(d: Deviation, ranks: list[int]) -> str:
    """`its peers 4-5, 7`; where these are scattered, `12 of its peers`."""
    its, numbers = verb(d.ranks, "its", "their"), ranges(ranks)
    if numbers.count(",") >= NAMED:
        return f"{len(ranks):,} of {its} peers"
    return f"{its} {verb(ranks, 'peer', 'peers')} {numbers}"


def _groups(case: Case, d: Deviation, shown: Place) -> str:
    """The other groups of its kind in which the ranks did as the witness."""
    groups = {case.call(place).group for place in _sides(case, d, shown)[1]}
    if any(case.kind(g) != case.kind(case.call(shown).group) for g in groups):
        return "other groups"
    return case.job.groups[min(groups)].label if len(groups) == 1 else f"{len(groups)} other groups of its kind"


def _evidence(case: Case, d: Deviation) -> list[str]:
    lines = []
    if d.subject:
        lines.append(fact(case, d.subject))
    if d.reference:
        lines.append(("instead of " if d.subject else "") + fact(case, d.reference))
    if d.before:
        lines.append("before that, " + fact(case, d.before))
    lines.append(_verdict_of(d))
    if d.alike > 1 and d.kind in ("skipped-call", "extra-call"):
        lines.append(f"{d.alike} calls in a row have equal arguments and line: any one of them may be the one")
    if not any(case.job.ranks[p[0]].entries.stack[p[1]] != NONE for p in (d.subject, d.reference) if p):
        lines.append("no stacks were recorded, so calls with equal arguments cannot be told apart")
    return lines


def _verdict_of(d: Deviation) -> str:
    """What the witness says, as a sentence."""
    several = d.voters > 1
    if d.witness == MEMBERS:
        agree = f"{d.voters} ranks agree" if several else "1 rank says otherwise"
        return f"{agree}, {who(d.ranks)} {verb(d.ranks, 'differs', 'differ')}"
    if d.witness == SIBLINGS:
        groups = f"{d.voters} groups" if several else "1 group"
        return f"{groups} of the same description and size did as the others, not as {who(d.ranks)}"
    if d.witness == HISTORY:
        return f"after the same calls earlier in the ring, {who(d.ranks)} went on as the others do now"
    return "a tie: no majority among the members, no sibling group and no earlier repetition decides"


def _next_steps(d: Deviation, site: str) -> list[str]:
    template = NEXT.get(d.kind, "compare the calls around {site} on {who} with the others'")
    steps = [template.format(site=site or "the call", who=who(d.ranks))]
    if _may_be_ahead(d):
        left = f"if all ranks should come there in the end, {who(d.ranks)} left out what the others made before it"
        steps.append(f"{left}: a loop that ended early, fewer batches, an exception that was caught")
    if d.witness == NOBODY:
        steps.append("rerun with a larger TORCH_FR_BUFFER_SIZE, so that earlier steps show which side is usual")
    return steps
