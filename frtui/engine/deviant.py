"""Findings about a rank whose calls part from the others': skipped, extra, swapped or replaced calls."""

from __future__ import annotations

from dataclasses import replace

from frtui.engine.agree import describe
from frtui.engine.case import Case
from frtui.engine.finding import LIKELY, POSSIBLE, PROVEN, Finding
from frtui.engine.roots import Root
from frtui.engine.witnesses import HISTORY, MEMBERS, NOBODY, SIBLINGS, Deviation
from frtui.engine.wording import at, compose, fact, name, number, short, verb, who
from frtui.model import NONE

CONFIDENCE = {MEMBERS: PROVEN, SIBLINGS: LIKELY, HISTORY: LIKELY, NOBODY: POSSIBLE}

NEXT = {
    "skipped-call": "look for a branch around {site} that {who} can take alone: on data, on the rank, an exception",
    "extra-call": "look for a branch around {site} that only {who} takes: `if rank == …`, an evaluation, a log line",
    "order-swap": "compare the order of the calls around {site}: it must not depend on data, rank or dictionary order",
    "size-mismatch": "print the shape before {site} on {who}: an uneven last batch, padding, another configuration",
    "dtype-mismatch": "print the dtype before {site} on {who}: autocast, a float32 buffer, another configuration",
    "op-mismatch": "compare the branch taken around {site} on {who} with the others'",
    "coalesced-mismatch": "compare what is put into the batch around {site} on {who} with the others'",
}

P2P_KINDS = {
    "skipped-call": "p2p-unmatched",
    "size-mismatch": "p2p-mismatch",
    "dtype-mismatch": "p2p-mismatch",
    "op-mismatch": "p2p-unmatched",  # a send where a recv belongs
}


def finding(case: Case, deviation: Deviation, root: Root) -> Finding:
    """The deviation as a finding with everything that waits for it."""
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
        summary=_summary(case, deviation, shown),
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
    return LIKELY if confidence == PROVEN and vague else confidence


def point_to_point(found: Finding) -> Finding:
    """The same finding in the words for sends and recvs, if it is about one."""
    return replace(found, kind=P2P_KINDS.get(found.kind, found.kind)) if found.p2p else found


def _own_group(case: Case, deviation: Deviation, group: int) -> int:
    """The group of the blamed rank: the witnesses' call may be a sibling group's."""
    rank = deviation.ranks[0]
    if rank in case.job.groups[group].ranks:
        return group
    return next((g for g in case.siblings(group) if rank in case.job.groups[g].ranks), group)


def _summary(case: Case, d: Deviation, shown: tuple[int, int]) -> str:
    ranks = who(d.ranks).capitalize()
    if d.witness == NOBODY:
        return _tie(case, d, ranks)
    witnesses = _witnesses(d)
    end = f"; what was made earlier speaks for {witnesses}." if d.witness == HISTORY else "."
    made = f"{_named(case, d, shown)}{at(case.site(shown))}"
    if d.kind == "skipped-call":
        then = f"; before it came {name(case, d.before)}{at(case.site(d.before))}" if d.before else ""
        return f"{ranks} left out {made}, which {witnesses} made{then}{end}"
    if d.kind == "extra-call":
        return f"{ranks} made {made}, a call that {witnesses} did not make there{end}"
    instead = f"{describe(case.call(d.reference).signature)}{at(case.site(d.reference))}" if d.reference else "another"
    if d.kind == "order-swap":
        return f"{ranks} made {made} out of order: {witnesses} made {instead} first{end}"
    return f"{ranks} made {made} where {witnesses} made {instead}{end}"


def _named(case: Case, d: Deviation, shown: tuple[int, int]) -> str:
    call = case.call(shown)
    group = case.job.groups[_own_group(case, d, call.group)].label
    return f"{describe(call.signature)} {number(call)} of {group}"


def _tie(case: Case, d: Deviation, ranks: str) -> str:
    sides = [f"rank {p[0]} {describe(case.call(p).signature)}{at(case.site(p))}" for p in (d.subject, d.reference) if p]
    place = d.subject or d.reference or d.before
    where = f" {number(case.call(place))} of {case.job.groups[case.call(place).group].label}" if place else ""
    return f"{ranks} disagree in call{where} ({', '.join(sides)}), and nothing in the dumps tells which is wrong."


def _witnesses(d: Deviation) -> str:
    if d.witness == MEMBERS:
        return f"the other {d.voters} ranks" if d.voters > 1 else "the other rank"
    if d.witness == SIBLINGS:
        return f"{d.voters} sibling group{'s' if d.voters > 1 else ''} of the same kind"
    return f"rank {d.reference[0]}" if d.reference else "the other side"


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
        agree = f"{d.voters} members agree" if several else "1 member says otherwise"
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
    if d.witness == NOBODY:
        steps.append("rerun with a larger TORCH_FR_BUFFER_SIZE, so that earlier steps show which side is usual")
    return steps
