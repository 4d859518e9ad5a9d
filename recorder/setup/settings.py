"""What the environment asks of a recorder: names, defaults and values as each release of torch takes them.

Imports no torch, so that it also answers on a login node. The recorder in the job reads its own settings with
`from_environ`; `frtui env` and `frtui doctor` read them for torch's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib import metadata
from typing import NamedTuple

from recorder.setup.variable import FIRST, NEWEST, Default, Name, Release, Variable
from recorder.setup.variables import BY_KEY, VARIABLES
from recorder.text import clean

__all__ = [
    "BY_KEY",
    "DEFAULT_SIZE",
    "FIRST",
    "NEWEST",
    "VARIABLES",
    "BadValue",
    "Default",
    "Found",
    "Name",
    "Release",
    "Settings",
    "Variable",
    "default_for",
    "default_prefix",
    "default_stem",
    "find",
    "from_environ",
    "installed_torch",
    "name_for",
    "parse",
    "parse_bool",
    "parse_int",
    "parse_release",
    "release_text",
    "shown",
    "value_of",
]

Environ = Mapping[str, str]

DEFAULT_SIZE = 2000
"""Calls that the recorder of this package keeps where nothing says how many."""

_TRUE = frozenset({"y", "yes", "1", "t", "true"})
_FALSE = frozenset({"n", "no", "0", "f", "false"})
_ON = frozenset({"1", "on", "true", "yes", "y"})
_INT = re.compile(r"[ \t\n\v\f\r]*([+-]?[0-9]+)")
_INT_MAX = 2**31 - 1


def shown(text: str, limit: int = 120) -> str:
    """`text` safe to print, and cut where it would fill the screen."""
    safe = clean(text[:limit])
    return safe if len(text) <= limit else f"{safe}…"


class BadValue(ValueError):
    """A value that torch refuses; the text says what it takes."""


class Found(NamedTuple):
    """A variable as it is set: the name that counts, and the text of its value."""

    name: str
    text: str


def parse_release(text: str) -> Release:
    """The release of "2.7", "v2.7.1" or "2.13.0+cpu"."""
    match = re.match(r"v?([0-9]{1,3})\.([0-9]{1,3})(?![0-9])", text.strip())
    if not match:
        raise BadValue(f"{shown(text)!r} is no torch release; write one like 2.7")
    return int(match[1]), int(match[2])


def release_text(release: Release) -> str:
    return f"{release[0]}.{release[1]}"


def installed_torch() -> str | None:
    """The version of torch beside this Python, found without importing it."""
    try:
        return metadata.version("torch")
    except metadata.PackageNotFoundError:
        return None


def name_for(variable: Variable, release: Release) -> str | None:
    """The name to set for `release`, which is the newest that it reads; None where it reads none."""
    return next((name.text for name in variable.names if name.since <= release), None)


def default_for(variable: Variable, release: Release) -> str | None:
    """What `release` takes when nothing is set, as one would write it; None before the variable came."""
    return next((default.value for default in reversed(variable.defaults) if default.since <= release), None)


def default_stem(release: Release) -> str:
    """The start of a dump's file name, before the rank."""
    return "nccl_trace_rank_" if release < (2, 9) else "comm_lib_trace_rank_"


def default_prefix(release: Release, environ: Environ) -> str:
    """Where torch writes when no prefix is set (`FlightRecorder.cpp`, DebugInfoWriter::getWriter)."""
    if release < (2, 7):
        return "/tmp/" + default_stem(release)
    cache = environ.get("XDG_CACHE_HOME") if release >= (2, 11) else None
    if cache is None:  # set but empty counts, as it does in torch
        cache = environ.get("HOME", "/tmp") + "/.cache"
    return f"{cache}/torch/{default_stem(release)}"


def parse_bool(text: str) -> bool:
    """As torch's getCvarBool: no other spellings, no blanks around it, and empty is refused."""
    lowered = text.lower()
    if lowered in _TRUE:
        return True
    if lowered in _FALSE:
        return False
    raise BadValue("torch takes 1, true, t, yes, y or 0, false, f, no, n here")


def parse_int(text: str) -> int:
    """As torch's getCvarInt, which is C++'s stoi: it reads the digits in front and ignores the rest.

    >>> parse_int("2e3")
    2
    """
    match = _INT.match(text)
    # More than ten digits are too large in any case, and Python is slow at thousands of them.
    if not match or len(match[1].lstrip("+-0")) > 10 or not -_INT_MAX - 1 <= int(match[1]) <= _INT_MAX:
        raise BadValue("torch takes a whole number here, up to 2147483647")
    return int(match[1])


def find(variable: Variable, environ: Environ, release: Release) -> Found | None:
    """The name and text that count for `release`: where several names are set, torch takes the newest one."""
    names = (name.text for name in variable.names if name.since <= release)
    return next((Found(name, environ[name]) for name in names if name in environ), None)


def value_of(key: str, environ: Environ, release: Release) -> bool | int | str | None:
    """The value in force for `release`; None before the variable came. Raises BadValue where torch refuses it."""
    variable = BY_KEY[key]
    found = find(variable, environ, release)
    if found is None and key == "dump_prefix":
        return default_prefix(release, environ)
    text = found.text if found else default_for(variable, release)
    return None if text is None else parse(variable, text)


def parse(variable: Variable, text: str) -> bool | int | str:
    """The value of `text` for `variable`. Raises BadValue where torch refuses it."""
    if variable.kind == "bool":
        return parse_bool(text)
    if variable.kind == "int":
        return parse_int(text)
    if variable.kind == "flag":
        return text == "1"
    if variable.kind == "word":
        return text.strip().lower() in _ON
    # Only TORCH_DISTRIBUTED_DEBUG is compared in capitals (`debug.cpp`).
    text = text.upper() if variable.key == "distributed_debug" else text
    if variable.kind == "choice" and text not in variable.choices:
        raise BadValue(f"torch takes {', '.join(variable.choices)} here")
    return text


class Settings(NamedTuple):
    """The settings of the recorder in the job; each means what it means for torch."""

    requested: bool
    """RECORDER=1; a script can ask too."""
    buffer_size: int
    dump_prefix: str
    dump_on_timeout: bool
    cpp_stack: bool
    problems: tuple[str, ...]
    """Values that can't be used, one sentence each; the defaults stand in for them."""


def from_environ(environ: Environ, release: Release = NEWEST) -> Settings:
    """Read every name that any release knows; a bad value must not end the job, so it is told and left out."""
    problems: list[str] = []

    def read(key: str) -> bool | int | str | None:
        try:
            return value_of(key, environ, max(release, NEWEST))
        except BadValue as error:
            found = find(BY_KEY[key], environ, max(release, NEWEST))
            problems.append(f"{found.name if found else key}={shown(found.text if found else '')}: {error}")
            return parse(BY_KEY[key], default_for(BY_KEY[key], max(release, NEWEST)) or "")

    size = int(read("buffer_size") or 0)
    return Settings(
        requested=bool(read("recorder")),
        buffer_size=max(size, 0),
        dump_prefix=str(environ_prefix(environ, release)),
        dump_on_timeout=bool(read("dump_on_timeout")),
        cpp_stack=bool(read("cpp_stack")),
        problems=tuple(problems),
    )


def environ_prefix(environ: Environ, release: Release) -> str:
    """The dump prefix under any of its names, else the default of `release`."""
    found = find(BY_KEY["dump_prefix"], environ, max(release, NEWEST))
    return found.text if found else default_prefix(release, environ)
