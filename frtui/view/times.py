"""The page behind `t`: who came late to the selected call, the slowest ones, the last minute of each rank."""

from __future__ import annotations

from frtui.engine.finding import Finding
from frtui.model import NONE, Call
from frtui.text import count, ranges
from frtui.view import clocks, durations, lags, strip
from frtui.view.across import by_reason, why_absent
from frtui.view.index import Index
from frtui.view.rows import Line, Linked, flow, pad, wrap
from frtui.view.select import Selection, selected, telling_row
from frtui.view.words import clock, label, number, operation, span

SLOWEST, LATEST, STRIPS = 6, 8, 12
"""Lines of each part at most."""
_SLOW_KEYS, _STRIP_KEYS = 1 << 40, 1 << 41
# Keys of lines: those of the lags are the ranks themselves, so that the cursor finds the selected one.


class Times(Linked):
    def __init__(self, index: Index, now: Selection, finding: Finding | None) -> None:
        self.index, self.group = index, now.group
        self.call = collective(index, now, finding)
        self.late = lags.at_call(index, *self.call) if self.call else {}
        self.clocks = clocks.clocks(index)
        self.longest = durations.slowest(index, self.group, SLOWEST)
        super().__init__(self.lay_out)

    def lay_out(self, width: int) -> list[Line]:
        self.links.clear()
        job = self.index.job
        where = "all groups" if self.group is None else label(job.groups[self.group].label, max(8, width - 30))
        lines: list[Line] = []
        # Who came late to the call that is looked at comes first, where there is one.
        for part in (self.lags, self.slowest, self.strips) if self.late else (self.slowest, self.lags, self.strips):
            lines += [[("", "plain")]] if lines else []
            lines += part(width, where, len(lines))
        return lines

    def head(self, width: int) -> list[Line]:
        """Never out of sight: what the lags are worth."""
        return [[(part, "warn")] for part in wrap(clocks.sentence(self.clocks), width)]

    def whole(self) -> list[str]:
        return [clocks.sentence(self.clocks), "", *super().whole()]

    def slowest(self, width: int, where: str, at: int) -> list[Line]:
        found = self.longest
        if not found.calls:
            told = f"No call in {where} has its end recorded, so that no duration is known."
            if "nccl" in self.index.job.backends:
                told += " With TORCH_NCCL_ENABLE_TIMING=1 torch measures."
            return [[(part, "dim")] for part in wrap(told, width)]
        how = "as torch measured" if found.measured else "made until its end was noticed, so with the wait for others"
        some = f", on {found.asked:,} of {found.ranks:,} ranks" if found.asked < found.ranks else ""
        lines: list[Line] = [[(part, "bold")] for part in wrap(f"Slowest calls in {where} ({how}{some})", width)]
        for n, (ms, rank, row) in enumerate(found.calls):
            self.links[at + len(lines)] = (_SLOW_KEYS + n, rank, row)
            call, site = self.index.job.call(rank, row), self.index.site(self.index.job.ranks[rank].entries.stack[row])
            told = f"{self.named(call, width - 34)}  rank {rank}"
            lines.append([(f"  {span(ms):>9}  ", "plain"), (told, "bold"), (f"  {site}", "plain")])
        return lines

    def named(self, call: Call, width: int) -> str:
        job = self.index.job
        told = f"{operation(job, call.group, call.signature)} {number(call)}"
        if self.group is not None:
            return told
        return f"{label(job.groups[call.group].label, max(6, width - len(told)))} {told}"

    def lags(self, width: int, where: str, at: int) -> list[Line]:
        if self.call is None or not self.late:
            told = "Select a collective to see which rank came late to it."
            return [[(part, "dim")] for part in wrap(told, width)]
        first = next(rank for rank, (lag, _) in self.late.items() if lag == 0)
        call = self.index.job.call(first, self.late[first][1])
        told = f"Late for {self.named(call, width - 40)}, which rank {first} made first, at {clock(call.created)}"
        lines: list[Line] = [[(part, "bold")] for part in wrap(told, width)]
        latest = [rank for rank in self.late if rank != first][:LATEST]
        for rank in latest:
            self.links[at + len(lines)] = (rank, rank, self.late[rank][1])
            lines.append(self.say_lag(rank))
        rest = [rank for rank in self.late if rank not in latest and rank != first]
        if rest:
            most = span(self.late[rest[0]][0] / 1e6) or "0 ms"
            lines.append([(f"  and {count(len(rest), 'rank')} up to {most} after the first", "dim")])
        return lines + self.absent(width)

    def say_lag(self, rank: int) -> Line:
        assert self.call is not None
        ms = self.late[rank][0] / 1e6
        usually = lags.usual(self.index, rank, *self.call)
        told = "" if usually is None else f"  usually {span(usually) or '0 ms'}"
        means = self.clocks is None or ms > self.clocks.spread_ms
        host = self.index.job.ranks[rank].host
        return [
            (f"  {'+' + span(ms):>9}  ", "warn" if means and ms >= 1000 else "plain" if means else "dim"),
            (f"rank {rank}", "bold" if means else "dim"),
            (told + (f"  {host}" if host else ""), "dim"),
        ]

    def absent(self, width: int) -> list[Line]:
        """The members that have not made the call, or whose dumps do not hold it."""
        assert self.call is not None
        group, seq = self.call
        absent = {
            rank: why_absent(self.index, rank, group, seq)
            for rank in self.index.job.groups[group].ranks
            if self.index.row_of(rank, group, seq) == NONE
        }
        told = [f"rank{'s' * (len(those) > 1)} {ranges(those)}: {why}" for why, those in by_reason(absent)]
        return [[("  " + part, "bad")] for text in told for part in wrap(text, width - 2)]

    def strips(self, width: int, where: str, at: int) -> list[Line]:
        ranks, chosen = self.shown_ranks()
        shown = strip.window(self.index, ranks, self.group) if ranks else None
        if shown is None:
            return [[("No call has the time at which it was made.", "dim")]]
        digits = len(str(max(ranks)))
        room = max(8, min(120, width - digits - 9))
        span_ms = (shown.end - shown.begin) / 1e6
        texts = {rank: strip.strip(self.index, rank, self.group, shown, room) for rank in ranks}
        marks = [f"{mark} {word}" for mark, word in strip.MARKS if any(mark in text for text in texts.values())]
        told = f"The last {span(span_ms) or '0 ms'} of {where}, {chosen}, by each rank's own clock"
        lines: list[Line] = [[(part, "bold")] for part in wrap(told, width)]
        lines += [[(part, "dim")] for part in flow(marks, width)]
        lines.append([(" " * (digits + 8) + strip.axis(shown, room), "dim")])
        for rank in ranks:
            row = telling_row(self.index, rank, self.group)
            if row is not None:
                self.links[at + len(lines)] = (_STRIP_KEYS + rank, rank, row)
            lines.append([("  " + pad(f"rank {rank}", digits + 6), "plain"), (texts[rank], "plain")])
        return lines

    def shown_ranks(self) -> tuple[list[int], str]:
        """All ranks where they are few, else those that came last to the selected call, else some."""
        ranks = self.index.world if self.group is None else self.index.job.groups[self.group].ranks
        here = [rank for rank in ranks if rank in self.index.job.ranks]
        if len(here) <= STRIPS:
            return here, count(len(here), "rank")
        members = frozenset(here)
        late = [rank for rank in self.late if rank in members][:STRIPS]
        some = late or list(lags.spread(here, STRIPS))
        return some, f"{len(some)} of {len(here):,} ranks" + (", who came last" if late else "")


def collective(index: Index, now: Selection, finding: Finding | None) -> tuple[int, int] | None:
    """(group, seq) of the selected call; where the rank has not made it, the finding's, else what others wait in."""
    if now.row is not None and now.rank in index.job.ranks:
        e = index.job.ranks[now.rank].entries
        return None if e.p2p[now.row] or e.seq[now.row] == NONE else (e.group[now.row], e.seq[now.row])
    if finding and finding.seq is not None and now.group is not None and now.group == finding.group:
        return None if finding.p2p else (now.group, finding.seq)
    frontier = index.frontier(now.group) if now.group is not None else None
    return (now.group, frontier.seq) if frontier and now.group is not None and frontier.seq != NONE else None


def times(index: Index, findings: tuple[Finding, ...], now: Selection) -> Times | None:
    finding = selected(findings, now)
    return Times(index, now, finding) if index.job.n_entries else None
