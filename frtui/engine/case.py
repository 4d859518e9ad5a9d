"""The case: what every verdict is drawn from, and the small questions that they all ask."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from frtui.engine import lanes as lanes_of
from frtui.engine import waits as waits_of
from frtui.engine.agree import canonical
from frtui.engine.lanes import Lanes
from frtui.engine.tokens import Sequence, Tokens
from frtui.engine.waits import Root, Standing, StuckCall, Waits
from frtui.engine.witnesses import MEMBERS, SIBLINGS, Deviation, compare
from frtui.model import Call, Frame, Job


@dataclass
class Case:
    """One job under investigation."""

    job: Job
    lanes: Lanes
    waits: Waits
    tokens: Tokens
    roots: list[Root]
    _deviations: dict[tuple[int, bool], Deviation | None] = field(default_factory=dict)

    @classmethod
    def open(cls, job: Job) -> Case:
        lanes = lanes_of.build(job)
        waits = waits_of.build(lanes)
        return cls(job, lanes, waits, Tokens(lanes), waits_of.roots(waits))

    def call(self, at: tuple[int, int]) -> Call:
        return self.job.call(*at)

    def site(self, at: tuple[int, int] | None) -> Frame | None:
        return self.tokens.site(*at) if at else None

    def unseen(self, rank: int) -> bool:
        """What this rank did last is not known: it left no dump, or one whose newest entries are cut off."""
        dump = self.job.ranks.get(rank)
        return dump is None or dump.truncated

    def standings(self, call: StuckCall) -> dict[Standing, list[int]]:
        """standing -> ranks, for the members of a stuck call."""
        found: dict[Standing, list[int]] = {standing: [] for standing in Standing}
        for rank, standing in self.waits.peers(call).items():
            found[standing].append(rank)
        return found

    def example(self, call: StuckCall) -> tuple[int, int] | None:
        """(rank, row) of a stuck call, from the lowest rank that made it."""
        if call.p2p:
            return call.rank, call.row
        for rank in sorted(self.job.groups[call.group].ranks):
            row = self.waits.row(rank, call) if rank in self.job.ranks else None
            if row is not None:
                return rank, row
        return None

    def last_call(self, rank: int) -> tuple[int, int] | None:
        """(rank, row) of the last finished call of a rank, of any group."""
        dump = self.job.ranks.get(rank)
        rows = dump.calls if dump else ()
        done = dump.entries.done if dump else ()
        return next(((rank, row) for row in reversed(rows) if done[row]), None)

    def siblings(self, group: int) -> list[int]:
        """Other groups of the same description and size: they run the same program."""
        if not self.job.groups[group].desc:
            return []
        return [n for n in range(len(self.job.groups)) if n != group and self._kind(n) == self._kind(group)]

    def deviation(self, group: int, ahead_ok: bool) -> Deviation | None:
        """Where the collectives of the group's members part; None where they do not."""
        if (group, ahead_ok) not in self._deviations:
            self._deviations[group, ahead_ok] = self._deviation(group, ahead_ok)
        return self._deviations[group, ahead_ok]

    def _deviation(self, group: int, ahead_ok: bool) -> Deviation | None:
        lanes = self.lanes.collectives.get(group, {})
        if len(lanes) < 2:
            return None
        start = max(lane.first for lane in lanes.values())
        mine = [s for rank in lanes if (s := self.tokens.in_group(group, rank, start)) and s.tokens]
        found = compare(self.tokens, mine, lambda: self._sibling_lanes(group, start), ahead_ok)
        if found and found.kind == "skipped-call" and found.foreseen:
            # One group alone cannot tell a call left out from one added: what the rank did elsewhere can.
            return self._over_all_groups(found) or found
        return found

    def _over_all_groups(self, found: Deviation) -> Deviation | None:
        rank = found.ranks[0]
        groups = {g for g, lanes in self.lanes.collectives.items() if rank in lanes}
        wider = self.across(found.ranks, groups) if len(groups) > 1 else None
        return wider if wider and wider.ranks == found.ranks and wider.witness == found.witness else None

    def _sibling_lanes(self, group: int, start: int) -> list[Sequence]:
        """The furthest lane of each sibling group that still holds the calls from `start` on."""
        found = []
        for sibling in self.siblings(group):
            lanes = self.lanes.collectives.get(sibling, {})
            rank = max((r for r in lanes if lanes[r].first <= start), key=lambda r: len(lanes[r].rows), default=None)
            if rank is not None and (sequence := self.tokens.in_group(sibling, rank, start)):
                found.append(sequence)
        return found

    def across(self, ranks: tuple[int, ...], groups: set[int]) -> Deviation | None:
        """Where `ranks` part from all ranks of the job that have groups of these kinds, over the groups together."""
        kinds = {(self.job.groups[g].desc, len(self.job.groups[g].ranks)) for g in groups}
        mine = {rank: self._groups_of_kinds(rank, kinds) for rank in self.job.ranks}
        electorate = [rank for rank, found in mine.items() if len({self._kind(g) for g in found}) == len(kinds)]
        starts = {kind: self._start(kind, mine, electorate) for kind in kinds} if electorate else {}
        sequences = [self._merged(rank, mine[rank], starts) for rank in electorate]
        deviation = compare(self.tokens, [s for s in sequences if s.tokens], list, ahead_ok=False)
        return deviation if deviation and set(deviation.ranks) & set(ranks) else None

    def _start(self, kind: tuple[str, int], mine: dict[int, list[int]], electorate: list[int]) -> int:
        """The first sequence number that all of the electorate still hold in their groups of a kind."""
        return max(self.lanes.collectives[g][r].first for r in electorate for g in mine[r] if self._kind(g) == kind)

    def _kind(self, group: int) -> tuple[str, int]:
        return self.job.groups[group].desc, len(self.job.groups[group].ranks)

    def _groups_of_kinds(self, rank: int, kinds: set[tuple[str, int]]) -> list[int]:
        return [g for g, lanes in self.lanes.collectives.items() if rank in lanes and self._kind(g) in kinds]

    def _merged(self, rank: int, groups: list[int], starts: dict[tuple[str, int], int]) -> Sequence:
        rows = []
        for group in groups:
            lane = self.lanes.collectives[group][rank]
            rows += [row for row, seq in zip(lane.rows, lane.seqs) if seq >= starts[self._kind(group)]]
        return self.tokens.sequence(rank, sorted(rows), groups=True)

    def same_role(self, group: int, rank: int) -> Deviation | None:
        """Where the sends and recvs of `rank` part from those of the rank in its place in each sibling group."""
        place = self.job.groups[group].ranks.index(rank)
        roles = [(g, self.job.groups[g].ranks[place]) for g in [group, *self.siblings(group)]]
        rows = {r: self._p2p_rows(g, r) for g, r in roles if r in self.job.ranks}
        rows = {r: found for r, found in rows.items() if found}
        if rank not in rows or len(rows) < 2:
            return None
        start = max(self.job.ranks[r].entries.p2p_seq[found[0]] for r, found in rows.items())
        sequences = []
        for r, found in rows.items():
            seqs = self.job.ranks[r].entries.p2p_seq
            sequences.append(self.tokens.sequence(r, [row for row in found if seqs[row] >= start]))
        deviation = compare(self.tokens, [s for s in sequences if s.tokens], list, ahead_ok=False)
        if deviation is None or rank not in deviation.ranks or deviation.witness != MEMBERS:
            return None
        return replace(deviation, witness=SIBLINGS)

    def next_p2p(self, group: int, rank: int) -> list[tuple[int, int]]:
        """(rank, row) of the send or recv that comes next for `rank`, from those in its place in sibling groups."""
        own = self._p2p_rows(group, rank) if rank in self.job.ranks else []
        place = self.job.groups[group].ranks.index(rank)
        if not own:
            return []
        seq = self.job.ranks[rank].entries.p2p_seq[own[-1]] + 1
        peers = [(g, self.job.groups[g].ranks[place]) for g in self.siblings(group)]
        return [
            (peer, row)
            for g, peer in peers
            if peer in self.job.ranks
            for row in self._p2p_rows(g, peer)
            if self.job.ranks[peer].entries.p2p_seq[row] == seq
        ]

    def _p2p_rows(self, group: int, rank: int) -> list[int]:
        """Rows of sends, recvs and batches, without closing entries whose batch fell out of the ring."""
        dump = self.job.ranks[rank]
        e = dump.entries
        rows = [row for row in dump.calls if e.group[row] == group and e.p2p[row]]
        return [
            row for row in rows if (s := self.job.signatures[e.signature[row]]).parts or canonical(s.op) != "coalesced"
        ]
