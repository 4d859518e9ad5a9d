"""Findings -> bytes for people, for an incident channel and for scripts. `render` is the way in."""

from __future__ import annotations

from collections.abc import Sequence

from frtui.engine.finding import Finding
from frtui.model import Job
from frtui.report import as_json, html, markdown, text
from frtui.report.build import facts, is_cause
from frtui.report.facts import Facts

__all__ = ["Facts", "facts", "found_hang", "render"]

_FORMATS = {"text": text.render, "markdown": markdown.render, "json": as_json.render, "html": html.render}


def render(job: Job, findings: Sequence[Finding], format: str, only: int | None = None) -> bytes:  # noqa: A002
    """The report as UTF-8. `only` takes one finding (by its place in `findings`) instead of all."""
    chosen = findings if only is None else [findings[only]]
    return _FORMATS[format](facts(job, chosen)).encode()


def found_hang(findings: Sequence[Finding]) -> bool:
    """Whether any finding is a cause of a hang, which decides the exit code."""
    return any(map(is_cause, findings))
