"""Exit codes; scripts rely on them."""

from __future__ import annotations

NO_HANG = 0
"""No hang found, or the dumps can't tell; also a screen that was closed."""
HANG = 1
UNREADABLE = 2
"""The folder can't be read or holds no dump, or the output can't be written."""
USAGE = 64
FAULT = 70
"""frtui itself failed."""
INTERRUPTED = 130
READER_LEFT = 141
"""The reader of a pipe went away, as with `| head`."""
TERMINATED = 143
