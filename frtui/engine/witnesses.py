"""Who deviates? Three witnesses, in this order.

1. The *members*: a strict majority of the group that made the same calls.
2. The *siblings*: other groups of the same description and size. All tensor-parallel groups run one
   program, so in a group of two the other pairs tell who is wrong.
3. The *history*: what followed the same calls earlier in the ranks' own windows.

If all three are silent it is a tie, and both sides are named.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Sequence as Series
from dataclasses import dataclass
from typing import Callable, NamedTuple

from frtui.engine.agree import difference
from frtui.engine.align import Edit, Token, foresee, parting, script
from frtui.engine.camps import Camp, edits_of, find_camps, part, places, stands_for
from frtui.engine.finding import Beside
from frtui.engine.tokens import Sequence, Tokens

MEMBERS, SIBLINGS, HISTORY, NOBODY = "members", "siblings", "history", "nobody"
SIBLINGS_ASKED = 64
"""More do not make the answer surer; on 16,384 ranks there are thousands."""


@dataclass(frozen=True)
class Deviation:
    """Where the calls of some ranks part from what the witnesses did."""

    kind: str
    ranks: tuple[int, ...]
    """Who deviates; both sides on a tie."""
    witness: str
    """Who says so: MEMBERS, SIBLINGS, HISTORY or NOBODY (a tie)."""
    voters: int
    """How many ranks (MEMBERS) or groups (SIBLINGS) say so."""
    subject: tuple[int, int] | None
    """(rank, row) of the deviating call; None where the call is missing."""
    reference: tuple[int, int] | None
    """(rank, row) of what the witnesses did in its place."""
    before: tuple[int, int] | None
    """(rank, row) of the deviating rank's last call before the parting."""
    alike: int = 1
    """So many calls in a row, up to this one, have equal arguments and call site: any of them may be the one."""
    foreseen: bool = False
    """Nothing that both sides recorded after the parting confirms it; what usually follows does."""
    beside: Beside | None = None
    """The two sequences as they were compared."""
    peers: tuple[tuple[int, int], ...] = ()
    """(rank, row) of what each of those did there that did as the witness."""
    subjects: tuple[tuple[int, int], ...] = ()
    """(rank, row) of what each of those did there that deviates."""


class _Vote(NamedTuple):
    witness: str
    voters: int
    """How many ranks (MEMBERS) or groups (SIBLINGS) say so."""
    ranks: tuple[int, ...] = ()
    """Who they are."""
    asked: int = 0
    """Out of how many that could tell."""
    places: tuple[tuple[int, int], ...] = ()
    """(rank, row) of what the siblings among them did there."""


def compare(
    tokens: Tokens,
    sequences: Iterable[Sequence],
    siblings: Callable[[], Iterable[Sequence]],
    ahead_ok: bool,
    one_program: bool = False,
) -> Deviation | None:
    """The deviation among `sequences`, all of which should be the same calls from the same start.

    `siblings` gives sequences of other groups that should also be the same. `ahead_ok` says that being
    further on than the others needs no explanation: only what both sides recorded can part them then.
    With `one_program` all must be equal, and a majority is one of all of them; without, some may differ by
    nature (stages of a pipeline), and it is one over those that part first.
    """
    camps = find_camps(list(sequences), ahead_ok)
    if len(camps) < 2:
        return None
    main, *others = camps
    partings = [(edit, camp) for camp in others if (edit := part(camp.best, main.best, ahead_ok)) is not None]
    if not partings:
        return None
    edit, other = min(partings, key=lambda found: found[0].j)
    there = [tuple(s.rank for s in camp.members if len(s.tokens) > edit.j) for camp in camps]
    against = sum(len(camp.ranks) for camp in (others if one_program else [other]))
    asked = sum(len(ranks) for ranks, camp in zip(there, camps) if camp is not other)
    members = _Vote(MEMBERS, len(there[0]), tuple(sorted(there[0])), asked)
    vote, right = (members, main) if len(there[0]) > against else _vote(main, other, siblings, edit)
    if right is other:
        main, other = other, main
        edit = part(other.best, main.best, ahead_ok) or edit
    return _deviation(tokens, other, main, edit, vote)


def _vote(main: Camp, other: Camp, siblings: Callable[[], Iterable[Sequence]], edit: Edit) -> tuple[_Vote, Camp]:
    """What the siblings say where the members are no majority, or else the history."""
    for_main: list[tuple[int, int]] = []
    for_other: list[tuple[int, int]] = []
    for n, sibling in enumerate(siblings()):
        if n >= SIBLINGS_ASKED:
            break
        with_main, with_other = (_agrees(sibling.tokens, camp.best.tokens, edit.j) for camp in (main, other))
        if with_main != with_other and len(sibling.tokens) > edit.j:
            (for_main if with_main else for_other).append((sibling.rank, sibling.rows[edit.j]))
    if len(for_main) != len(for_other):
        most, right = (for_main, main) if len(for_main) > len(for_other) else (for_other, other)
        ranks = tuple(sorted(rank for rank, _ in most))
        return _Vote(SIBLINGS, len(most), ranks, len(for_main) + len(for_other), tuple(most)), right
    return _history(main, other, edit)


def _agrees(witness: Series[Token], calls: Series[Token], at: int) -> bool:
    """Whether a witness that was not in the hang made these calls, from the parting on."""
    edit = parting(script(witness, calls), at)
    return edit is None or edit.j >= len(calls)


def _history(main: Camp, other: Camp, edit: Edit) -> tuple[_Vote, Camp]:
    """What followed the same calls earlier; where no line repeats, the same arguments."""
    for view in (tuple, _without_sites):
        sides = [view(camp.best.tokens) for camp in (main, other)]
        past = sides[0][: edit.j]
        expected = [*past, *foresee(past)]
        fits = [_agrees(expected, side, edit.j) for side in sides]
        if len(expected) > len(past) and fits[0] != fits[1]:
            return _Vote(HISTORY, 1), main if fits[0] else other
    return _Vote(NOBODY, 0), main


def _without_sites(tokens: Series[Token]) -> tuple[Token, ...]:
    return tuple(Token(token.key, -1) for token in tokens)


def _deviation(tokens: Tokens, wrong: Camp, right: Camp, edit: Edit, vote: _Vote) -> Deviation:
    edits = edits_of(wrong.best, right.best)
    kind = _kind(tokens, wrong.best, right.best, edit, edits)
    tie = vote.witness == NOBODY
    subject = _call(wrong.best, edit.i)
    shown = stands_for(tokens.job, right, edit.j, wrong.best.rank)
    peers = tuple(dict.fromkeys((*places(right, edit.j), *vote.places)))
    return Deviation(
        kind=kind,
        ranks=tuple(sorted(wrong.ranks + right.ranks)) if tie else wrong.ranks,
        witness=vote.witness,
        voters=vote.voters,
        subject=None if kind == "skipped-call" else subject,
        reference=_call(shown, edit.j),
        before=_call(wrong.best, edit.i - 1),
        alike=_alike(wrong.best.tokens, edit.i) if kind == "extra-call" else _alike(right.best.tokens, edit.j),
        foreseen=not any(e.op == "same" and edit.j < e.j < len(right.best.rows) for e in edits),
        beside=_beside(wrong.best, shown, _up_to(edits, edit, shown, right.best), edit, vote, dict(peers)),
        peers=peers,
        subjects=places(wrong, edit.i),
    )


def _up_to(edits: list[Edit], edit: Edit, shown: Sequence, best: Sequence) -> list[Edit]:
    """The edits were made against who got furthest; what the one shown had not got to yet is no edit."""
    if shown is best:
        return edits
    return [e for e in edits if e.j < len(shown.rows) or (e.i, e.j) <= (edit.i, edit.j)]


def _beside(
    wrong: Sequence, right: Sequence, edits: list[Edit], edit: Edit, vote: _Vote, places: dict[int, int]
) -> Beside:
    at = next((n for n, e in enumerate(edits) if e.op != "same" and (e.i, e.j) >= (edit.i, edit.j)), len(edits))
    known = all(rank in places for rank in vote.ranks)
    rows = tuple(places[rank] for rank in vote.ranks) if known else ()
    return Beside(
        wrong.rank, wrong.rows, right.rank, right.rows, tuple(edits), at, vote.witness, vote.ranks, vote.asked, rows
    )


def _alike(tokens: Series[Token], n: int) -> int:
    """Length of the run of equal tokens that ends at `n`."""
    first = n
    while 0 < first < len(tokens) and tokens[first - 1] == tokens[n]:
        first -= 1
    return n - first + 1


def _call(sequence: Sequence, n: int) -> tuple[int, int] | None:
    return (sequence.rank, sequence.rows[n]) if 0 <= n < len(sequence.rows) else None


def _kind(tokens: Tokens, wrong: Sequence, right: Sequence, edit: Edit, edits: list[Edit]) -> str:
    if edit.op == "swap" or _made_up_for(wrong, right, edit, edits):
        return "order-swap"
    if edit.op == "extra":
        return "extra-call"
    if edit.op == "skip" or edit.j >= len(right.rows):
        return "skipped-call"
    mine, theirs = (wrong.rank, wrong.rows[edit.i]), (right.rank, right.rows[edit.j])
    if tokens.elsewhere(mine, theirs):
        return "order-swap"
    return difference(tokens.signature(mine), tokens.signature(theirs))


def _made_up_for(wrong: Sequence, right: Sequence, edit: Edit, edits: list[Edit]) -> bool:
    """The call left out (or added) here is added (or left out) again further on: the order differs.

    Without call sites many calls look alike, and that it is the same one is more than can be said.
    """

    def token(e: Edit) -> Token | None:
        tokens, n = (wrong.tokens, e.i) if e.op == "extra" else (right.tokens, e.j)
        return tokens[n] if n < len(tokens) else None

    opposite = {"extra": "skip", "skip": "extra"}.get(edit.op)
    known = token(edit)
    if known is None or known.site == -1:
        return False
    later = edits[edits.index(edit) + 1 :]
    return any(e.op == opposite and token(e) == known for e in later)
