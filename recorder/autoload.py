"""The entry point that torch calls at the end of `import torch` (group `torch.backends`, torch 2.5 and newer).

With it a job is recorded without a change to its script: `RECORDER=1 torchrun train.py`. It runs in every process that
imports torch, so without the variable it does nothing, and it never raises: that would break `import torch`.
"""

from __future__ import annotations

import os
import sys

VARIABLE = "RECORDER"


def autoload() -> None:
    if os.environ.get(VARIABLE, "").strip().lower() not in ("1", "on", "true", "yes", "y"):
        return
    try:
        import recorder

        recorder.enable()
    except Exception as error:
        print(f"[recorder] not enabled: {type(error).__name__}: {error}", file=sys.stderr)
