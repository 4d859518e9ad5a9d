"""The report as 80 columns of plain text, the answer in its first line."""

from __future__ import annotations

import textwrap

from frtui.report import phrases
from frtui.report.facts import Facts
from frtui.text import clean

WIDTH = 80


def render(report: Facts) -> str:
    verdict, others = report["verdict"], report["findings"][1:]
    parts = [wrapped(verdict["headline"]), *_finding(verdict)]
    if others:
        parts.append(section("Other independent findings", [finding["headline"] for finding in others]))
        parts += [
            part for finding in others for part in ["-" * WIDTH, wrapped(finding["headline"]), *_finding(finding)]
        ]
    parts.append(section("Problems with the files", phrases.problems(report)))
    parts.append(section("What was read", phrases.job(report), bullet=""))
    return "\n\n".join(part for part in parts if part) + "\n"


def _finding(finding: Facts) -> list[str]:
    """The paragraphs below a headline; empty ones are left out by the caller."""
    title = phrases.stack_title(finding) if finding["stack"] else ""
    return [
        _key_facts(finding),
        section("Evidence", finding["evidence"]),
        section("Who waits", phrases.waits(finding)),
        section("Last calls", phrases.last_calls(finding)),
        *(section(title, lines, bullet="") for title, lines in phrases.process_stacks(finding)),
        section(title, phrases.stack(finding), bullet=""),
        section("Next steps", finding["next_steps"], bullet="{}. "),
    ]


def _key_facts(finding: Facts) -> str:
    site = phrases.short(finding["call_site"]) if finding["call_site"] else ""
    pairs = [("where", site), ("call", phrases.call(finding)), ("blamed", phrases.blamed(finding))]
    return "\n".join(wrapped(value, f"  {name:8}", " " * 10) for name, value in pairs if value)


def section(title: str, lines: list[str], bullet: str = "- ") -> str:
    """A titled list; `{}` in the bullet is the number of the line."""
    if not lines:
        return ""
    leads = ["  " + bullet.format(number) for number in range(1, len(lines) + 1)]
    return "\n".join([title, *(wrapped(line, lead, " " * len(lead)) for lead, line in zip(leads, lines))])


def wrapped(text: str, first: str = "", rest: str = "") -> str:
    """Lines of 80 columns; a path is never broken, so that it can be copied."""
    lines = textwrap.wrap(
        clean(text),
        WIDTH,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "\n".join(lines)
