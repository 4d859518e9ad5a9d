"""One setting of a Flight Recorder: its names, its defaults by release, what it means."""

from __future__ import annotations

from typing import NamedTuple

Release = tuple[int, int]
"""torch 2.14.1 is (2, 14)."""

FIRST: Release = (2, 2)
"""The first release with a Flight Recorder that writes pickles."""
NEWEST: Release = (2, 14)
"""The newest release whose settings were looked at. A later one is taken to behave the same."""


class Name(NamedTuple):
    """A name that torch reads, from the release `since` on."""

    text: str
    since: Release


class Default(NamedTuple):
    """What torch takes when nothing is set, as one would write it, from the release `since` on."""

    value: str
    since: Release


class Variable(NamedTuple):
    """One setting under all its names. `names` stand in torch's order: where several are set, the first counts."""

    key: str
    kind: str
    """int, bool, path, choice; flag, which is on with exactly "1"; word, which is ours."""
    names: tuple[Name, ...]
    defaults: tuple[Default, ...]
    meaning: str
    backends: tuple[str, ...] = ("nccl",)
    choices: tuple[str, ...] = ()


def row(
    key: str,
    kind: str,
    names: str,
    defaults: str,
    meaning: str,
    backends: tuple[str, ...] = ("nccl",),
    choices: tuple[str, ...] = (),
) -> Variable:
    """`names` and `defaults` are `what@release`, separated by spaces; an empty default is `@release`."""
    named = tuple(Name(*_at(part)) for part in names.split())
    valued = tuple(Default(*_at(part)) for part in defaults.split())
    return Variable(key, kind, named, valued, meaning, backends, choices)


def _at(part: str) -> tuple[str, Release]:
    text, _, release = part.partition("@")
    major, minor = release.split(".")
    return text, (int(major), int(minor))
