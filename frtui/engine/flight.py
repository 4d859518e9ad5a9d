"""Findings about a call that every member has joined and nobody finishes."""

from __future__ import annotations

from collections import Counter

from frtui.engine import deviant, partings, splits
from frtui.engine.case import Case
from frtui.engine.ends import fit, unlike_before
from frtui.engine.finding import LIKELY, POSSIBLE, PROVEN, Finding
from frtui.engine.in_step import agreed, stuck
from frtui.engine.roots import Root
from frtui.engine.waits import StuckCall
from frtui.engine.witnesses import NOBODY
from frtui.engine.wording import at, compose, described, fact, name, verb
from frtui.stacks import short
from frtui.text import ranges, who

NAMED = 8
"""So many ranks are named one by one in the evidence; the screen lists all."""


def explain(case: Case, root: Root) -> Finding | None:
    """Why a call that all have joined does not finish; None for a recv from any source, which names no sender."""
    call = root.calls[0]
    if call.p2p:
        return None if len(case.waits.peers(call)) < 2 else _p2p(case, call, root) or stuck(case, call, root)
    deviation = partings.in_group(case, call.group, ahead_ok=False)
    if deviation and deviation.witness != NOBODY:
        return deviant.finding(case, deviation, root)
    found = _split(case, call, root) or membership(case, call.group, root)
    if found is None and deviation:
        found = deviant.finding(case, deviation, root)
    return found or agreed(case, call, root)


def _split(case: Case, call: StuckCall, root: Root) -> Finding | None:
    """An all_to_all whose totals do not add up."""
    mismatch = splits.mismatch(case, call)
    place = case.example(call)
    if mismatch is None or place is None:
        return None
    total, ranks, detail = mismatch
    blamed = (ranks[0], case.waits.row(ranks[0], call) or 0) if ranks else place
    what = f"{name(case, blamed)}{at(case.site(blamed))}"
    blame = f", and {who(ranks)} {verb(ranks, 'is', 'are')} out of line with earlier calls" if ranks else ""
    return compose(
        case,
        "split-mismatch",
        PROVEN if ranks else LIKELY,
        root,
        blamed,
        ranks=ranks,
        summary=f"The sizes of {what} do not add up{_surplus(total)}{blame}.",
        evidence=[detail, *(fact(case, p) for p in _made(case, call))],
        next_steps=[f"print the split sizes before {short(case.site(blamed)) or 'the call'} on every member"],
    )


def _surplus(total: int) -> str:
    if not total:
        return ""
    more, less = ("sent", "expected") if total > 0 else ("expected", "sent")
    return f": {abs(total):,} elements more are {more} than {less}"


def _made(case: Case, call: StuckCall) -> list[tuple[int, int]]:
    """(rank, row) of a collective on the first members that made it."""
    members = case.job.groups[call.group].ranks[:NAMED]
    return [(r, row) for r in members if (row := case.waits.row(r, call)) is not None]


def membership(case: Case, group: int, root: Root) -> Finding | None:
    """Members whose configuration gives the group other members."""
    claims = _claims(case, group)
    if len(set(claims.values())) < 2:
        return None
    usual, votes = Counter(claims.values()).most_common(1)[0]
    if votes * 2 <= len(claims):
        usual = frozenset(case.job.groups[group].ranks)
    wrong = tuple(sorted(r for r, claim in claims.items() if claim != usual))
    places = [(r, row) for r in wrong for call in root.calls if (row := case.waits.row(r, call)) is not None]
    label, theirs = case.job.groups[group].label, ranges(sorted(usual))
    return compose(
        case,
        "membership-mismatch",
        LIKELY,
        root,
        places[0] if places else None,
        ranks=wrong,
        summary=f"{who(wrong).capitalize()} built {label} with ranks {ranges(sorted(claims[wrong[0]]))}, "
        f"the others with ranks {theirs}, so its calls cannot complete.",
        evidence=[
            *(f"pg_config of rank {r}: ranks {ranges(sorted(claims[r]))}" for r in wrong[:NAMED]),
            f"pg_config of {len(claims) - len(wrong)} others: ranks {theirs}",
        ],
        next_steps=[
            f"compare what {who(wrong)} {verb(wrong, 'passes', 'pass')} to new_group or init_device_mesh "
            "with what the others pass"
        ],
        call=root.calls[0],
    )


def renamed(case: Case, call: StuckCall, root: Root) -> Finding | None:
    """Idle members that know the group by another name: torch counts groups, and they were made in another order."""
    group = case.job.groups[call.group]
    waiting = [r for r in root.waiting if case.waits.row(r, call) is not None]
    lacking = [r for r in root.ranks if r in case.job.ranks and call.group not in case.job.ranks[r].config]
    twins = {r: twin for r in lacking if (twin := _twin(case, r, call.group, waiting)) is not None}
    if not twins or not waiting:
        return None
    rank, twin = next(iter(twins.items()))
    odd = _unlike_most(case, {group.name, *(case.job.groups[g].name for g in twins.values())}, {*twins, *waiting})
    blamed = odd or tuple(sorted({*twins, *waiting}))
    place = (waiting[0], case.waits.row(waiting[0], call) or 0)
    on = who(odd) if odd else "one side"
    return compose(
        case,
        "membership-mismatch",
        LIKELY if odd else POSSIBLE,
        root,
        place,
        ranks=blamed,
        summary=f"{who(waiting).capitalize()} {verb(waiting, 'waits', 'wait')} in {name(case, place)}"
        f"{at(case.site(place))}, and {who(twins)} {verb(twins, 'knows', 'know')} that group of ranks "
        f"{ranges(group.ranks)} as {case.job.groups[twin].label}: {on} made its groups in another order.",
        evidence=[
            fact(case, place),
            *(f"rank {r} has ranks {ranges(group.ranks)} as {case.job.groups[g].label}" for r, g in twins.items()),
        ],
        next_steps=[f"compare the order of the new_group calls on {who(sorted({*blamed, rank}))}: all must make all"],
        call=call,
    )


def _twin(case: Case, rank: int, group: int, waiting: list[int]) -> int | None:
    """The group of the same members and description that a rank has instead, and those that wait have not."""
    groups, dump = case.job.groups, case.job.ranks[rank]
    members = set(groups[group].ranks)
    alike = [g for g, mine in dump.config.items() if set(mine) == members and groups[g].desc == groups[group].desc]
    theirs = [case.job.ranks[r].config for r in waiting]
    return next((g for g in alike if not any(set(config.get(g, ())) == members for config in theirs)), None)


def _unlike_most(case: Case, names: set[str], among: set[int]) -> tuple[int, ...]:
    """Those `among` that give one of the names to other members than a strict majority of those that have it."""
    claims: dict[str, dict[int, tuple[int, ...]]] = {name: {} for name in names}
    for rank, dump in case.job.ranks.items():
        for group, members in dump.config.items():
            if case.job.groups[group].name in names:
                claims[case.job.groups[group].name][rank] = members
    odd: set[int] = set()
    for said in filter(None, claims.values()):
        usual, votes = Counter(said.values()).most_common(1)[0]
        odd |= {r for r, members in said.items() if members != usual} if 2 * votes > len(said) else set()
    return tuple(sorted(odd & among))


def _claims(case: Case, group: int) -> dict[int, frozenset[int]]:
    """rank -> the members that its own pg_config gives the group."""
    dumps = {r: case.job.ranks[r] for r in case.job.groups[group].ranks if r in case.job.ranks}
    return {r: frozenset(dump.config[group]) for r, dump in dumps.items() if dump.config.get(group)}


def _p2p(case: Case, call: StuckCall, root: Root) -> Finding | None:
    """A send and its recv that disagree on size or type."""
    for key, sending, n in case.lanes.parts(call.rank, call.row):
        channel = case.lanes.channels[key]
        mine = (channel.sends if sending else channel.recvs)[n]
        theirs = case.lanes.peer(key, sending, n)
        if theirs is None or fit(mine.signature) == fit(theirs.signature):
            continue
        peer = key[2] if sending else key[1]
        for rank in sorted((call.rank, peer)):
            if role := partings.in_role(case, call.group, rank):
                return deviant.point_to_point(deviant.finding(case, role, root))
        return _ends(case, (call.rank, call.row), (peer, theirs.row), root)
    return None


def _ends(case: Case, place: tuple[int, int], other: tuple[int, int], root: Root) -> Finding:
    """The end that does something new is to blame; both where neither or each of them does."""
    unusual = [p for p in (place, other) if unlike_before(case, p)]
    if len(unusual) == 1:
        place, other = unusual[0], other if unusual[0] == place else place
    ends = (place[0],) if len(unusual) == 1 else tuple(sorted((place[0], other[0])))
    mine, theirs = (f"{described(case, p)}{at(case.site(p))}" for p in (place, other))
    sites = " and ".join(dict.fromkeys(short(case.site(p)) or f"rank {p[0]}" for p in (place, other)))
    return compose(
        case,
        "p2p-mismatch",
        LIKELY if len(ends) == 1 else POSSIBLE,
        root,
        place,
        ranks=ends,
        summary=f"{who(sorted((place[0], other[0]))).capitalize()} disagree in {name(case, place)}: {mine} "
        f"against {theirs}{'; before, both agreed on the latter' if len(ends) == 1 else ''}.",
        evidence=[fact(case, place), fact(case, other)],
        next_steps=[f"print the shape and dtype at {sites}"],
    )
