"""What loading can raise."""

from __future__ import annotations

from frtui.model import Problem


class LoadError(Exception):
    """Nothing could be loaded. The message says from where, why, and what to do."""

    def __init__(self, message: str, problems: tuple[Problem, ...] = ()) -> None:
        super().__init__(message)
        self.problems = problems


class Cancelled(Exception):
    """The caller's `cancelled` said so."""


class Unusable(Exception):
    """One file gives nothing. `problem` is a word of `Problem.problem`."""

    def __init__(self, problem: str, detail: str) -> None:
        super().__init__(detail)
        self.problem = problem
        self.detail = detail


class Odd(Exception):
    """Not in every byte what torch writes: the general way decides what it is."""
