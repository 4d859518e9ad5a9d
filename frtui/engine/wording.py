"""Phrases that all findings share, so that one thing has one name everywhere."""

from __future__ import annotations

from collections.abc import Iterable

from frtui.engine import process
from frtui.engine.agree import describe
from frtui.engine.case import Case
from frtui.engine.finding import Beside, Finding
from frtui.engine.roots import Root
from frtui.engine.waits import StuckCall
from frtui.model import NONE, Call, Frame, Rank
from frtui.stacks import call_site, program, short
from frtui.text import together, who


def many(ranks: Iterable[int], limit: int = 4) -> str:
    """The ranks by number where they are few, else their count: `61 ranks`."""
    numbers = sorted(set(ranks))
    return who(numbers) if len(numbers) <= limit else f"{len(numbers)} ranks"


def verb(ranks: Iterable[int], one: str, several: str) -> str:
    return one if len(set(ranks)) == 1 else several


def at(site: Frame | None) -> str:
    return f" at {short(site)}" if site else ""


def at_all(case: Case, places: Iterable[tuple[int, int]]) -> str:
    """Where several ranks made a call: ` at train.py:244 (rank 0 at :247)`. One rank's line is not the others'."""
    told = together({place[0]: short(case.site(place)) for place in places})
    return f" at {told}" if told else ""


def made_by(case: Case, call: StuckCall, ranks: Iterable[int]) -> list[tuple[int, int]]:
    """(rank, row) of a stuck call on those of the ranks that made it."""
    known = (rank for rank in ranks if rank in case.job.ranks)
    return [(rank, row) for rank in known if (row := case.waits.row(rank, call)) is not None]


def now_in(case: Case, ranks: tuple[int, ...], shown: tuple[int, int] | None) -> str:
    """`; rank 1 is now in all_reduce #17 of default_pg at job.py:25`; empty where that is the call shown already."""
    places = [(rank, rows[0]) for rank in ranks if (rows := case.waits.heads.get(rank))]
    if not places and not any(case.lanes.open.get(rank, True) for rank in ranks):
        return f"; {who(ranks)} {verb(ranks, 'is', 'are')} in no call now"
    if not places or places[0] == shown:
        return ""
    first = _where(case, places[0])
    same = [place for place in places if _where(case, place) == first]
    those = [place[0] for place in same]
    return f"; {who(those)} {verb(those, 'is', 'are')} now in {name(case, places[0])}{at_all(case, same)}"


def _where(case: Case, place: tuple[int, int]) -> tuple[int, int, bool, str]:
    call = case.call(place)
    return call.group, call.p2p_seq if call.p2p else call.seq, call.p2p, _peers(case, call)


def number(call: Call) -> str:
    seq = call.p2p_seq if call.p2p else call.seq
    return f"#{seq}" if seq != NONE else "without a number"


def name(case: Case, place: tuple[int, int], arguments: bool = False) -> str:
    """`all_reduce #85 of tp:7`, with `arguments` also its sizes: `all_reduce [4096] Float #85 of tp:7`."""
    call = case.call(place)
    only = call.signature.only
    what = describe(only) if arguments or only.parts else only.op
    return f"{what}{_peers(case, call)} {number(call)} of {case.job.groups[call.group].label}"


def described(case: Case, place: tuple[int, int], beside: tuple[int, int] | None = None) -> str:
    """What a rank made: `send [8] Float 0->1`; and its kind of group where `beside` would be told alike."""
    call = case.call(place)
    told = f"{describe(call.signature)}{_peers(case, call)}"
    if beside is None or told != described(case, beside):
        return told
    group = case.job.groups[call.group]
    return f"{told} of {group.desc or group.label}"


def _peers(case: Case, call: Call) -> str:
    src, dst = case.job.endpoints(call.group, call.signature.only)
    return f" {src}->{dst}" if src >= 0 and dst >= 0 else ""


def stuck_name(case: Case, call: StuckCall) -> str:
    """A stuck call by name, whoever made it."""
    place = case.example(call)
    return name(case, place) if place else f"#{call.seq} of {case.job.groups[call.group].label}"


def fact(case: Case, place: tuple[int, int]) -> str:
    """One call as evidence: who made what, where, in which state."""
    call = case.call(place)
    state = "finished" if call.done else "open"
    return (
        f"rank {call.rank}: {name(case, place, arguments=True)}{at(case.site(place))}, {state} (record {call.record})"
    )


def last_call(case: Case, rank: int, group: int | None = None, whose: str = "its") -> str:
    """What a rank did last, as a sentence part; where only pg_status tells, of `group` alone if it is given."""
    place = case.last_call(rank)
    if place is None:
        status = case.job.ranks[rank].status if rank in case.job.ranks else {}
        of = [g for g in sorted(status) if g == group or group is None]
        seen = [f"{case.job.groups[g].label} #{status[g].completed}" for g in of if status[g].completed >= 0]
        return f"{whose} dump holds no finished call" + (
            f" (pg_status: finished {', '.join(seen[:4])})" if seen else ""
        )
    return f"{whose} last finished call was {name(case, place)}{at(case.site(place))}"


def waiting_fact(case: Case, root: Root) -> list[str]:
    """How many wait because of this, and along which way."""
    if not root.waiting:
        return []
    targets: dict[int, list[int]] = {}
    for waiting, target in root.via:
        targets.setdefault(target, []).append(waiting)
    if len(targets) > 1 and {waiting for waiting, _ in root.via} == set(root.waiting) and len(root.waiting) == 1:
        return [f"{who(root.waiting)} waits as a consequence, for {many(sorted(targets))}"]
    told = [f"{many(ranks)} for {target}" for target, ranks in list(targets.items())[:4]]
    more = f", … for {len(targets) - 4} others" if len(targets) > 4 else ""
    alone = len(root.waiting) == 1
    ways = f": {', '.join(told)}{more}" if told else ""
    if len(targets) == 1 and set(root.waiting) == {waiting for waiting, _ in root.via}:
        ways = f", {'' if alone else 'all '}for rank {next(iter(targets))}"
    return [f"{who(root.waiting)} {verb(root.waiting, 'waits', 'wait')} as a consequence{ways}"]


def host(case: Case, rank: int) -> str:
    dump = case.job.ranks.get(rank)
    return f"{dump.host} (host of rank {rank})" if dump and dump.host else f"the host of rank {rank}"


def look_at(case: Case, rank: int) -> str:
    """The command that shows what a rank is doing."""
    dump = case.job.ranks.get(rank)
    pid = dump.pid if dump and dump.pid > 0 else "PID"
    return f"on {host(case, rank)}: `py-spy dump --native --pid {pid}` shows what rank {rank} is doing"


def where_it_was(case: Case, rank: int) -> tuple[str, ...]:
    """The line that a rank ended at or was in, where the recorder saw it; else, if it runs, what shows it."""
    dump = case.job.ranks[rank]
    failure = process.failure(dump)
    frames = program(failure.stack if failure else dump.threads[0].stack if dump.threads else ())
    if frames and (site := call_site(frames)):
        return (f"look at {site.place}, where rank {rank} was: {_what_to_find_out(dump)}",)
    return () if process.ended(dump) else (look_at(case, rank),)


def _what_to_find_out(dump: Rank) -> str:
    if process.stopped(dump):
        return "somebody stopped it there"
    if dump.error is not None:
        return f"find out why it raised {dump.error.type}"
    return "find out why it " + (f"crashed ({dump.crash.type})" if dump.crash else "did not come back from there")


def kernel_log(case: Case, rank: int) -> str:
    return f"on {host(case, rank)}: `dmesg -T | grep -iE 'xid|oom|killed'` shows a device error or a killed process"


def compose(
    case: Case,
    kind: str,
    confidence: str,
    root: Root,
    place: tuple[int, int] | None,
    *,
    ranks: tuple[int, ...],
    summary: str,
    evidence: Iterable[str],
    next_steps: Iterable[str],
    call: StuckCall | None = None,
    site: Frame | None = None,
    focus: tuple[int, int] | None = None,
    beside: Beside | None = None,
) -> Finding:
    """A finding about the call at `place`; `call` names the group and number where nobody recorded the call.

    Whoever is in the root or waits for it and is not blamed is stuck because of it.
    """
    what = case.call(place) if place else None
    seq = (what.p2p_seq if what.p2p else what.seq) if what else call.seq if call else None
    return Finding(
        kind=kind,
        confidence=confidence,
        summary=summary,
        ranks=ranks,
        group=what.group if what else call.group if call else None,
        op=what.signature.only.op if what else "",
        seq=seq,
        p2p=what.p2p if what else bool(call and call.p2p),
        site=site or case.site(place),
        evidence=(*evidence, *waiting_fact(case, root)),
        waiting=tuple(sorted({*root.waiting, *root.ranks} - set(ranks))),
        via=root.via,
        next_steps=tuple(next_steps),
        focus=focus or place,
        waits=root.waits,
        beside=beside,
    )
