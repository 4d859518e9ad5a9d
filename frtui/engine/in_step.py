"""Findings about a call that all members made alike: the program is right, and still nobody finishes."""

from __future__ import annotations

from frtui.engine import process
from frtui.engine.agree import ROOTED, canonical
from frtui.engine.case import Case
from frtui.engine.finding import LIKELY, Finding
from frtui.engine.roots import Root
from frtui.engine.timing import late_ranks
from frtui.engine.waits import StuckCall
from frtui.engine.wording import at, at_all, compose, fact, host, kernel_log, look_at, made_by, name, verb
from frtui.model import NONE, SCHEDULED, STARTED
from frtui.stacks import short
from frtui.text import who

_RERUN = "rerun with NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET and TORCH_NCCL_ENABLE_TIMING=1"
NAMED = 8
"""So many ranks are named one by one in the evidence; the screen lists all."""


def agreed(case: Case, call: StuckCall, root: Root) -> Finding:
    """Why a collective that all joined with equal arguments does not finish."""
    found = _straggler(case, call, root) or _queued_behind(case, call, root) or _init_stuck(case, call, root)
    return found or stuck(case, call, root)


def _queued_behind(case: Case, call: StuckCall, root: Root) -> Finding | None:
    """Some devices have begun with the call and others have not; seen only where timing was on."""
    rows = {r: row for r in root.ranks if (row := case.waits.row(r, call)) is not None}
    states = {r: case.job.ranks[r].entries.state[row] for r, row in rows.items()}
    late = tuple(sorted(r for r, state in states.items() if state == SCHEDULED))
    begun = tuple(sorted(r for r, state in states.items() if state == STARTED))
    if not late or len(begun) <= len(late):
        return None
    place = (late[0], rows[late[0]])
    return compose(
        case,
        "queued-behind",
        LIKELY,
        root,
        place,
        ranks=late,
        summary=f"{who(late).capitalize()} enqueued {name(case, place)}{at_all(case, [(r, rows[r]) for r in late])}, "
        f"but {verb(late, 'its device has', 'their devices have')} not begun with it, while {len(begun)} others have.",
        evidence=[*(fact(case, (r, rows[r])) for r in late[:NAMED]), f"{who(begun)} started the call"],
        next_steps=[
            f"find what the device of {who(late[:1])} works on: a long kernel, or a copy or event it waits for",
            look_at(case, late[0]),
        ],
    )


def _init_stuck(case: Case, call: StuckCall, root: Root) -> Finding | None:
    """The first call of a group in which some members never got a communicator.

    torch writes a group into `pg_config` when its communicator exists, not when the group is made.
    """
    members = [r for r in case.job.groups[call.group].ranks if r in case.job.ranks]
    having = [r for r in members if call.group in case.job.ranks[r].config]
    lacking = tuple(r for r in members if r not in having)
    row = case.waits.row(lacking[0], call) if lacking else None
    if call.seq != 1 or not having or row is None:
        return None
    label = case.job.groups[call.group].label
    place = (lacking[0], row)
    return compose(
        case,
        "init-stuck",
        LIKELY,
        root,
        place,
        ranks=lacking,
        summary=f"The communicator of {label} never came up on {who(lacking)}, so its first call, "
        f"{name(case, place)}{at(case.site(place))}, cannot begin.",
        evidence=[
            fact(case, place),
            f"{len(having)} members have {label} in their pg_config, {who(lacking)} "
            f"{verb(lacking, 'has', 'have')} it not",
        ],
        next_steps=[
            "rerun with NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET: the log of these ranks says where they stop",
            look_at(case, lacking[0]),
        ],
    )


def _straggler(case: Case, call: StuckCall, root: Root) -> Finding | None:
    late = late_ranks(case.waits, call)
    if not late:
        return None
    ranks = tuple(sorted(late))
    place = (ranks[0], case.waits.row(ranks[0], call) or 0)
    seconds = max(late.values())
    return compose(
        case,
        "straggler",
        LIKELY,
        root,
        place,
        ranks=ranks,
        summary=f"{who(ranks).capitalize()} joined {name(case, place)}{at_all(case, made_by(case, call, ranks))} "
        f"{seconds:,.0f} s after the others{_before_timeout(case, call, late)}.",
        evidence=[
            *(f"rank {r} made the call {late[r]:,.1f} s later than the others" for r in ranks[:NAMED]),
            "the ranks' clocks were compared over the calls before",
            fact(case, place),
            "all members joined with the same arguments",
        ],
        next_steps=[f"find what {who(ranks)} did {_between(case, place)}: loading data, a checkpoint, a slow host"],
    )


def _before_timeout(case: Case, call: StuckCall, late: dict[int, float]) -> str:
    """`, 10 s before their timeout of 600 s`: of those who waited; empty where it isn't known."""
    waited = [p for p in made_by(case, call, case.job.groups[call.group].ranks) if p[0] not in late]
    limits = [ms for rank, row in waited if (ms := case.job.ranks[rank].entries.timeout[row]) > 0]
    if not limits:
        return ""
    limit = min(limits) / 1000
    left = limit - max(late.values())
    before = f"{left:,.0f} s before" if left >= 0 else "after"
    return f", {before} their timeout of {limit:,.0f} s"


def _between(case: Case, place: tuple[int, int]) -> str:
    """Where the time went: between the rank's call before, and this one."""
    rank, row = place
    site = short(case.site(place)) or "the call"
    before = max((n for n in case.job.ranks[rank].calls if n < row), default=None)
    if before is None:
        return f"before {site}"
    earlier = (rank, before)
    times = [case.call(p).created for p in (earlier, place)]
    since, until = (f" ({process.clock(ns)})" if ns > 0 else "" for ns in times)
    return f"between {name(case, earlier)}{at(case.site(earlier))}{since} and {site}{until}"


def _sites(case: Case, call: StuckCall, place: tuple[int, int]) -> str:
    """Where the ranks made it; of a send or recv, the one shown."""
    return at_all(case, [place] if call.p2p else made_by(case, call, case.job.groups[call.group].ranks))


def stuck(case: Case, call: StuckCall, root: Root) -> Finding:
    place = case.example(call)
    assert place is not None  # a stuck call was made by somebody
    what = f"{name(case, place)}{_sites(case, call, place)}"
    alone = _refused(case, root.ranks)
    here = [r for r in root.ranks if r in case.job.ranks]
    left = [r for r in here if process.left(case.job, case.job.ranks[r])]
    failed = [r for r in here if process.failed(case.job.ranks[r])]
    ended = [f"the call of rank {r} failed with {process.brief(said)}" for r, said in alone.items()]
    ended += [process.ended(case.job.ranks[r]) for r in left[:NAMED]]
    made = made_by(case, call, here if call.p2p else case.job.groups[call.group].ranks)
    still = [r for r, row in made if not case.job.ranks[r].entries.done[row]]
    nobody = "nobody finishes" if len(still) == len(made) else f"{who(still)} did not finish"
    where = "look at the network, the devices or the library, not at the program"
    return compose(
        case,
        "all-joined-stuck",
        LIKELY,
        root,
        place,
        ranks=tuple(alone or failed),
        summary=f"All {len(case.waits.peers(call))} ranks of {what} joined it with matching arguments and {nobody}: "
        f"{ended[0] if ended else where}.",
        evidence=[fact(case, place), f"{who(root.ranks)} {verb(root.ranks, 'is', 'are')} in this call", *ended],
        next_steps=[
            *_by_hand(case, place),
            *(kernel_log(case, r) for r in left[:2]),
            f"on {host(case, root.ranks[0])} and the other hosts: `dmesg -T | grep -iE 'xid|nvlink|mlx|link'` "
            "shows device or network errors",
            *([] if case.call(place).signature.backend == "gloo" else [_RERUN]),
        ],
    )


def _by_hand(case: Case, place: tuple[int, int]) -> list[str]:
    """What matters to the call and is not in torch's dumps."""
    signature = case.call(place).signature
    if canonical(signature.op) not in ROOTED or signature.root != NONE:
        return []
    return [f"compare src or dst at {short(case.site(place)) or 'the call'} on all ranks: torch does not record it"]


def _refused(case: Case, ranks: tuple[int, ...]) -> dict[int, str]:
    """Those of the ranks whose own back end refused the call, with its error; none where it refused all."""
    known = [r for r in ranks if r in case.job.ranks]
    said = {r: process.refused(case.job.ranks[r], case.lanes.open[r]) for r in known}
    found = {r: text for r, text in said.items() if text}
    return found if len(found) < len(known) else {}
