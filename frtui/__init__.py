"""Find the rank, the call and the source line that a stuck PyTorch job waits for."""

from __future__ import annotations

__version__ = "0.1.0"
