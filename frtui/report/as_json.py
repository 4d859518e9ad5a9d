"""The report for scripts: one JSON object."""

from __future__ import annotations

import json

from frtui.report.facts import Facts


def render(report: Facts) -> str:
    # ASCII only: a folder's name may hold bytes that are not UTF-8, and so does the JSON survive any terminal.
    return json.dumps(report, indent=2, ensure_ascii=True) + "\n"
