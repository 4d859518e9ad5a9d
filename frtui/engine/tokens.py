"""Calls as tokens: what makes two calls of different ranks "the same call of the program"."""

from __future__ import annotations

from bisect import bisect_left
from collections import abc
from collections.abc import Hashable
from dataclasses import dataclass, field

from frtui.engine.agree import argument_key, dtypes_recorded, unknown_content
from frtui.engine.align import Token
from frtui.engine.lanes import Lanes
from frtui.model import NONE, Frame, Job, Signature
from frtui.stacks import call_site


@dataclass(frozen=True)
class Sequence:
    """What one rank did, for comparison with what others did."""

    rank: int
    rows: tuple[int, ...]
    tokens: tuple[Token, ...]
    done: int
    """So many of the leading calls are finished."""


_What = tuple[int, int, int]
"""Signature, stack and group, NONE where its kind does not count."""


@dataclass
class Tokens:
    """Interns what the tokens of one job are made of."""

    lanes: Lanes
    _ids: dict[Hashable, int] = field(default_factory=dict)
    _keys: dict[int, int] = field(default_factory=dict)
    _sites: dict[int, Frame | None] = field(default_factory=dict)
    _forms: dict[tuple[int, int], int] = field(default_factory=dict)
    _known: dict[_What, Token] = field(default_factory=dict)
    _dtypes: bool = True

    def __post_init__(self) -> None:
        self._dtypes = dtypes_recorded(self.job)

    @property
    def job(self) -> Job:
        return self.lanes.job

    def site(self, rank: int, row: int) -> Frame | None:
        """The call site of a call; None without a Python frame outside torch."""
        return self._site_of(self.job.ranks[rank].entries.stack[row])

    def _site_of(self, stack: int) -> Frame | None:
        if stack not in self._sites:
            self._sites[stack] = call_site(self.job.stacks[stack]) if stack >= 0 else None
        return self._sites[stack]

    def _key_id(self, signature: int) -> int:
        if signature not in self._keys:
            s = self.job.signatures[signature]
            self._keys[signature] = -1 if unknown_content(s) else self._intern(argument_key(s, self._dtypes))
        return self._keys[signature]

    def _site_id(self, stack: int) -> int:
        site = self._site_of(stack)
        return -1 if site is None else self._intern((site.filename, site.line))

    def _form_id(self, signature: int, stack: int) -> int:
        if (signature, stack) not in self._forms:
            s, site = self.job.signatures[signature], self._site_of(stack)
            form = self._intern((s.inputs, s.outputs, site.filename)) if site and s.inputs else -1
            self._forms[signature, stack] = form
        return self._forms[signature, stack]

    def _intern(self, thing: Hashable) -> int:
        return self._ids.setdefault(thing, len(self._ids))

    def same(self, a: tuple[int, int], b: tuple[int, int]) -> bool:
        """Whether two (rank, row) calls have the same arguments in the same kind of group."""
        return self._identity(a) == self._identity(b)

    def signature(self, place: tuple[int, int]) -> Signature:
        rank, row = place
        return self.job.signatures[self.job.ranks[rank].entries.signature[row]]

    def elsewhere(self, a: tuple[int, int], b: tuple[int, int]) -> bool:
        """Whether two calls have the same arguments, in groups of different kinds."""
        (mine, my_kind), (theirs, their_kind) = self._identity(a), self._identity(b)
        return mine == theirs and my_kind != their_kind

    def usual(self, place: tuple[int, int]) -> bool:
        """Whether the rank made this call before, at the same line."""
        rank, row = place
        site = self.site(rank, row)
        earlier = (n for n in self.job.ranks[rank].calls if n < row and self.site(rank, n) == site)
        return any(self.same((rank, n), place) for n in earlier)

    def _identity(self, place: tuple[int, int]) -> tuple[int, tuple[str, int]]:
        rank, row = place
        e = self.job.ranks[rank].entries
        return self._key_id(e.signature[row]), self.job.groups[e.group[row]].kind

    def _ring_key(self, signature: int, place: tuple[int, int]) -> int:
        """Like `_key_id`, with peers as steps around the ring from `place`, (index, number of members)."""
        me, n = place

        def relative(s: Signature) -> Signature:
            src, dst = ((peer - me) % n if peer != NONE else NONE for peer in (s.src, s.dst))
            return s._replace(src=src, dst=dst, parts=tuple(relative(part) for part in s.parts))

        return self._intern(argument_key(relative(self.job.signatures[signature]), self._dtypes))

    def sequence(
        self, rank: int, rows: abc.Sequence[int], groups: bool = False, ring: tuple[int, int] | None = None
    ) -> Sequence:
        """The calls in `rows` as tokens.

        With `groups`, which kind of group a call is in counts too; with `ring`, (own index, number of
        members), peers are counted from the rank itself.
        """
        e = self.job.ranks[rank].entries
        in_group = list(map(e.group.__getitem__, rows)) if groups else [NONE] * len(rows)
        made = list(zip(map(e.signature.__getitem__, rows), map(e.stack.__getitem__, rows), in_group))
        known: dict[_What, Token] = {} if ring else self._known
        known.update((what, self._token(*what, ring)) for what in set(made) - known.keys())
        tokens = tuple(map(known.__getitem__, made))  # a loop makes the same few calls again and again
        return Sequence(rank, tuple(rows), tokens, _before_any(rows, self.lanes.open[rank]))

    def _token(self, signature: int, stack: int, group: int, ring: tuple[int, int] | None) -> Token:
        """`group` is NONE where the kind of group does not count."""
        key = self._ring_key(signature, ring) if ring else self._key_id(signature)
        if group != NONE and key >= 0:
            key = self._intern((key, self.job.groups[group].kind))
        return Token(key, self._site_id(stack), self._form_id(signature, stack))

    def in_group(self, group: int, rank: int, start: int) -> Sequence | None:
        """The collectives of a rank in a group from sequence number `start` on."""
        lane = self.lanes.lane(group, rank)
        if lane is None:
            return None
        if min(lane.seqs) >= start:
            return self.sequence(rank, lane.rows)
        return self.sequence(rank, [row for row, n in zip(lane.rows, lane.seqs) if n >= start])


def _before_any(rows: abc.Sequence[int], marked: list[int]) -> int:
    """How many of `rows` come before the first that is marked; both are in order."""
    for row in marked:
        at = bisect_left(rows, row)
        if at < len(rows) and rows[at] == row:
            return at
    return len(rows)
