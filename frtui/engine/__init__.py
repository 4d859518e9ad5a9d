"""Job -> findings, as pure functions. `diagnose` is the way in."""

from __future__ import annotations

from frtui.engine.diagnose import diagnose
from frtui.engine.finding import LIKELY, POSSIBLE, PROVEN, Finding

__all__ = ["LIKELY", "POSSIBLE", "PROVEN", "Finding", "diagnose"]
