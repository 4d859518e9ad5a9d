"""Where ranks part from the others: whom to compare with whom, over which calls.

Within a group the members' collectives should be equal. Over several groups, or with sends and recvs,
only ranks that play the same part in the program can be compared.
"""

from __future__ import annotations

from dataclasses import replace

from frtui.engine.align import script
from frtui.engine.case import Case
from frtui.engine.finding import Beside
from frtui.engine.tokens import Sequence
from frtui.engine.waits import StuckCall
from frtui.engine.witnesses import MEMBERS, NOBODY, SIBLINGS, Deviation, compare

Kind = tuple[str, int]

NEAR = 128
"""So many calls before the one that was not made are lined up to show it."""


def in_group(case: Case, group: int, ahead_ok: bool) -> Deviation | None:
    """Where the collectives of the group's members part; None where they do not."""
    if (group, ahead_ok) not in case.deviations:
        case.deviations[group, ahead_ok] = _in_group(case, group, ahead_ok)
    return case.deviations[group, ahead_ok]


def _in_group(case: Case, group: int, ahead_ok: bool) -> Deviation | None:
    lanes = case.lanes.collectives.get(group, {})
    if len(lanes) < 2:
        return None
    start = max(lane.first for lane in lanes.values())
    mine = [s for rank in lanes if (s := case.tokens.in_group(group, rank, start)) and s.tokens]
    found = compare(case.tokens, mine, lambda: _sibling_lanes(case, group, start), ahead_ok, one_program=True)
    if found and found.kind == "skipped-call" and found.foreseen:
        # One group alone cannot tell a call left out from one added: what the rank did elsewhere can.
        return _over_all_groups(case, found) or found
    return found


def _over_all_groups(case: Case, found: Deviation) -> Deviation | None:
    rank = found.ranks[0]
    groups = {g for g, lanes in case.lanes.collectives.items() if rank in lanes}
    wider = across(case, found.ranks, groups) if len(groups) > 1 else None
    return wider if wider and wider.ranks == found.ranks and wider.witness != NOBODY else None


def _sibling_lanes(case: Case, group: int, start: int) -> list[Sequence]:
    """The furthest lane of each sibling group that still holds the calls from `start` on."""
    found = []
    for sibling in case.siblings(group):
        lanes = case.lanes.collectives.get(sibling, {})
        rank = max((r for r in lanes if lanes[r].first <= start), key=lambda r: len(lanes[r].rows), default=None)
        if rank is not None and (sequence := case.tokens.in_group(sibling, rank, start)):
            found.append(sequence)
    return found


def across(case: Case, ranks: tuple[int, ...], groups: set[int]) -> Deviation | None:
    """Where `ranks` part from all ranks of the job that have groups of these kinds, over the groups together."""
    kinds = {case.kind(g) for g in groups}
    mine = {rank: _groups_of_kinds(case, rank, kinds) for rank in case.job.ranks}
    electorate = [rank for rank, found in mine.items() if len({case.kind(g) for g in found}) == len(kinds)]
    starts = {kind: _start(case, kind, mine, electorate) for kind in kinds} if electorate else {}
    sequences = [_merged(case, rank, mine[rank], starts) for rank in electorate]
    deviation = compare(case.tokens, [s for s in sequences if s.tokens], list, ahead_ok=False)
    return deviation if deviation and set(deviation.ranks) & set(ranks) else None


def as_far(case: Case, call: StuckCall, blamed: tuple[int, ...], others: list[int]) -> Beside | None:
    """The calls up to `call` of the first of the blamed ranks beside those of `others`: one side has not made it."""
    lanes = case.lanes.collectives.get(call.group, {})
    rank, other = blamed[0], min((r for r in others if r in case.job.ranks), default=None)
    if call.p2p or other is None or rank not in case.job.ranks:
        return None
    start = max([call.seq - NEAR, *(lanes[r].first for r in (rank, other) if r in lanes)])
    nothing = Sequence(rank, (), (), 0)
    mine, theirs = (case.tokens.in_group(call.group, r, start) or nothing for r in (rank, other))
    edits = tuple(script(mine.tokens, theirs.tokens))
    asked = sum(r in case.job.ranks and r not in blamed for r in case.job.groups[call.group].ranks)
    agree = tuple(sorted(others))
    rows = [case.waits.row(r, call) for r in agree]
    known = tuple(row for row in rows if row is not None)
    known = known if len(known) == len(agree) else ()
    return Beside(rank, mine.rows, other, theirs.rows, edits, len(edits), agree=agree, asked=asked, agree_rows=known)


def _groups_of_kinds(case: Case, rank: int, kinds: set[Kind]) -> list[int]:
    return [g for g, lanes in case.lanes.collectives.items() if rank in lanes and case.kind(g) in kinds]


def _start(case: Case, kind: Kind, mine: dict[int, list[int]], electorate: list[int]) -> int:
    """The first sequence number that all of the electorate still hold in their groups of a kind."""
    return max(case.lanes.collectives[g][r].first for r in electorate for g in mine[r] if case.kind(g) == kind)


def _merged(case: Case, rank: int, groups: list[int], starts: dict[Kind, int]) -> Sequence:
    rows = []
    for group in groups:
        lane = case.lanes.collectives[group][rank]
        rows += [row for row, seq in zip(lane.rows, lane.seqs) if seq >= starts[case.kind(group)]]
    return case.tokens.sequence(rank, sorted(rows), groups=True)


def in_role(case: Case, group: int, rank: int) -> Deviation | None:
    """Where a rank's calls in a group, sends and recvs among them, part from those of ranks with its role.

    These are the ranks in its place in the sibling groups or, in a ring, where all members do the same
    with their neighbours, the other members.
    """
    if rank not in case.job.groups[group].ranks or rank not in case.job.ranks:
        return None
    return _in_its_place(case, group, rank) or _in_a_ring(case, group, rank)


def _in_its_place(case: Case, group: int, rank: int) -> Deviation | None:
    place = case.job.groups[group].ranks.index(rank)
    roles = [(g, case.job.groups[g].ranks[place]) for g in [group, *case.siblings(group)]]
    sequences = _programs(case, [(g, r) for g, r in roles if r in case.job.ranks], ring=False)
    if rank not in {s.rank for s in sequences}:
        return None
    # With a single sibling it is one against one; the sibling's group is not the one that hangs here.
    others = [s for s in sequences if s.rank != rank]
    found = compare(case.tokens, sequences, lambda: others, ahead_ok=False)
    if found is None or found.witness not in (MEMBERS, SIBLINGS) or found.ranks != (rank,):
        return None
    return replace(found, witness=SIBLINGS, voters=len(others))


def _in_a_ring(case: Case, group: int, rank: int) -> Deviation | None:
    members = [r for r in case.job.groups[group].ranks if r in case.job.ranks]
    sequences = _programs(case, [(group, r) for r in members], ring=True)
    found = compare(case.tokens, sequences, list, ahead_ok=False)
    # Stages of a pipeline differ by nature: only where all the others agree is it a ring.
    alone = found is not None and found.ranks == (rank,) and found.witness == MEMBERS
    return found if found and alone and found.voters >= len(members) - 1 >= 2 else None


def in_stage(case: Case, rank: int) -> Deviation | None:
    """Where all that a rank did, in all its groups, parts from what the other ranks of its stage did.

    A stage are the ranks in the same place of those groups that send and receive.
    """
    if rank not in case.job.ranks:
        return None
    e = case.job.ranks[rank].entries
    used = {e.group[row] for row in case.job.ranks[rank].calls if e.p2p[row]}
    passing = sorted(group for group in used if rank in case.job.groups[group].ranks)
    if not passing:
        return None
    place = case.job.groups[passing[0]].ranks.index(rank)
    mates = [case.job.groups[g].ranks[place] for g in [passing[0], *case.siblings(passing[0])]]
    sequences = _whole_programs(case, [r for r in mates if r in case.job.ranks])
    others = [s for s in sequences if s.rank != rank]
    found = compare(case.tokens, sequences, lambda: others, ahead_ok=False)
    decided = found is not None and found.ranks == (rank,) and found.witness in (MEMBERS, SIBLINGS)
    return found if decided else None


def _whole_programs(case: Case, ranks: list[int]) -> list[Sequence]:
    """All calls of each rank, from where all of them still hold each kind of call."""
    numbers: dict[int, list[tuple[int, tuple[Kind, int], int]]] = {r: _numbered(case, r) for r in ranks}
    starts: dict[tuple[Kind, int], int] = {}
    for rows in numbers.values():
        firsts: dict[tuple[Kind, int], int] = {}
        for _, lane, number in rows:
            firsts.setdefault(lane, number)
        for lane, number in firsts.items():
            starts[lane] = max(number, starts.get(lane, 0))
    kept = {r: [row for row, lane, number in rows if number >= starts[lane]] for r, rows in numbers.items()}
    return [case.tokens.sequence(r, rows, groups=True) for r, rows in kept.items() if rows]


def _numbered(case: Case, rank: int) -> list[tuple[int, tuple[Kind, int], int]]:
    """(row, lane, sequence number) of each call of a rank, a lane being a kind of group and whether it is p2p."""
    e = case.job.ranks[rank].entries
    return [
        (row, (case.kind(e.group[row]), e.p2p[row]), e.p2p_seq[row] if e.p2p[row] else e.seq[row])
        for row in case.job.ranks[rank].calls
    ]


def _programs(case: Case, roles: list[tuple[int, int]], ring: bool) -> list[Sequence]:
    """All calls of each (group, rank) in its group, from the first that all of them still hold."""
    rows = {(g, r): case.rows_in(g, r) for g, r in roles}
    rows = {role: found for role, found in rows.items() if any(case.job.ranks[role[1]].entries.p2p[n] for n in found)}
    starts = {
        p2p: max((_first(case, rank, found, p2p) for (_, rank), found in rows.items()), default=0) for p2p in (0, 1)
    }
    sequences = []
    for (group, rank), found in rows.items():
        e = case.job.ranks[rank].entries
        kept = [n for n in found if (e.p2p_seq[n] if e.p2p[n] else e.seq[n]) >= starts[e.p2p[n]]]
        members = case.job.groups[group].ranks
        place = (members.index(rank), len(members)) if ring else None
        sequences.append(case.tokens.sequence(rank, kept, ring=place))
    return [s for s in sequences if s.tokens]


def _first(case: Case, rank: int, rows: list[int], p2p: int) -> int:
    """The first number of a rank's sends and recvs, or of its collectives, in these rows."""
    e = case.job.ranks[rank].entries
    return next((e.p2p_seq[n] if p2p else e.seq[n] for n in rows if e.p2p[n] == p2p), 0)
