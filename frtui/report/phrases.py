"""Sentences that the text and the Markdown report share, as plain text."""

from __future__ import annotations

from typing import Any

from frtui.report import processes
from frtui.report.facts import Facts
from frtui.text import clean, count, who

SHOWN = 8
"""Lines of one kind that are listed before the rest is only counted."""
FRAMES = 30
"""Lines of a thread's stack that are printed; the outermost say least."""
OTHERS, OTHERS_IN_THREADS = "torch and C++", "torch, C++ and Python's library"
"""Whose frames are only counted."""
LONGEST = 160
"""Columns of a name from a dump before it is cut; a name may be a megabyte long."""


def short(value: object) -> str:
    """A name from somebody's file, printable and of bounded length."""
    text = clean(str(value))
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."


def call(finding: Facts) -> str:
    """`all_reduce, call 85 in tp:7 (ranks 2-3)`; empty where the finding names no call."""
    text: str = finding["op"]
    if finding["seq"] is not None:
        text += f", {'p2p call' if finding['p2p'] else 'call'} {finding['seq']}"
    if finding["group"]:
        members = finding["group"]["ranks"]
        text += f" in {finding['group']['label']}" + (f" ({who(members)})" if members else "")
    return short(text.removeprefix(", ").strip())


def blamed(finding: Facts) -> str:
    """`rank 2 on node07`; empty where nobody is."""
    hosts: dict[str, list[int]] = {}
    for rank in finding["ranks"]:
        hosts.setdefault(finding["hosts"].get(str(rank), ""), []).append(rank)
    return short("; ".join(who(ranks) + (f" on {host}" if host else "") for host, ranks in hosts.items()))


def waits(finding: Facts) -> list[str]:
    """Who waits for whom, from the cause outwards, ranks with the same target in one line."""
    waiting, via = finding["waiting"]["ranks"], finding["waiting"]["via"]
    if not waiting:
        return []
    lines = [f"{who(waiting)} ({count(len(waiting), 'rank')})" if len(waiting) > 1 else who(waiting)]
    for targets, sources in _chain(finding, via):
        verb = "waits" if len(sources) == 1 else "wait"
        lines.append(f"{who(sources)} {verb} for {who(list(targets))}")
    return folded(lines, "wait", "--format json lists all")


def _chain(finding: Facts, via: list[list[int]]) -> list[tuple[tuple[int, ...], list[int]]]:
    """(targets, ranks that wait for just those), nearest to the blamed ranks first."""
    targets: dict[int, set[int]] = {}
    for source, target in via:
        targets.setdefault(source, set()).add(target)
    alike: dict[tuple[int, ...], list[int]] = {}
    for source, those in targets.items():
        alike.setdefault(tuple(sorted(those)), []).append(source)
    steps = _distances(finding["ranks"], via)
    return sorted(alike.items(), key=lambda pair: (min(steps.get(t, len(steps)) for t in pair[0]), pair[0]))


def _distances(roots: list[int], via: list[list[int]]) -> dict[int, int]:
    """How many waits lie between each rank and the cause."""
    sources: dict[int, list[int]] = {}
    for source, target in via:
        sources.setdefault(target, []).append(source)
    steps = dict.fromkeys(roots, 0)
    reached = list(roots)
    for rank in reached:  # grows while it is walked: breadth first
        for source in sources.get(rank, ()):
            if source not in steps:
                steps[source] = steps[rank] + 1
                reached.append(source)
    return steps


def last_calls(finding: Facts) -> list[str]:
    """What the described ranks did last, equal calls in one line, most ranks last."""
    alike: dict[str, list[int]] = {}
    for last in finding["last_calls"]:
        alike.setdefault(_last(last), []).append(last["rank"])
    lines = [f"{who(ranks)}: {said}" for said, ranks in sorted(alike.items(), key=lambda pair: len(pair[1]))]
    return folded(lines, "other last call", "--format json lists all")


def _last(last: Facts) -> str:
    if last["op"] is None:
        return "no call in its dump"
    number = "" if last["seq"] is None else f" {'p2p call' if last['p2p'] else 'call'} {last['seq']}"
    state = "finished" if last["state"] == "finished" else f"{last['state']}, not finished"
    site = f", made at {last['call_site']}" if last["call_site"] else ""
    said = short(f"{last['op']} {last['arguments']}".rstrip() + f",{number} in {last['group']}, {state}{site}")
    return said + (f"; it ended with: {short(last['error'])}" if last["error"] else "")


def stack(finding: Facts) -> list[str]:
    """The user's frames, innermost first; what torch and C++ add is counted."""
    return _folded_frames(finding["stack"]["frames"] if finding["stack"] else [], OTHERS)


def process_stacks(finding: Facts) -> list[tuple[str, list[str]]]:
    """(title, lines) of what the blamed ranks were in, as far as the in-job recorder saw it."""
    return [(title, _few(_folded_frames(frames, OTHERS_IN_THREADS))) for title, frames in process_frames(finding)]


def process_frames(finding: Facts) -> list[tuple[str, list[Facts]]]:
    return [
        (f"Stack of {who(ranks)} {_where(short(what), len(ranks))}, innermost first", frames)
        for ranks, what, frames in processes.printed(finding["processes"])
    ]


def _where(raised: str, count: int) -> str:
    it, its = ("it", "its main thread") if count == 1 else ("they", "their main threads")
    return f"where {it} raised {raised}" if raised else f"in {its}"


def _few(lines: list[str]) -> list[str]:
    """A recursion may be a thousand frames deep."""
    return lines if len(lines) <= FRAMES else [*lines[:FRAMES], f"and {count(len(lines) - FRAMES, 'line')} more"]


def _folded_frames(frames: list[dict[str, Any]], others: str) -> list[str]:
    width = max((len(short(f["name"])) for f in frames if not f["internal"]), default=0)
    lines, hidden = [], 0
    for frame in [*frames, None]:
        if frame is not None and frame["internal"]:
            hidden += 1
            continue
        if hidden:
            lines.append(f"({count(hidden, 'frame')} of {others})")
            hidden = 0
        if frame is not None:
            lines.append(f"{short(frame['name']):{min(width, 30)}}  {short(frame['file'])}:{frame['line']}")
    return lines


def stack_title(finding: Facts) -> str:
    """`Stack of rank 0 at all_reduce, call 3, innermost first`."""
    made = finding["stack"]
    number = "" if made["seq"] is None else f", {'p2p call' if made['p2p'] else 'call'} {made['seq']}"
    return f"Stack of rank {made['rank']} at {short(made['op'])}{number}, innermost first"


def problems(report: Facts) -> list[str]:
    lines = []
    for problem in report["problems"]:
        saved = problem["salvaged_entries"]
        kept = f" ({count(saved, 'entry')} read)" if saved is not None else ""
        rank = f", rank {problem['rank']}" if problem["rank"] is not None else ""
        lines.append(f"{short(problem['file'])}{rank}: {problem['problem']}: {short(problem['detail'])}{kept}")
    return folded(lines, "problem", "--format json lists all")


def job(report: Facts) -> list[str]:
    """What was read, in a few lines."""
    about = report["job"]
    lines = [short(report["source"])]
    if about["attempt"]:
        lines.append(f"attempt {short(about['attempt'])} of {short(', '.join(about['attempts']))}")
    read = f"{count(len(about['ranks']), 'rank')} read of {about['world_size']:,}"
    lines.append(f"{read}, {count(about['groups'], 'process group')}, {about['entries']:,} entries")
    if about["from_rings"]:
        rings = "ring" if len(about["from_rings"]) == 1 else "rings"
        lines.append(short(f"{who(about['from_rings'])} read from the recorder's {rings}"))
    if about["missing_ranks"]:
        lines.append(short(f"no dump of {who(about['missing_ranks'])}"))
    made = [
        (f"dump version {', '.join(about['versions'])}", about["versions"]),
        (f"back end {', '.join(about['backends'])}", about["backends"]),
        (f"library {', '.join(about['library'])}", about["library"]),
    ]
    told = "; ".join(text for text, known in made if known)
    return [*lines, short(told)] if told else lines


def folded(lines: list[str], noun: str, where: str) -> list[str]:
    """At most SHOWN lines, then how many there are besides."""
    left = len(lines) - SHOWN
    return lines if left <= 1 else [*lines[:SHOWN], f"and {count(left, noun)} more ({where})"]
