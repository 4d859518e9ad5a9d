"""The case: what every verdict is drawn from, and the small questions that they all ask."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Callable

from frtui.engine import lanes as lanes_of
from frtui.engine import waits as waits_of
from frtui.engine.agree import unknown_content
from frtui.engine.lanes import Lanes
from frtui.engine.roots import Root, roots
from frtui.engine.tokens import Tokens
from frtui.engine.waits import Standing, StuckCall, Waits
from frtui.engine.witnesses import Deviation
from frtui.model import Call, Frame, Job


@dataclass
class Case:
    """One job under investigation."""

    job: Job
    lanes: Lanes
    waits: Waits
    tokens: Tokens
    roots: list[Root]
    check: Callable[[], None]
    """Raises where somebody no longer wants the answer."""
    deviations: dict[tuple[int, bool], Deviation | None] = field(default_factory=dict)
    """What `partings.in_group` found, by (group, ahead_ok): several verdicts ask."""
    examples: dict[StuckCall, tuple[int, int] | None] = field(default_factory=dict)
    """What `example` found: a group may have a million members, and several verdicts ask."""

    @classmethod
    def open(cls, job: Job, check: Callable[[], None]) -> Case:
        lanes = lanes_of.build(job, check)
        waits = waits_of.build(lanes)
        check()
        return cls(job, lanes, waits, Tokens(lanes), roots(waits), check)

    @cached_property
    def waits_for(self) -> dict[int, list[StuckCall]]:
        """rank -> the stuck calls that wait for it. A stranger's group may have a million members without a dump."""
        found: dict[int, list[StuckCall]] = {}
        for call, targets in self.waits.edges.items():
            if isinstance(call, StuckCall):
                for rank in dict.fromkeys(targets):
                    found.setdefault(rank, []).append(call)  # type: ignore[arg-type]  # calls wait for ranks
        return found

    @property
    def mostly_here(self) -> bool:
        """Where most dumps are missing, the folder is just not complete, and a missing one tells nothing."""
        return 2 * len(self.job.missing) <= len(self.job.world)

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
        if call not in self.examples:
            self.examples[call] = (call.rank, call.row) if call.p2p else self._example(call)
        return self.examples[call]

    def _example(self, call: StuckCall) -> tuple[int, int] | None:
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
        return [n for n in range(len(self.job.groups)) if n != group and self.kind(n) == self.kind(group)]

    def kind(self, group: int) -> tuple[str, int]:
        return self.job.groups[group].kind

    def next_p2p(self, group: int, rank: int) -> list[tuple[int, int]]:
        """(rank, row) of the send or recv that comes next for `rank`, from those in its place in sibling groups."""
        own = self._p2p_rows(group, rank) if rank in self.job.ranks else []
        members = self.job.groups[group].ranks
        if not own or rank not in members:
            return []
        place = members.index(rank)
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
        return [row for row in self.rows_in(group, rank) if self.job.ranks[rank].entries.p2p[row]]

    def rows_in(self, group: int, rank: int) -> list[int]:
        """Rows of a rank's calls in a group, without closing entries whose batch fell out of the ring."""
        dump = self.job.ranks[rank]
        e = dump.entries
        signature = self.job.signatures
        rows = [row for row in dump.calls if e.group[row] == group]
        return [row for row in rows if not unknown_content(signature[e.signature[row]])]
