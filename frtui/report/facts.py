"""The type of what every part of the report is laid out from."""

from __future__ import annotations

from typing import Any

Facts = dict[str, Any]
