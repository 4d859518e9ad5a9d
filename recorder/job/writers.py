"""Where dumps go: to a file named as torch names it, or to whatever was registered in its place."""

from __future__ import annotations

import os
import pickle
from typing import Any, Callable

from recorder import files

Writer = Callable[[int, bytes], None]
"""Called with the rank and the dump, a pickle. It may run in any thread, and again for a later dump of the rank."""

_writer: Writer | None = None


def register_writer(writer: Writer | None) -> None:
    """Send dumps to `writer(rank, data)` instead of the local disk; None: to the disk again.

    The Python side of torch's `c10d::DebugInfoWriter`. A writer that raises doesn't lose the dump: it is then
    written to the disk.
    """
    global _writer
    _writer = writer


def write(prefix: str, rank: int, dump: dict[str, Any]) -> str:
    """Hand `dump` to the writer, or write `<prefix><rank>`; where it went. Raises OSError."""
    if _writer is None:
        return files.write_dump(f"{prefix}{rank}", dump)
    try:
        _writer(rank, pickle.dumps(dump, 2))
    except Exception as error:
        path = files.write_dump(f"{prefix}{rank}", dump)
        return f"{path}, since the registered writer failed ({type(error).__name__}: {error})"
    return f"to {getattr(_writer, '__qualname__', _writer)}"


class FsspecWriter:
    """Writes to any URL that fsspec knows (`s3://bucket/job7/rank_`), to which the rank is appended.

    Needs fsspec and, for most URLs, the package of their file system: `pip install frtui[fsspec]`.
    """

    def __init__(self, prefix: str, **options: Any) -> None:
        """`options` go to the file system. Raises ImportError without fsspec, ValueError for an unknown protocol."""
        import fsspec

        self.prefix = prefix
        self._system, self._path = fsspec.core.url_to_fs(prefix, **options)
        self.__qualname__ = prefix

    def __call__(self, rank: int, data: bytes) -> None:
        """Under a temporary name first: not every file system shows a file only once it is whole."""
        path = f"{self._path}{rank}"
        folder, _, name = path.rpartition("/")
        temporary = f"{folder}/.{name}.{os.getpid()}.tmp"
        if folder:
            self._system.makedirs(folder, exist_ok=True)
        with self._system.open(temporary, "wb") as file:
            file.write(data)
        self._system.mv(temporary, path)
