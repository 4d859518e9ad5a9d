"""What the in-job recorder tells of a rank's process: lines for the Call pane, a word for the Ranks pane."""

from __future__ import annotations

from frtui.model import Job, Rank, Stack
from frtui.stacks import call_site, program
from frtui.text import count
from frtui.view import alike, frames
from frtui.view.rows import Line, labelled, wrap
from frtui.view.words import clock

SHOWN_THREADS = 1
"""Threads that are listed before `c` unfolds the rest: the main thread is the one that makes the calls."""


def word(rank: Rank) -> str:
    """How the process ended, in a few letters; empty where nothing is known of it."""
    if rank.error is not None:
        return "raised"
    return "ended" if rank.ended else "gone" if rank.alive is False else ""


def ending(rank: Rank) -> str:
    """The same for a line with room: `raised ValueError`."""
    return f"raised {rank.error.type}" if rank.error is not None else word(rank) and f"process {word(rank)}"


def page(job: Job, rank: Rank, width: int, unfolded: bool) -> list[Line]:
    """Why there is a dump, how the rank ended, and what each thread was in."""
    lines = written(rank, width)
    if rank.error is not None:
        lines += labelled("raised", f"{rank.error.type}: {rank.error.message}".removesuffix(": "), width, "bad")
        lines += stack("where it was raised, innermost first", rank.error.stack, width, unfolded)
    shown = rank.threads if unfolded else rank.threads[: 0 if rank.error is not None else SHOWN_THREADS]
    for n, thread in enumerate(shown):
        name = thread.name or f"thread {n + 1}"
        ranks = alike.in_thread(job, thread.name, thread.stack) if thread.stack else []
        shared = f", {alike.told(ranks)}" if len(ranks) > 1 else ""
        title = f"{name} of rank {rank.rank} at that time, innermost first{shared}"
        lines += stack(title, thread.stack, width, unfolded)
    left = len(rank.threads) - len(shown)
    return lines + ([[(f"  … {count(left, 'thread')} more (c shows)", "dim")]] if left else [])


def written(rank: Rank, width: int) -> list[Line]:
    """`dumped  12:00:03 UTC by the observer: the process is gone`."""
    if not rank.by:
        return []
    who = {"observer": " by the observer", "recover": " from its ring, afterwards", "ring": " in its ring"}
    at = f"{clock(rank.dumped_ns)[:8]} UTC" if rank.dumped_ns > 0 else ""
    reasons = "; then ".join(part for part in (rank.reason, *rank.later_reasons) if part) or "no reason given"
    lines = labelled("dumped", f"{at}{who.get(rank.by, '')}: {reasons}".lstrip(" :"), width)
    if rank.alive is False and not rank.ended:
        since = f", last seen {clock(rank.heartbeat_ns)[:8]} UTC" if rank.heartbeat_ns > 0 else ""
        what = f"crashed with {rank.crash.type}" if rank.crash is not None else "gone"
        pid = f" (pid {rank.pid})" if rank.pid > 0 else ""
        lines += labelled("process", f"{what}{pid}{since}", width, "bad")
    return lines


def stack(title: str, made: Stack, width: int, unfolded: bool) -> list[Line]:
    lines: list[Line] = [[(text, "dim")] for text in wrap(title, width)]
    if not made:
        return [*lines, [("  not recorded", "dim")]]
    return lines + frames.lines(made, width, unfolded, frames.of_thread(made), call_site(program(made)))
