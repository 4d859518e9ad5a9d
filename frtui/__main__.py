"""`python -m frtui`."""

from __future__ import annotations

import sys

from frtui.cli import main

if __name__ == "__main__":
    sys.exit(main())
