"""The command line: arguments, exit codes, a terminal or not. The screen is imported only when it opens."""

from __future__ import annotations

import signal
import sys

from frtui.arguments import parse
from frtui.exits import FAULT, INTERRUPTED, READER_LEFT, TERMINATED, USAGE

TYPE_CHECKING = False  # typing itself is a tenth of the time that --help may take
if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from typing import NoReturn


def main(argv: Sequence[str] | None = None) -> int:
    """Run `frtui` and return its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        options = parse(arguments)
    except SystemExit as end:  # --help, --version and wrong usage
        return end.code if isinstance(end.code, int) else USAGE
    signal.signal(signal.SIGTERM, _terminated)
    try:
        return run(options)
    except KeyboardInterrupt:
        print("frtui: interrupted", file=sys.stderr)
        return INTERRUPTED
    except _Terminated:
        return TERMINATED
    except BrokenPipeError:
        return READER_LEFT


class _Terminated(BaseException):
    """SIGTERM, so that `finally` clauses run before the end."""


def _terminated(*_: object) -> NoReturn:
    raise _Terminated


def run(options: argparse.Namespace) -> int:
    """Do what was asked; what goes wrong inside frtui is told in one line, unless --debug."""
    from frtui import commands
    from frtui.text import clean

    try:
        return commands.run(options)
    except (BrokenPipeError, KeyboardInterrupt):
        raise
    except Exception as error:
        if options.debug:
            raise
        print(
            f"frtui: {type(error).__name__}: {clean(str(error))}\nThis is a fault in frtui; --debug shows where.",
            file=sys.stderr,
        )
        return FAULT
