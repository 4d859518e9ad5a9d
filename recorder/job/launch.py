"""Running a script or a module as if Python itself had been started with it."""

from __future__ import annotations

import os
import runpy
import sys
import types
from collections.abc import Sequence


def script(arguments: Sequence[str]) -> None:
    """Run `arguments[0]` as `__main__`, with the rest as its arguments. Raises what it raises.

    In a module that takes the place of `__main__`, since spawned workers import the main module by its file, and
    what is pickled for them names it.
    """
    path = arguments[0]
    main = types.ModuleType("__main__")
    main.__file__ = path
    main.__dict__["__builtins__"] = __builtins__
    with open(path, "rb") as file:
        code = compile(file.read(), path, "exec")
    sys.modules["__main__"] = main
    sys.argv[:] = arguments
    sys.path[0] = os.path.dirname(os.path.abspath(path))
    exec(code, main.__dict__)


def module(arguments: Sequence[str]) -> None:
    """Run the module named `arguments[0]` as `__main__`, with the rest as its arguments. Raises what it raises."""
    sys.argv[:] = arguments
    sys.path[0] = os.getcwd()
    runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)
