"""The page behind `x`: one call across its group."""

from __future__ import annotations

from frtui.model import NONE, Call
from frtui.stacks import doing
from frtui.text import count, ranges
from frtui.view import process
from frtui.view.across import NO_DUMP, Across, Same, across, across_p2p
from frtui.view.index import Index
from frtui.view.rows import Line, Linked, wrap
from frtui.view.words import BAD, DOUBT, NOT_HERE, clock, number, operation, span, state


class AcrossPage(Linked):
    """Lines that name a rank, which is their key, lead to its call."""

    def __init__(self, index: Index, group: int, seq: int, call: Call | None, blamed: tuple[int, ...] = ()) -> None:
        """`call` is the one that was looked at, if the rank has made it; else only its number is known."""
        self.index, self.group, self.seq, self.call, self.blamed = index, group, seq, call, frozenset(blamed)
        self.p2p = call is not None and call.p2p
        self.found: Across = across_p2p(index, call) if call and call.p2p else across(index, group, seq)
        super().__init__(self.lay_out)

    def lay_out(self, width: int) -> list[Line]:
        members = len(self.index.job.groups[self.group].ranks)
        made = sum(len(same.calls) for same in self.found.same)
        name = f"p2p #{self.call.p2p_seq}" if self.call and self.p2p else f"#{self.seq}"
        told = f"{self.index.job.groups[self.group].label} {name}"
        how = "and what answers it" if self.p2p else f"made by {made} of {count(members, 'rank')}"
        lines: list[Line] = [[(part, "bold")] for part in wrap(f"{told}  {how}", width)]
        self.links.clear()
        absent = sorted(self.found.absent, key=lambda kind: self.blamed.isdisjoint(kind[1]))
        accused = [kind for kind in absent if not self.blamed.isdisjoint(kind[1])]
        for why, ranks in accused:
            lines += self.say_absent(why, ranks, width, len(lines) + 1)
        for same in sorted(self.found.same, key=lambda same: self.blamed.isdisjoint(same.ranks)):
            lines += self.say_kind(same, width)
            for rank, row in sorted(same.calls, key=lambda call: call[0] not in self.blamed):
                self.links[len(lines)] = (rank, rank, row)
                lines.append(self.say_rank(rank, row))
        for why, ranks in absent[len(accused) :]:
            lines += self.say_absent(why, ranks, width, len(lines) + 1)
        return lines

    def say_kind(self, same: Same, width: int) -> list[Line]:
        fewer = len(self.found.same) > 1 and len(same.calls) < len(self.found.same[-1].calls)
        head = f"{count(len(same.calls), 'rank')}  {same.op} {same.arguments}".rstrip()
        site = f"  at {same.site}" if same.site else "  recorded without a stack"
        return [[(part, "bad" if fewer else "bold")] for part in wrap(head + site, width)]

    def say_rank(self, rank: int, row: int) -> Line:
        call, data = self.index.job.call(rank, row), self.index.job.ranks[rank]
        mark, word, role = state(call, self.index.ends(rank).open.get(call.group, NONE))
        times = "  ".join(part for part in (clock(call.created), span(call.duration)) if part)
        return [
            (f"{BAD if rank in self.blamed else ' '} ", "bad"),
            (f"{mark} ", role),
            (f"rank {rank}".ljust(10), "bad" if rank in self.blamed else "plain"),
            (word.ljust(8), role),
            (f" {times}", "dim"),
            (f"  {data.host}" if data.host else "", "dim"),
        ]

    def say_absent(self, why: str, ranks: tuple[int, ...], width: int, at: int) -> list[Line]:
        """The members without this call; their last call in the group opens from line `at` on."""
        if why == NO_DUMP or self.p2p:
            accused = not self.blamed.isdisjoint(ranks)
            role = "warn" if why == NO_DUMP and not accused else "bad"
            told = f"{BAD if accused else DOUBT} rank{'s' * (len(ranks) > 1)} {ranges(ranks)}: {why}"
            return [[(part, role)] for part in wrap(told, width)]
        lines: list[Line] = [[(f"{why}: {count(len(ranks), 'rank')}", "bad")]]
        for n, rank in enumerate(ranks):
            last = self.index.ends(rank).last.get(self.group)
            if last is not None:
                self.links[at + n] = (rank, rank, last)
            mark = BAD if not self.blamed or rank in self.blamed else NOT_HERE
            lines.append([(f"{mark} ", "bad"), (f"rank {rank}".ljust(10), "plain"), (self.last_of(rank), "dim")])
        return lines

    def last_of(self, rank: int) -> str:
        """What the rank did last in this group, and what it was in later, where the in-job recorder saw it."""
        data = self.index.job.ranks[rank]
        inside = doing(data.threads[0].stack).partition(" ← ")[0] if data.threads and not data.error else ""
        ended = process.ending(data) or (f"was in {inside}" if inside else "")
        return "; ".join(part for part in (self.last_recorded(rank), ended) if part)

    def last_recorded(self, rank: int) -> str:
        row = self.index.ends(rank).last.get(self.group)
        if row is None:
            return "no call of this group in its dump"
        call = self.index.job.call(rank, row)
        site = self.index.site(self.index.job.ranks[rank].entries.stack[row])
        return f"last here: {operation(self.index.job, self.group, call.signature)} {number(call)} {site}".rstrip()
