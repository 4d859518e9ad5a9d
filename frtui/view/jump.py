"""Go to: a rank, a group or a call by its number, as the person types it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Callable, NamedTuple

from frtui.model import NONE, Group
from frtui.text import clean, ranges
from frtui.view import select
from frtui.view.index import Index
from frtui.view.select import CALL, Selection
from frtui.view.words import essence

ASKS = "rank 12, tp:7, #85 or tp:7#85"


class Target(NamedTuple):
    selection: Selection
    pane: str
    """That the cursor goes to."""


def jump(index: Index, now: Selection, pane: str, text: str) -> Target | str:
    """Where `text` leads from a selection; a message where there is no such thing.

    `12`, `rank 12`, `tp:7`, `#85`, `p#3`, `tp:7#85`: a bare number is a call in Calls and Call, else a rank.
    """
    text = text.strip()
    rank = re.fullmatch(r"(?:rank|r)?\s*(\d{1,18})", text, re.IGNORECASE)
    found = groups_named(index, text)
    if rank and not (found and pane == "groups") and (pane not in ("calls", "call") or not text.isdecimal()):
        if found and int(rank[1]) not in index.world:
            return to_group(index, now, found)
        return to_rank(index, now, int(rank[1]))
    if text.isdecimal():
        found, text = found if pane == "groups" else [], "#" + text
    if found:
        return to_group(index, now, found)
    call = re.fullmatch(r"(.*?)\s*(p(?:2p)?\s*)?#\s*(\d{1,18})", text, re.IGNORECASE)
    if call is None:
        return f"there is no {clean(text)} here: a jump leads to {ASKS}" if text else f"a jump leads to {ASKS}"
    return to_call(index, now, call[1], int(call[3]), bool(call[2]))


def to_rank(index: Index, now: Selection, rank: int) -> Target | str:
    if rank not in index.world:
        return f"there is no rank {rank}; there are {shortened(index.world)}"
    return Target(select.on_rank(index, now, rank), "ranks")


def groups_named(index: Index, name: str) -> list[int]:
    """The groups with that label, or else with that name or description, or as a pane prints it, or that begin so."""
    cut, wanted = name[:1] in ("…", "~"), name.lower().strip("…~")
    groups = list(enumerate(index.job.groups))
    tests: list[Callable[[Group], bool]] = [
        lambda group: group.label.lower() == wanted,
        lambda group: wanted.lstrip(":") == group.name.lower() or wanted == group.desc.lower(),
        lambda group: shown_as(group.label.lower(), wanted),
        lambda group: cut and group.label.lower().endswith(wanted),
    ]
    if not wanted.isdecimal():
        tests.append(lambda group: any(form.startswith(wanted) for form in forms(group.label.lower())))
    for test in tests if wanted else ():
        found = [number for number, group in groups if test(group)]
        if found:
            return found
    return []


def shown_as(text: str, wanted: str) -> bool:
    """Whether a pane may print a group's label so: `expert:72` for `expert_model_parallel_group:72`."""
    desc, _, number = wanted.rpartition(":")
    own, _, name = text.rpartition(":")
    return bool(desc and own) and number == name and any(form.startswith(desc) for form in forms(own))


def forms(text: str) -> tuple[str, str]:
    """A label, and what is left of it where there is no room for all."""
    return text, essence(text)


def to_group(index: Index, now: Selection, found: Sequence[int]) -> Target | str:
    if len(found) == 1:
        return Target(select.on_group(index, now, found[0]), "groups")
    own = [group for group in found if now.rank in index.job.groups[group].ranks]
    if len(own) == 1:
        return Target(select.on_group(index, now, own[0]), "groups")
    some = ", ".join(index.job.groups[group].label for group in found[:4])
    return f"{len(found):,} groups have that name: {some}{', …' if len(found) > 4 else ''}"


def to_call(index: Index, now: Selection, name: str, seq: int, p2p: bool) -> Target | str:
    """A call of the selected rank, in a group that is named or selected; of another member, else of any rank."""
    group = now.group
    if name:
        to = to_group(index, now, found) if (found := groups_named(index, name)) else f"there is no group {clean(name)}"
        if isinstance(to, str):
            return to
        group = to.selection.group
    own = [now.rank] if now.rank is not None else []
    members = [] if group is None else [rank for rank in index.job.groups[group].ranks if rank != now.rank]
    near = [(rank, group) for rank in own + members]
    far: list[tuple[int, int | None]] = [] if name else [(rank, None) for rank in (*own, *index.world)]
    for rank, within in near + far:
        for kind in (True,) if p2p else (False, True):
            row = row_of(index, rank, within, seq, kind)
            if row != NONE:
                there = index.job.ranks[rank].entries.group[row] if now.group is not None or name else None
                return Target(replace(now, rank=rank, group=there, row=row, topic=CALL), "calls")
    return no_call(index, own + members if name else own, group, seq, p2p)


def row_of(index: Index, rank: int, group: int | None, seq: int, p2p: bool) -> int:
    if group is not None and not p2p:
        return index.row_of(rank, group, seq)
    e = index.job.ranks[rank].entries if rank in index.job.ranks else None
    column = (e.p2p_seq if p2p else e.seq) if e else ()
    rows = index.rows(rank, group) if seq in column else ()
    return next((row for row in rows if e and column[row] == seq and bool(e.p2p[row]) == p2p), NONE)


def no_call(index: Index, ranks: Sequence[int], group: int | None, seq: int, p2p: bool) -> str:
    where = "" if group is None else f" in {index.job.groups[group].label}"
    sign = "p#" if p2p else "#"
    number = f"{sign}{seq}"
    if len(ranks) > 1:
        return f"no rank has a call {number}{where}"
    if not ranks:
        return "no rank is selected"
    rank = ranks[0]
    if rank in index.missing:
        return f"rank {rank} left no dump"
    e = index.job.ranks[rank].entries
    held = [(e.p2p_seq if p2p else e.seq)[row] for row in index.rows(rank, group) if bool(e.p2p[row]) == p2p]
    holds = f"; its dump has {sign}{min(held)} to {sign}{max(held)}" if held else ""
    return f"rank {rank} has no call {number}{where}{holds}"


def shortened(ranks: Sequence[int]) -> str:
    told = ranges(list(ranks))
    return told if len(told) < 60 else f"{len(ranks):,}, from {ranks[0]} to {ranks[-1]}"
