"""The report as one HTML file: no script, nothing loaded, readable in light and dark and on paper.

Names in it come from strangers' files: every text passes `_text`, which escapes all that HTML has a use for. What
lies beyond ASCII is written as a number, so that the file means the same in any encoding.
"""

from __future__ import annotations

import base64
import hashlib
import html
import re
from collections.abc import Iterable
from itertools import groupby

from frtui.report import phrases
from frtui.report.facts import Facts
from frtui.text import clean, count

_STYLE = """
:root { color-scheme: light dark; }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; font: 1rem/1.5 sans-serif; overflow-wrap: anywhere; }
h1, h2 { font-size: 1.3rem; line-height: 1.3; }
h2 { margin-top: 2.5rem; padding-top: 1rem; border-top: 1px solid; }
h3, summary { font-size: 1rem; font-weight: bold; margin: 1.2rem 0 0.3rem; }
ul, ol { margin: 0; padding-left: 1.5rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0 1rem; margin: 1rem 0; }
dt { opacity: 0.75; }
dd { margin: 0; }
dd, code, .stack { font-family: monospace; }
.stack { padding-left: 1.5rem; }
.stack summary { font-weight: normal; margin: 0; opacity: 0.75; }
.frame { display: grid; grid-template-columns: minmax(12rem, max-content) minmax(40%, 1fr); gap: 1rem; }
h1, h2, h3, p, li, dd, code, span { unicode-bidi: isolate; }
@media print {
  body { margin: 0; max-width: none; font-size: 10pt; }
  h2, h3, summary { break-after: avoid; }
  li, .frame { break-inside: avoid; }
}
"""
_POLICY = "default-src 'none'; style-src 'sha256-{}'; base-uri 'none'; form-action 'none'"
_CODE = re.compile(r"(?<!`)`([^`]+)`(?!`)")
_LONGEST = 2_000
"""Characters of a frame's name or file that are shown: C++ names are long, and a name may be a megabyte."""
_MOST = 200
"""Frames of a stack that are shown."""


def render(report: Facts) -> str:
    verdict, others = report["verdict"], report["findings"][1:]
    digest = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY.format(digest)}">',
        '<meta name="referrer" content="no-referrer">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        _element("title", f"{_kind(verdict)} - frtui"),
        f"<style>{_STYLE}</style>",
        "</head>",
        "<body>",
        *_finding(verdict, "h1"),
        *(part for finding in others for part in _finding(finding, "h2")),
        *_list("Problems with the files", phrases.problems(report)),
        *_list("What was read", phrases.job(report)),
        "</body>",
        "</html>",
    ]
    return "\n".join(parts) + "\n"


def _text(text: str) -> str:
    """`text` as HTML that shows as just this text, what would hide or reorder it as visible escapes.

    >>> _text('<b id="x">\\u202e')
    '&lt;b id=&quot;x&quot;&gt;\\\\u202e'
    """
    return html.escape(clean(text)).encode("ascii", "xmlcharrefreplace").decode()


def _element(name: str, text: str) -> str:
    return f"<{name}>{_text(text)}</{name}>"


def _prose(text: str) -> str:
    """A sentence with its `code` in backticks as code."""
    parts = enumerate(_CODE.split(text))
    return "".join(_element("code", part) if number % 2 else _text(part) for number, part in parts)


def _kind(finding: Facts) -> str:
    return f"{finding['kind'].upper()} ({finding['confidence']})"


def _finding(finding: Facts, heading: str) -> list[str]:
    made = finding["stack"]
    return [
        _element(heading, _kind(finding)),
        _element("p", finding["summary"]),
        *_key_facts(finding),
        *_list("Evidence", finding["evidence"]),
        *_list("Who waits", phrases.waits(finding)),
        *_list("Last calls", phrases.last_calls(finding)),
        *(_stack(title, frames, phrases.OTHERS_IN_THREADS) for title, frames in phrases.process_frames(finding)),
        *([_stack(phrases.stack_title(finding), made["frames"], phrases.OTHERS)] if made else []),
        *_items("Next steps", "ol", map(_prose, finding["next_steps"])),
    ]


def _key_facts(finding: Facts) -> list[str]:
    site = phrases.short(finding["call_site"]) if finding["call_site"] else ""
    pairs = [("where", site), ("call", phrases.call(finding)), ("blamed", phrases.blamed(finding))]
    rows = [_element("dt", name) + _element("dd", value) for name, value in pairs if value]
    return ["<dl>", *rows, "</dl>"] if rows else []


def _list(title: str, lines: list[str]) -> list[str]:
    return _items(title, "ul", map(_text, lines))


def _items(title: str, kind: str, made: Iterable[str]) -> list[str]:
    """`made` is HTML already."""
    items = [f"<li>{item}</li>" for item in made]
    return [_element("h3", title), f"<{kind}>", *items, f"</{kind}>"] if items else []


def _stack(title: str, frames: list[Facts], others: str) -> str:
    """Open, so that it is on paper, too; the frames that are not the user's unfold one level deeper."""
    parts = [f"<details open><summary>{_text(title)}</summary>", '<div class="stack">']
    for internal, run in groupby(frames[:_MOST], key=lambda frame: bool(frame["internal"])):
        those = list(run)
        if internal:
            told = f"{count(len(those), 'frame')} of {others}"
            parts += [f"<details><summary>{_text(told)}</summary>", *_frames(those), "</details>"]
        else:
            parts += _frames(those)
    if len(frames) > _MOST:
        parts.append(_element("div", f"and {count(len(frames) - _MOST, 'frame')} more"))
    return "\n".join([*parts, "</div>", "</details>"])


def _frames(frames: Iterable[Facts]) -> list[str]:
    return [
        f'<div class="frame">{_element("span", _cut(f["name"]))}{_element("span", _cut(f["file"], f["line"]))}</div>'
        for f in frames
    ]


def _cut(text: str, line: int | None = None) -> str:
    """Never the line's number."""
    text = text if len(text) <= _LONGEST else text[:_LONGEST] + "..."
    return text if line is None else f"{text}:{line}"
