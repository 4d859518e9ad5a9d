"""Findings about a rank that others wait for while it waits for nobody."""

from __future__ import annotations

from frtui.engine import deviant, flight, partings, process
from frtui.engine.align import foresee
from frtui.engine.case import Case
from frtui.engine.finding import LIKELY, POSSIBLE, PROVEN, Finding, Wait
from frtui.engine.last_seen import last_seen
from frtui.engine.roots import Root, in_call
from frtui.engine.waits import Standing, StuckCall
from frtui.engine.witnesses import NOBODY
from frtui.engine.wording import (
    at_all,
    compose,
    fact,
    kernel_log,
    last_call,
    look_at,
    made_by,
    many,
    name,
    stuck_name,
    verb,
    where_it_was,
)
from frtui.stacks import short
from frtui.text import count, who

NAMED = 8
"""So many ranks are named one by one in the evidence; the screen lists all."""


def explain(case: Case, roots: list[Root]) -> list[Finding]:
    """One finding for each call that idle ranks keep from starting."""
    by_call: dict[tuple[str, StuckCall], list[Root]] = {}
    for root in roots:
        kind = _kind(case, root.ranks[0])
        by_call.setdefault((kind, first_missed(case, root.ranks[0])), []).append(root)
    tell = {"no-dump": _no_dump, "stale": _stale, "idle": _idle}
    return [tell[kind](case, call, _together(same)) for (kind, call), same in by_call.items()]


def _kind(case: Case, rank: int) -> str:
    if case.unseen(rank):
        return "no-dump"
    # A process that dies leaves its last call open, whoever finished it.
    left = process.left(case.job, case.job.ranks[rank])
    return "stale" if case.waits.stale[rank] and not left else "idle"


def _together(roots: list[Root]) -> Root:
    ranks = tuple(sorted(r for root in roots for r in root.ranks))
    waiting = {r for root in roots for r in root.waiting} - set(ranks)
    via = {pair for root in roots for pair in root.via if pair[0] in waiting}
    return Root(ranks, (), tuple(sorted(waiting)), tuple(sorted(via)), _waits_together(roots, waiting))


def _waits_together(roots: list[Root], waiting: set[int]) -> tuple[Wait, ...]:
    """Whoever waits in one call for several of the idle ranks does so once."""
    on: dict[tuple[int, int], set[int]] = {}
    for wait in (wait for root in roots for wait in root.waits if wait.rank in waiting):
        on.setdefault((wait.rank, wait.row), set()).update(wait.on)
    return tuple(Wait(rank, row, tuple(sorted(those))) for (rank, row), those in on.items())


def first_missed(case: Case, rank: int) -> StuckCall:
    """Of the calls that wait for `rank`, the one that it should have made first.

    A rank that made (or still has to make) all of them tells the order; without one, the time at which
    the waiting ranks made them.
    """
    calls = case.waits_for.get(rank, [])
    for witness in case.job.ranks:
        rows = [_same_call(case, witness, call, rank) for call in calls] if witness != rank else []
        known = [(row, call) for row, call in zip(rows, calls) if row is not None]
        if known and len(known) == len(calls):
            return min(known)[1]
    return min(calls, key=lambda call: (case.call(p).created if (p := case.example(call)) else 0, call))


def _same_call(case: Case, witness: int, call: StuckCall, rank: int) -> int | None:
    """Row in which `witness` made, in its own group of the same kind, the call that `rank` owes."""
    if call.p2p:
        return next((row for peer, row in case.next_p2p(call.group, rank) if peer == witness), None)
    for group in [call.group, *case.siblings(call.group)]:
        if witness in case.job.groups[group].ranks:
            return case.waits.row(witness, StuckCall(group, call.seq))
    return None


def _idle(case: Case, call: StuckCall, root: Root) -> Finding:
    """An idle rank may have left a call out, or be the one that is right, or just be somewhere else."""
    if call.p2p:
        role = partings.in_role(case, call.group, root.ranks[0])
        return deviant.point_to_point(deviant.finding(case, role, root)) if role else _not_joined(case, call, root)
    deviation = partings.in_group(case, call.group, ahead_ok=True)
    if deviation and deviation.witness != NOBODY and set(deviation.ranks) <= set(root.ranks):
        return deviant.finding(case, deviation, root)
    return _ahead(case, call, root) if _minority_ahead(case, call) else _not_joined(case, call, root)


def _minority_ahead(case: Case, call: StuckCall) -> bool:
    """Few made a call that most of the group, idle, did not, and that nothing earlier led to expect."""
    standing = case.standings(call)
    made = standing[Standing.JOINED] + standing[Standing.QUEUED]
    idle = [r for r in standing[Standing.ABSENT] if not case.waits.heads.get(r)]
    if not made or len(idle) <= len(case.job.groups[call.group].ranks) / 2:
        return False
    lane = case.tokens.in_group(call.group, made[0], 0)
    row = case.waits.row(made[0], call)
    if lane is None or row is None or row not in lane.rows:
        return False
    n = lane.rows.index(row)
    return lane.tokens[n] not in foresee(lane.tokens[:n])[:1]


def _ahead(case: Case, call: StuckCall, root: Root) -> Finding:
    standing = case.standings(call)
    made = tuple(sorted(standing[Standing.JOINED] + standing[Standing.QUEUED]))
    place = (made[0], case.waits.row(made[0], call) or 0)
    return compose(
        case,
        "extra-call",
        LIKELY,
        Root(made, (call,), (), (), tuple(in_call(case.waits, call, made, root.ranks))),
        place,
        ranks=made,
        summary=f"{who(made).capitalize()} made {name(case, place, True)}{_site_of(case, call, list(made))}, which "
        f"none of the other {len(root.ranks)} ranks made; they wait for nothing.",
        evidence=(fact(case, place), f"{who(root.ranks)} finished all their calls and did not make this one"),
        next_steps=(deviant.NEXT["extra-call"].format(site=short(case.site(place)) or "the call", who=who(made)),),
        beside=partings.as_far(case, call, made, list(root.ranks)),
    )


def _not_joined(case: Case, call: StuckCall, root: Root) -> Finding:
    if found := flight.renamed(case, call, root):
        return found
    place = case.example(call)
    waiters = _waiters(case, call)
    # A gap in a ring (calls inside a CUDA graph are not recorded) may hide that the call was made.
    sure = set(root.ranks) <= set(case.standings(call)[Standing.ABSENT])
    idle = [f"rank {r} has no outstanding call; {last_call(case, r)}" for r in root.ranks[:NAMED]]
    left = [r for r in root.ranks if process.left(case.job, case.job.ranks[r])]
    proven = len(left) == len(root.ranks) and all(process.surely_left(case.job.ranks[r]) for r in left)
    whose = "its" if len(root.ranks) == 1 else f"rank {root.ranks[0]}'s"
    return compose(
        case,
        "not-joined",
        PROVEN if sure and proven else LIKELY if sure else POSSIBLE,
        root,
        place,
        ranks=root.ranks,
        summary=f"{who(root.ranks).capitalize()} never made {_missed(case, call, waiters)}"
        f"{_because(case, root.ranks, left)}; {last_call(case, root.ranks[0], call.group, whose)}.",
        evidence=([fact(case, place)] if place else []) + idle,
        next_steps=_where_to_look(case, root.ranks),
        call=call,
        focus=case.last_call(root.ranks[0]),
        beside=partings.as_far(case, call, root.ranks, waiters),
    )


def _missed(case: Case, call: StuckCall, waiters: list[int]) -> str:
    """What a rank did not make, and who waits in what: of a send or recv, the other half."""
    stuck = f"{stuck_name(case, call)}{_site_of(case, call, waiters)}"
    wait = f"{many(waiters)} {verb(waiters, 'waits', 'wait')}"
    if not call.p2p:
        return f"{stuck}, in which {wait}"
    half = {"send": "recv", "recv": "send"}.get(stuck.partition(" ")[0], "other half")
    return f"the {half} for which {wait} in {stuck}"


def _because(case: Case, ranks: tuple[int, ...], left: list[int]) -> str:
    """Why a rank did not make a call, where the recorder saw it: of several that left, the one that did so first."""
    if left:
        first = min((case.job.ranks[r] for r in left), key=lambda dump: dump.dumped_ns)
        return f", because {process.ended(first)}"
    inside = ((r, process.was_in(case.job.ranks[r])) for r in ranks)
    return next((f"; rank {r} was in {frames}" for r, frames in inside if frames), "")


def _where_to_look(case: Case, ranks: tuple[int, ...]) -> list[str]:
    steps = [step for rank in ranks[:2] for step in where_it_was(case, rank)]
    first = case.job.ranks[ranks[0]]
    if steps and process.failure(first):
        return steps
    if first.ended:
        return [
            *steps,
            f"read the end of the log of rank {first.rank}: did its loop end early, or did it exit by itself?",
        ]
    return [*steps, kernel_log(case, ranks[0])]


def _waiters(case: Case, call: StuckCall) -> list[int]:
    if call.p2p:
        return [call.rank]
    standing = case.standings(call)
    return standing[Standing.JOINED] + standing[Standing.QUEUED]


def _no_dump(case: Case, call: StuckCall, root: Root) -> Finding:
    place = case.example(call)
    waiters = _waiters(case, call)
    broken = [p for p in case.job.problems if p.rank in root.ranks]
    label = case.job.groups[call.group].label
    return compose(
        case,
        "no-dump",
        LIKELY if case.mostly_here and not any(r in case.job.ranks for r in root.ranks) else POSSIBLE,
        root,
        place,
        ranks=root.ranks,
        summary=f"{who(root.ranks).capitalize()} left no {'readable ' if broken else ''}dump, and {many(waiters)} "
        f"{verb(waiters, 'waits', 'wait')} for {verb(root.ranks, 'it', 'them')} in "
        f"{stuck_name(case, call)}{_site_of(case, call, waiters)}.",
        evidence=(
            *(f"rank {r} is a member of {label}, but {_lack(case, r)}" for r in root.ranks[:NAMED]),
            *(f"{p.file}: {p.detail}" for p in broken),
            *last_seen(case, root.ranks[:NAMED]),
            *([fact(case, place)] if place else []),
        ),
        next_steps=(
            *_where_the_files_are(case, root.ranks),
            kernel_log(case, root.ranks[0]),
            f"read the end of the log of {who(root.ranks)}: a process that is killed leaves no dump",
        ),
        call=call,
    )


def _where_the_files_are(case: Case, ranks: tuple[int, ...]) -> list[str]:
    host = "its own host" if len(ranks) == 1 else "their own hosts"
    step = f"look for the file of {who(ranks)} on {host}: dumps lie on the node's local disk by default"
    if case.mostly_here:
        return [step]
    return [
        f"copy the files of all hosts into this folder: {len(case.job.ranks)} of {len(case.job.world)} are here",
        step,
    ]


def _site_of(case: Case, call: StuckCall, waiters: list[int]) -> str:
    return at_all(case, made_by(case, call, waiters))


def _lack(case: Case, rank: int) -> str:
    return "the newest entries of its file are cut off" if rank in case.job.ranks else "no file of it could be read"


def _stale(case: Case, call: StuckCall, root: Root) -> Finding:
    stale = case.waits.stale
    place = (root.ranks[0], stale[root.ranks[0]][0])
    # gloo may finish a call on one side over which the two sides disagree.
    deviation = partings.in_group(case, case.call(place).group, ahead_ok=True)
    if deviation and deviation.witness != NOBODY:
        return deviant.finding(case, deviation, root)
    return compose(
        case,
        "stale",
        LIKELY if len(stale[place[0]]) > 1 else POSSIBLE,
        root,
        place,
        ranks=root.ranks,
        summary=f"{who(root.ranks).capitalize()} still {verb(root.ranks, 'shows', 'show')} {name(case, place)}"
        f"{at_all(case, [place])} as open, which other members finished: device, context or watchdog is dead.",
        evidence=(
            *(
                f"rank {r} shows {count(len(stale[r]), 'call')} as open that other members finished"
                for r in root.ranks[:NAMED]
            ),
            fact(case, place),
            f"others wait for it in {stuck_name(case, call)}",
        ),
        next_steps=(*(kernel_log(case, r) for r in root.ranks[:2]), look_at(case, root.ranks[0])),
    )
