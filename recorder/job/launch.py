"""Running a script or a module as if Python itself had been started with it."""

from __future__ import annotations

import importlib.util
import os
import runpy
import sys
import types
from collections.abc import Sequence

NO_FILE, NO_MODULE = 2, 1
"""Exit codes, which are Python's own."""


def script(arguments: Sequence[str]) -> None:
    """Run `arguments[0]` as `__main__`, with the rest as its arguments. Raises what it raises.

    In a module that takes the place of `__main__`, since spawned workers import the main module by its file, and
    what is pickled for them names it.
    """
    path = arguments[0]
    main = types.ModuleType("__main__")
    main.__file__ = path
    main.__dict__["__builtins__"] = __builtins__
    try:
        with open(path, "rb") as file:
            source = file.read()
    except OSError as error:
        print(f"recorder: can't open file {path!r}: {error.strerror}", file=sys.stderr)
        sys.exit(NO_FILE)
    code = compile(source, path, "exec")
    sys.modules["__main__"] = main
    sys.argv[:] = arguments
    sys.path[0] = os.path.dirname(os.path.abspath(path))
    exec(code, main.__dict__)


def module(arguments: Sequence[str]) -> None:
    """Run the module named `arguments[0]` as `__main__`, with the rest as its arguments. Raises what it raises."""
    sys.argv[:] = arguments
    sys.path[0] = os.getcwd()
    why = _missing(arguments[0])
    if why:
        print(f"recorder: {why}", file=sys.stderr)
        sys.exit(NO_MODULE)
    runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)


def _missing(name: str) -> str:
    """Why there is no module `name`; empty where there is one."""
    try:
        return "" if importlib.util.find_spec(name) else f"no module named {name!r}"
    except ModuleNotFoundError as error:
        if error.name and f"{name}.".startswith(f"{error.name}."):
            return f"no module named {error.name!r}"
        raise  # one that it imports
