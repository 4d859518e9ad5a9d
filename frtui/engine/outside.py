"""Findings where no call keeps any rank: the cause lies outside communication, or the dumps can't tell."""

from __future__ import annotations

from frtui.engine import process
from frtui.engine.case import Case
from frtui.engine.finding import LIKELY, POSSIBLE, PROVEN, Finding
from frtui.engine.wording import kernel_log, last_call, verb, where_it_was
from frtui.model import NONE, Rank
from frtui.stacks import call_site, program
from frtui.text import who

NAMED = 8
"""So many ranks are named one by one in the evidence."""


def explain(case: Case) -> Finding:
    """Where the engine found no call that somebody waits in."""
    still_open = _still_open(case)
    ended = [dump for dump in case.job.ranks.values() if process.broke(case.job, dump)]
    if ended:
        return _rank_ended(case, ended, POSSIBLE if still_open else _confidence(ended))
    if still_open:
        return _unclear(still_open)
    silent = process.silent(case.job)
    if silent:
        return _rank_ended(case, silent, LIKELY)
    if case.job.n_entries == 0:
        return _no_calls(case)
    if case.job.missing and "gloo" in case.job.backends:
        said = "Every recorded call looks finished, but {missing} left no dump, and gloo shows failed calls so, too."
        return _maybe_dead(case, said)
    return no_hang(case, _why_none(case))


def no_hang(case: Case, why: str) -> Finding:
    ranks = list(case.job.ranks)
    stopped = bool(ranks) and all(map(process.stopped, case.job.ranks.values()))
    more = "Somebody stopped the job" if stopped else "If the job makes no progress, look outside communication"
    return Finding(
        "no-hang",
        LIKELY,
        f"No communication is stuck here: {why}. {more}.",
        evidence=_each_rank(case),
        next_steps=_who_stopped_it(case) if stopped else where_it_was(case, ranks[0]) if ranks else (),
    )


def _who_stopped_it(case: Case) -> tuple[str, ...]:
    """It may have made no progress before that."""
    said = "find out what stopped the job: ctrl-c, scancel, a time limit, a preemption, or another rank's end"
    return said, *where_it_was(case, next(iter(case.job.ranks)))


def _still_open(case: Case) -> dict[int, int]:
    """How many calls each rank has open that nobody finished, or that can't be found on others."""
    if not all(set(rows) <= set(case.waits.stale[rank]) for rank, rows in case.lanes.open.items()):
        return {rank: len(rows) for rank, rows in case.lanes.open.items() if rows}
    return _unnumbered(case)


def _confidence(ended: list[Rank]) -> str:
    return PROVEN if all(map(process.surely_left, ended)) else LIKELY


def _rank_ended(case: Case, ended: list[Rank], confidence: str) -> Finding:
    first = min(ended, key=lambda dump: dump.dumped_ns)
    ranks = tuple(sorted(dump.rank for dump in ended))
    among = f", the first of {who(ranks)} to end" if len(ranks) > 1 else ""
    said, failure = process.ended(first), process.failure(first)
    return Finding(
        "rank-ended",
        confidence,
        f"{said[0].upper()}{said[1:]}{among}; no call is seen to wait for {verb(ranks, 'it', 'them')}.",
        ranks=ranks,
        site=call_site(program(failure.stack)) if failure else None,
        evidence=tuple(f"rank {rank}: {last_call(case, rank)}" for rank in ranks[:NAMED]),
        next_steps=(
            *where_it_was(case, first.rank),
            *(() if failure else (kernel_log(case, first.rank),)),
        ),
        focus=case.last_call(first.rank),
    )


def _no_calls(case: Case) -> Finding:
    if not any(dump.by for dump in case.job.ranks.values()):
        return Finding(
            "inconclusive",
            POSSIBLE,
            "The dumps hold no entries, so nothing can be said about what the ranks did.",
            next_steps=("rerun with TORCH_FR_BUFFER_SIZE=2000 (before torch 2.8: TORCH_NCCL_TRACE_BUFFER_SIZE)",),
        )
    if case.job.missing:
        return _maybe_dead(case, "No rank had made a call when it wrote its dump, and {missing} left none.")
    return no_hang(case, "no rank has made a call yet")


def _maybe_dead(case: Case, said: str) -> Finding:
    """gloo retires a call when it fails, too: when a peer dies, the survivors' calls all look finished.

    Where most dumps are missing, the folder is just not complete.
    """
    missing = case.job.missing
    few = case.mostly_here
    return Finding(
        "no-dump" if few else "inconclusive",
        POSSIBLE,
        said.format(missing=who(missing)),
        ranks=missing if few else (),
        evidence=_each_rank(case),
        next_steps=(kernel_log(case, missing[0]), f"read the end of the log of {who(missing)}"),
    )


def _unclear(opened: dict[int, int]) -> Finding:
    """`opened`: how many calls each rank has open."""
    return Finding(
        "inconclusive",
        POSSIBLE,
        "Calls are outstanding, but the dumps do not show who keeps them from finishing.",
        evidence=tuple(f"rank {r}: {n} open call{'s' * (n > 1)}" for r, n in list(opened.items())[:NAMED]),
        next_steps=("collect the dumps of all ranks and look again",),
    )


def _each_rank(case: Case) -> tuple[str, ...]:
    """What each of the first ranks did last, and what its process was in, where the recorder saw it."""
    first = list(case.job.ranks)[:NAMED]
    told = [fact for rank in first for fact in process.facts(case.job.ranks[rank])]
    return (*(f"rank {rank}: {last_call(case, rank)}" for rank in first), *told)


def _why_none(case: Case) -> str:
    behind = [rank for rank, rows in case.lanes.open.items() if rows]
    if not behind:
        return "every recorded call has finished"
    return f"what {who(behind)} {verb(behind, 'shows', 'show')} as open is finished in the dumps of others"


def _unnumbered(case: Case) -> dict[int, int]:
    """Ranks whose last call is open, and has no number by which it could be found on others."""
    last = {rank.rank: rank.calls[-1] for rank in case.job.ranks.values() if rank.calls}
    entries = {rank: case.job.ranks[rank].entries for rank in last}
    return {
        r: 1
        for r, row in last.items()
        if not (entries[r].done[row] or entries[r].p2p[row]) and entries[r].seq[row] == NONE
    }
