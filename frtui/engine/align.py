"""Alignment: what a rank did against what it should have done, as an edit script.

A mismatch at one sequence number is only where a difference became visible: a rank that left a call
out goes on with the next, and the sizes clash some calls later. So the two sequences of calls are
aligned over (arguments, call site), as diff aligns lines, and the script tells which call was left
out, added, swapped or replaced.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
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
WIDTH = 2 * BAND + 1
NEVER = -(10**12)
"""The score of what can't be."""

SAME, ELSEWHERE, REPLACED, UNRELATED, GAP, SWAP = 2, -1, -3, -7, -4, -1
"""Scores. The same call from another line is ordinary (rank 0 logs); other arguments at the same line
are a replaced call; one added or left out explains more than two unrelated ones side by side, and two in
the other order more than one added here and another left out there."""


def alike(a: Token, b: Token) -> bool:
    """Whether two calls have arguments that go together."""
    return a.key == b.key or -1 in (a.key, b.key)


@lru_cache(maxsize=1 << 16)
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
    pair = _Pair(subject, [*reference, *foreseen], len(reference))
    start = 0
    while start < min(len(pair.a), len(pair.b)) and pair.a[start] == pair.b[start]:
        start += 1
    return [Edit("same", n, n) for n in range(start)] + _banded(pair, start)


class _Pair(NamedTuple):
    """Two sequences of which each call of `a` is compared with those at most BAND before and after it in `b`."""

    a: Sequence[Token]
    b: Sequence[Token]
    recorded: int
    """So many of `b` were made; the others are foreseen."""

    def columns(self, i: int, start: int) -> range:
        """Of the row of `i` calls of `a`, of which column d is that of `i - BAND + d` calls of `b`."""
        return range(max(0, start - i + BAND), min(WIDTH, len(self.b) - i + BAND + 1))

    def same_from(self, d: int) -> int:
        """The row from which all that is left in this column is the same."""
        shift = d - BAND
        i = min(len(self.a), len(self.b) - shift)
        while i > max(0, -shift) and self.a[i - 1] == self.b[i - 1 + shift]:
            i -= 1
        return i

    def most(self, i: int, d: int) -> int:
        """What is gained if all that is left matches."""
        return SAME * max(0, min(len(self.a) - i, self.recorded - (i - BAND + d)))


def _banded(pair: _Pair, start: int) -> list[Edit]:
    """The best script from `start` on, row by row, until the rest of it can be told."""
    a, b, _ = pair
    above_that = above = [NEVER] * (WIDTH + 1)
    ways: list[list[str]] = []
    end, end_score = (start, start), (NEVER, 0)
    same_from: dict[int, int] = {}
    for i in range(start, min(len(a), len(b) + BAND) + 1):
        row, way = _row(pair, i, start, above, above_that)
        ways.append(way)
        # With the last call of `a` it may end anywhere, before that only with the last of `b`.
        for d in pair.columns(i, start) if i == len(a) else pair.columns(i, start)[-1:]:
            j = i - BAND + d
            # On equal scores the later wins: that `a` made a call is on record, that it left one out is not.
            if (i == len(a) or j == len(b)) and (row[d], i + j) >= end_score:
                end, end_score = (i, j), (row[d], i + j)
        best = row.index(max(row))
        if best not in same_from:
            same_from[best] = pair.same_from(best)
        if i >= same_from[best] and _settled(pair, i, best, row, above, end_score[0]):
            j = i - BAND + best
            rest = [Edit("same", i + n, j + n) for n in range(min(len(a) - i, len(b) - j))]
            return _trace(pair, ways, start, (i, j)) + rest
        above_that, above = above, row
    return _trace(pair, ways, start, end)


def _row(pair: _Pair, i: int, start: int, above: list[int], above_that: list[int]) -> tuple[list[int], list[str]]:
    """The best score of each column, and the last step on the way to it."""
    a, b, recorded = pair
    row, way = [NEVER] * (WIDTH + 1), [""] * WIDTH  # the last score, which is also at -1, is outside the band
    for d in pair.columns(i, start):
        j = i - BAND + d
        # On equal scores the first wins: in a run of equal calls the gap then lies at its end, where the others wait.
        best, how = (row[d - 1] + GAP, "skip") if (i, j) != (start, start) else (0, "")
        if above[d + 1] + GAP > best:
            best, how = above[d + 1] + GAP, "extra"
        if above[d] > NEVER:
            match = score(a[i - 1], b[j - 1])
            match = match if j <= recorded else min(match, 0)
            if above[d] + match > best:
                best, how = above[d] + match, "pair"
        if above_that[d] + SWAP > best and _swapped(pair, i, j):
            best, how = above_that[d] + SWAP, "swap"
        row[d], way[d] = best, how
    return row, way


def _settled(pair: _Pair, i: int, best: int, row: list[int], above: list[int], ended: int) -> bool:
    """Whether nothing can catch up with the column `best` of row `i`, from which on all is the same."""
    others = [row[d] + pair.most(i, d) for d in range(WIDTH) if d != best]
    past = [above[d] + SWAP + pair.most(i + 1, d) for d in range(WIDTH)]  # a swap leaves this row out
    return row[best] + pair.most(i, best) > max(ended, *others, *past)


def _swapped(pair: _Pair, i: int, j: int) -> bool:
    a, b, recorded = pair
    # A call made twice is an extra one, whatever is foreseen to come again later.
    repeated = j > recorded and i > 2 and a[i - 3] == a[i - 2]
    return not repeated and crossed(a[i - 2], a[i - 1], b[j - 2], b[j - 1])


def crossed(a: Token, b: Token, c: Token, d: Token) -> bool:
    """Whether a, b are the calls c, d in the other order; by line where the arguments are the same."""
    if a.key == b.key:
        return a.site == d.site != b.site == c.site and -1 not in (a.site, b.site) and a.key == c.key == d.key
    return a.key == d.key and b.key == c.key


_STEP = {"pair": (1, 1), "extra": (1, 0), "skip": (0, 1), "swap": (2, 2)}


def _trace(pair: _Pair, ways: Sequence[Sequence[str]], start: int, end: tuple[int, int]) -> list[Edit]:
    edits = []
    i, j = end
    while op := ways[i - start][j - i + BAND]:
        di, dj = _STEP[op]
        i, j = i - di, j - dj
        if op == "pair":
            op = "same" if alike(pair.a[i], pair.b[j]) else "replace"
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
