"""The report as Markdown for an incident channel or an issue.

Names in it come from strangers' files, so every text is escaped: none can become a heading, a link, an image, HTML
or a mention of somebody. Lists only, no tables: most chat programs show none.
"""

from __future__ import annotations

import re

from frtui.report import phrases
from frtui.report.facts import Facts
from frtui.text import clean

_SPECIAL = re.compile(r"[\\`*_{}\[\]<>#|~&$!]")
_BLOCK = re.compile(r"^(\d+)?(?=[-+=.)])")
_CODE = re.compile(r"(?<!`)`([^`]+)`(?!`)")
_URL = re.compile(r"(?i)(:)(?=//)|(?<=www)(\.)")


def render(report: Facts) -> str:
    verdict, others = report["verdict"], report["findings"][1:]
    parts = [_finding(verdict, "###")]
    parts += [_finding(finding, "####") for finding in others]
    parts.append(_list("Problems with the files", phrases.problems(report)))
    parts.append(_list("What was read", phrases.job(report)))
    return "\n\n".join(part for part in parts if part) + "\n"


def escape(text: str, starts_line: bool = True) -> str:
    """`text` as Markdown that shows as just this text.

    >>> escape("all_reduce <b>")
    'all\\\\_reduce \\\\<b\\\\>'
    """
    text = _SPECIAL.sub(r"\\\g<0>", clean(text))
    if starts_line:
        text = _BLOCK.sub(r"\g<0>\\", text.lstrip())
    text = _URL.sub(r"\\\g<0>", text)
    # Chat programs look for mentions after Markdown is done: only an invisible word joiner stops them.
    return text.replace("@", "@\u2060")


def prose(text: str) -> str:
    """A sentence whose `code` in single backticks stays code; all else is escaped."""
    # With one group in the pattern, every second part is what stood between backticks.
    parts = enumerate(_CODE.split(clean(text)))
    return "".join(code(part) if number % 2 else escape(part, number == 0) for number, part in parts)


def code(text: str) -> str:
    """`text` as a code span, whatever backticks are in it."""
    text = clean(text)
    fence = "`" * (_longest_run(text) + 1)
    pad = " " if text.startswith(("`", " ")) or text.endswith(("`", " ")) else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def block(lines: list[str]) -> str:
    text = "\n".join(map(clean, lines))
    fence = "`" * max(3, _longest_run(text) + 1)
    return f"{fence}text\n{text}\n{fence}"


def _block(title: str, lines: list[str]) -> str:
    return f"**{escape(title)}**\n\n{block(lines)}"


def _longest_run(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)


def _finding(finding: Facts, heading: str) -> str:
    steps = "\n".join(f"{number}. {prose(step)}" for number, step in enumerate(finding["next_steps"], 1))
    parts = [
        f"{heading} {finding['kind'].upper()} ({finding['confidence']})",
        escape(finding["summary"]),
        _key_facts(finding),
        _list("Evidence", finding["evidence"]),
        _list("Who waits", phrases.waits(finding)),
        _list("Last calls", phrases.last_calls(finding)),
        *(_block(title, lines) for title, lines in phrases.process_stacks(finding)),
        _block(phrases.stack_title(finding), phrases.stack(finding)) if finding["stack"] else "",
        f"**Next steps**\n\n{steps}" if steps else "",
    ]
    return "\n\n".join(part for part in parts if part)


def _key_facts(finding: Facts) -> str:
    site = phrases.short(finding["call_site"]) if finding["call_site"] else ""
    pairs = [("Where", site), ("Call", phrases.call(finding)), ("Blamed", phrases.blamed(finding))]
    return "\n".join(f"- **{name}:** {code(value)}" for name, value in pairs if value)


def _list(title: str, lines: list[str]) -> str:
    return "\n".join([f"**{title}**\n", *(f"- {escape(line)}" for line in lines)]) if lines else ""
