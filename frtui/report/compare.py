"""Two snapshots of a job in words, as text or JSON: `frtui compare`."""

from __future__ import annotations

import json

from frtui.engine.compare import Change, Comparison, Moves
from frtui.model import NONE
from frtui.report.facts import Facts
from frtui.report.phrases import folded, short
from frtui.report.text import section, wrapped
from frtui.stacks import call_site
from frtui.text import count, ranges, who
from frtui.view.words import number, operation, place

SCHEMA = 1
NAMED = 2
"""Calls that the first sentence names."""


def render(compared: Comparison, format: str) -> bytes:  # noqa: A002
    told = facts(compared)
    return (json.dumps(told, indent=2, ensure_ascii=True) + "\n" if format == "json" else text(told)).encode()


def moves(compared: Comparison) -> bool:
    """Whether the job moves, or has nothing left to do: what the exit code says."""
    return bool(compared.advanced) or not compared.waiting


def facts(compared: Comparison) -> Facts:
    groups = [_group(compared, moved) for moved in compared.groups]
    stuck = _stuck(groups)
    verdict = "moves" if compared.advanced else "stuck" if compared.waiting else "idle"
    return {
        "schema": SCHEMA,
        "older": compared.older.source,
        "newer": compared.newer.source,
        "verdict": verdict,
        "sentence": _sentence(compared, verdict, stuck),
        "seconds": compared.seconds,
        "advanced": list(compared.advanced),
        "still": list(compared.still),
        "same_dump": list(compared.same),
        "stuck": stuck,
        "groups": groups,
    }


def _group(compared: Comparison, moved: Moves) -> Facts:
    group = compared.newer.groups[moved.group]
    alike: dict[Change, list[int]] = {}
    for rank, change in moved.changes.items():
        alike.setdefault(change._replace(row=NONE if change.calls and not change.stuck else change.row), []).append(
            rank
        )
    parts: dict[str, Facts] = {}
    for change, ranks in alike.items():  # equal calls may lie in different rows
        part = _part(compared, ranks[0], change)
        parts.setdefault(json.dumps(part), {"ranks": [], **part})["ranks"] += ranks
    unseen = {where: [r for r, w in moved.unseen.items() if w == where] for where in ("A", "B", "both")}
    return {
        "label": group.label,
        "name": group.name,
        "desc": group.desc,
        "ranks": list(group.ranks),
        "members": [{**part, "ranks": sorted(part["ranks"])} for part in parts.values()],
        "no_dump_in": {where: ranks for where, ranks in unseen.items() if ranks},
    }


def _part(compared: Comparison, rank: int, change: Change) -> Facts:
    """What a rank did in a group since A, and what it is in, or did last."""
    made = compared.newer.call(rank, change.row) if change.row >= 0 else None
    return {
        "calls": change.calls,
        "advanced": change.advanced,
        "finished": change.finished,
        "stuck": change.stuck,
        "open": change.open,
        "call": f"{operation(compared.newer, made.group, made.signature)} {number(made)}".strip() if made else None,
        "call_site": place(call_site(made.stack)) if made else "",
    }


def _stuck(groups: list[Facts]) -> list[Facts]:
    """The calls that were open in A and still are, those that most ranks are in first."""
    found = [
        {"group": group["label"], "ranks": part["ranks"], "call": part["call"], "call_site": part["call_site"]}
        for group in groups
        for part in group["members"]
        if part["stuck"]
    ]
    return sorted(found, key=lambda call: (-len(call["ranks"]), call["ranks"]))


# The first sentence


def _sentence(compared: Comparison, verdict: str, stuck: list[Facts]) -> str:
    during = f" in {_span(compared.seconds)}" if compared.seconds else ""
    if verdict == "idle":
        return f"Nothing moved{during}, and no call is open: the job has finished, or is busy outside communication."
    if verdict == "stuck":
        return f"Nothing moved{during}, but calls are open: {_named(stuck) or 'they were made before A was written'}."
    advanced, still = compared.advanced, compared.still
    if not still:
        return f"The job moves: {_all(len(advanced))} made or finished calls{during}."
    of = f"{len(advanced):,} of {count(len(advanced) + len(still), 'rank')}"
    held = [{**call, "ranks": [r for r in call["ranks"] if r in set(still)]} for call in stuck]
    named = _named([call for call in held if call["ranks"]])
    rest = f"{who(list(still))} did not{': ' + named if named else ''}"
    return f"The job moves: {of} made or finished calls{during}; {rest}."


def _all(ranks: int) -> str:
    return "its one rank" if ranks == 1 else f"all {ranks:,} ranks"


def _named(stuck: list[Facts]) -> str:
    told = [
        f"{who(call['ranks'])} {'is' if len(call['ranks']) == 1 else 'are'} still in {_call(call)}"
        for call in stuck[:NAMED]
    ]
    return "; ".join([*told, f"and {len(stuck) - NAMED:,} more"] if len(stuck) > NAMED else told)


def _call(call: Facts) -> str:
    at = f" at {call['call_site']}" if call["call_site"] else ""
    return short(f"{call['call']} of {call['group']}{at}")


def _span(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s" if seconds >= 1 else f"{seconds * 1000:.0f} ms"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"


# Text


def text(told: Facts) -> str:
    lead = {"moves": "MOVES", "stuck": "STUCK", "idle": "IDLE"}[told["verdict"]]
    parts = [wrapped(f"{lead}: {told['sentence']}")]
    if len(told["stuck"]) > NAMED:
        parts.append(section("What was open and still is", folded([*map(_held, told["stuck"])], "call", _JSON)))
    parts += folded([_told_group(group) for group in _uneven(told["groups"])], "group", _JSON)
    parts.append(section("Groups whose members all did the same", folded(_even(told["groups"]), "kind", _JSON)))
    if told["same_dump"]:
        parts.append(wrapped(f"The dump of {who(told['same_dump'])} is the same in A and B, and proves nothing."))
    parts.append(section("What was compared", [f"A  {short(told['older'])}", f"B  {short(told['newer'])}"], bullet=""))
    return "\n\n".join(part for part in parts if part) + "\n"


_JSON = "--format json lists all"


def _held(call: Facts) -> str:
    return f"{_call(call)}: {who(call['ranks'])}"


def _is_even(group: Facts) -> bool:
    return len(group["members"]) == 1 and not group["no_dump_in"] and not group["members"][0]["stuck"]


def _uneven(groups: list[Facts]) -> list[Facts]:
    """Those in which something stands still first."""
    found = [group for group in groups if (group["members"] or group["no_dump_in"]) and not _is_even(group)]
    return sorted(found, key=lambda group: not any(part["stuck"] for part in group["members"]))


def _told_group(group: Facts) -> str:
    missing = [f"{who(ranks)}: no dump in {where}" for where, ranks in group["no_dump_in"].items()]
    lines = [f"{who(part['ranks'])}: {_told(part)}" for part in group["members"]]
    return section(short(f"{group['label']} ({who(group['ranks'])})"), lines + missing)


def _told(part: Facts) -> str:
    if part["calls"] is None:
        return "its calls fell out of the ring" if part["call"] is None else f"new calls, now at {short(part['call'])}"
    if part["calls"]:
        return f"+{count(part['calls'], 'call')}" + (f"; {_open(part)}" if part["stuck"] else "")
    if part["stuck"]:
        return f"none since A; {_open(part)}"
    if part["finished"]:
        return f"no new call, but {'a call' if part['open'] else short(part['call'] or 'the last one')} finished"
    return f"none since A; last {short(part['call'])}, finished" if part["call"] else "none since A"


def _open(part: Facts) -> str:
    at = f" at {part['call_site']}" if part["call_site"] else ""
    return short(f"still in {part['call']}{at}")


def _even(groups: list[Facts]) -> list[str]:
    """`dp, 8 groups: +12 calls on every rank`."""
    kinds: dict[tuple[str, str], list[Facts]] = {}
    for group in groups:
        if _is_even(group):
            kinds.setdefault((group["desc"] or group["label"], _short_told(group["members"][0])), []).append(group)
    lines = []
    for (_, said), those in kinds.items():
        first = those[0]
        name = f"{first['label']} ({who(first['ranks'])})" if len(those) == 1 else _many(those)
        lines.append(f"{short(name)}: {said}")
    return lines


def _short_told(part: Facts) -> str:
    return "none since A" if part["calls"] == 0 and not part["finished"] else _told(part)


def _many(groups: list[Facts]) -> str:
    ranks = ranges([rank for group in groups for rank in group["ranks"]])
    return f"{groups[0]['desc'] or groups[0]['label']}, {len(groups):,} groups of ranks {ranks}"
