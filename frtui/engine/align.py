"""Alignment: what a rank did against what it should have done, as an edit script.

A mismatch at one sequence number is only where a difference became visible: a rank that left a call
out goes on with the next, and the sizes clash some calls later. So the two sequences of calls are
aligned over (arguments, call site), as diff aligns lines, and the script tells which call was left
out, added, swapped or replaced.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import NamedTuple


class Token(NamedTuple):
    """One call for the purpose of comparison."""

    key: int
    """Interned arguments (`agree.argument_key`); equal keys can be one call on the wire, -1 matches every key."""
    site: int
    """Interned call site; -1 where the dump has no frames: matches every site."""
    form: int = -1
    """Interned sizes and source file; equal where another operation does the same job, -1 where neither is known."""


class Edit(NamedTuple):
    """One step of the script at `i` in the subject's and `j` in the reference's sequence."""

    op: str
    """`same`, `replace`, `extra` (only the subject made it), `skip` (only the reference), `swap` (two calls)."""
    i: int
    j: int


BAND = 12
"""Sequences are compared up to so many calls apart. Wider costs time and finds nothing more: a rank
that left out a dozen calls of one group has lost more than a call."""

SAME, ELSEWHERE, REPLACED, UNRELATED, GAP, SWAP = 2, -1, -3, -7, -4, -1
"""Scores. The same call from another line is ordinary (rank 0 logs); other arguments at the same line
are a replaced call; one added or left out explains more than two unrelated ones side by side, and two in
the other order more than one added here and another left out there."""


def alike(a: Token, b: Token) -> bool:
    """Whether two calls have arguments that go together."""
    return a.key == b.key or -1 in (a.key, b.key)


def score(a: Token, b: Token) -> int:
    """How well two calls match as one and the same.

    Another operation on equal sizes in the same file (a broadcast for an all_reduce) is a replaced call too.
    """
    near = a.site == b.site or -1 in (a.site, b.site)
    if alike(a, b):
        return SAME if near else ELSEWHERE
    return REPLACED if near or a.form == b.form != -1 else UNRELATED


def script(subject: Sequence[Token], reference: Sequence[Token], foreseen: Sequence[Token] = ()) -> list[Edit]:
    """The best edit script up to the end of whichever sequence ends first.

    What remains of the longer one is no edit: the other rank has not got there yet. `foreseen` calls come
    after the reference; a match with them is possible, but proves nothing and scores nothing.
    """
    recorded = len(reference)
    reference = [*reference, *foreseen]
    start = 0
    while start < min(len(subject), len(reference)) and subject[start] == reference[start]:
        start += 1
    edits = [Edit("same", n, n) for n in range(start)]
    return edits + _banded(subject, reference, start, recorded)


def _banded(a: Sequence[Token], b: Sequence[Token], start: int, recorded: int) -> list[Edit]:
    best: dict[tuple[int, int], tuple[int, str]] = {(start, start): (0, "")}
    end, end_score = (start, start), None
    for i in range(start, len(a) + 1):
        for j in range(max(start, i - BAND), min(len(b), i + BAND) + 1):
            if (i, j) != (start, start):
                best[i, j] = _cell(best, a, b, i, j, recorded)
            if i == len(a) or j == len(b):
                here = (best[i, j][0], i + j)
                # On equal scores the later wins: that `a` made a call is on record, that it left one out is not.
                if end_score is None or here >= end_score:
                    end, end_score = (i, j), here
    return _trace(best, a, b, end)


def _cell(
    best: dict[tuple[int, int], tuple[int, str]],
    a: Sequence[Token],
    b: Sequence[Token],
    i: int,
    j: int,
    recorded: int,
) -> tuple[int, str]:
    # On equal scores the first wins: in a run of equal calls the gap then lies at its end, where the others wait.
    options = []
    if (i, j - 1) in best:
        options.append((best[i, j - 1][0] + GAP, "skip"))
    if (i - 1, j) in best:
        options.append((best[i - 1, j][0] + GAP, "extra"))
    if (i - 1, j - 1) in best:
        match = score(a[i - 1], b[j - 1])
        options.append((best[i - 1, j - 1][0] + (match if j <= recorded else min(match, 0)), "pair"))
    # A call made twice is an extra one, whatever is foreseen to come again later.
    repeated = j > recorded and i > 2 and a[i - 3] == a[i - 2]
    if (i - 2, j - 2) in best and _crossed(a[i - 2], a[i - 1], b[j - 2], b[j - 1]) and not repeated:
        options.append((best[i - 2, j - 2][0] + SWAP, "swap"))
    return max(options, key=itemgetter(0))


def _crossed(a: Token, b: Token, c: Token, d: Token) -> bool:
    """Whether a, b are the calls c, d in the other order; by line where the arguments are the same."""
    if a.key == b.key:
        return a.site == d.site != b.site == c.site and -1 not in (a.site, b.site) and a.key == c.key == d.key
    return a.key == d.key and b.key == c.key


_STEP = {"pair": (1, 1), "extra": (1, 0), "skip": (0, 1), "swap": (2, 2)}


def _trace(
    best: dict[tuple[int, int], tuple[int, str]], a: Sequence[Token], b: Sequence[Token], end: tuple[int, int]
) -> list[Edit]:
    edits = []
    i, j = end
    while best[i, j][1]:
        op = best[i, j][1]
        di, dj = _STEP[op]
        i, j = i - di, j - dj
        if op == "pair":
            op = "same" if alike(a[i], b[j]) else "replace"
        edits.append(Edit(op, i, j))
    return edits[::-1]


def parting(edits: list[Edit], done: int, reference_done: int | None = None) -> Edit | None:
    """Where the two sequences part for good; None where they do not.

    `done` is the number of leading calls of the subject that finished, `reference_done` that of the
    reference (None: all): arguments that differed in calls that finished on both sides did no harm. A call
    added or left out counts unless a later edit makes up for it.
    """

    def harmless(edit: Edit) -> bool:
        last = 1 if edit.op == "swap" else 0
        return edit.i + last < done and (reference_done is None or edit.j + last < reference_done)

    shift, candidate = 0, None
    for edit in edits:
        if edit.op in ("extra", "skip"):
            candidate = candidate if shift else edit
            shift += 1 if edit.op == "extra" else -1
            if shift == 0 and harmless(edit):
                candidate = None
        elif edit.op in ("swap", "replace") and not shift and not harmless(edit):
            return candidate or edit
    return candidate


def foresee(past: Sequence[Token], length: int = 24, context: int = 16) -> list[Token]:
    """What should come after `past`, going by the last time the same calls were made.

    Training repeats its steps: the longest stretch before the end that also stands earlier tells what
    followed it then. Empty where nothing repeats.
    """
    n = len(past)
    best, at = 0, 0
    for p in range(n - 1, 0, -1):
        k = 0
        while k < min(p, context) and past[p - 1 - k] == past[n - 1 - k]:
            k += 1
        if k > best:
            best, at = k, p
        if best == context:
            break
    if not best:
        return []
    period = n - at
    return [past[at + k % period] for k in range(length)]
