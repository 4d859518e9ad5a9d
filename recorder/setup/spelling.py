"""Names in the environment: misspelt, too new for the release, old, or set twice."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from recorder.setup.finding import NOTE, WARN, Finding
from recorder.setup.settings import VARIABLES, Environ, Release, Variable, name_for, release_text, shown
from recorder.setup.variables import OTHER_NAMES

_KNOWN: dict[str, list[Variable]] = {}
for _variable in VARIABLES:
    for _name in _variable.names:
        _KNOWN.setdefault(_name.text, []).append(_variable)

# All that torch reads under these is in the tables; the plugins of Ascend and Cambricon read more than we know.
_OWNED = ("TORCH_NCCL_", "TORCH_FR_", "TORCHCOMM_FR_", "TORCH_INCLUDE_")
_RELATED = ("TORCH", "NCCL_", "PYTORCH_", "FR_", "HCCL_", "CNCL_")
_CLOSE = 0.6
_VERY_CLOSE = 0.9


def check_names(environ: Environ, release: Release) -> Iterator[Finding]:
    """What is wrong with the names that are set, in their order."""
    for name in sorted(environ):
        if name in _KNOWN:
            yield from _known(name, release)
        elif name not in OTHER_NAMES:
            yield from _unknown(name, release)
    for variable in VARIABLES:
        yield from _conflict(variable, environ, release)


def _known(name: str, release: Release) -> Iterator[Finding]:
    readers = [variable for variable in _KNOWN[name] if _since(variable, name) <= release]
    if not readers:
        variable = _KNOWN[name][0]
        instead = name_for(variable, release)
        use = f"use {instead}" if instead else "it has no such setting"
        since = release_text(_since(variable, name))
        yield Finding(WARN, f"{name} has no effect: torch knows it from {since} on, and this is {_at(release)}; {use}")
        return
    newest = name_for(readers[0], release)
    if newest != name:
        yield Finding(NOTE, f"{name} is the older name; torch warns once and takes it. The newer one is {newest}")


def _unknown(name: str, release: Release) -> Iterator[Finding]:
    owned = name.startswith(_OWNED)
    if not owned and not name.upper().startswith(_RELATED):
        return
    guess = _guess(name, _CLOSE if owned else _VERY_CLOSE, release)
    if guess:
        yield Finding(WARN, f"{shown(name)} has no effect: torch reads no such variable; did you mean {guess}?")
    elif owned:
        yield Finding(WARN, f"{shown(name)} has no effect: torch reads no such variable, as far as is known here")


def _guess(name: str, cutoff: float, release: Release) -> str | None:
    """The name that was probably meant, as this release calls it."""
    upper = name.upper()[:80]
    with_torch = f"TORCH_{upper}"
    if upper in _KNOWN or with_torch in _KNOWN:
        close = [upper if upper in _KNOWN else with_torch]
    else:
        close = difflib.get_close_matches(upper, [*_KNOWN, *OTHER_NAMES], 1, cutoff)
    if not close:
        return None
    readers = _KNOWN.get(close[0])
    return (name_for(readers[0], release) if readers else None) or close[0]


def _conflict(variable: Variable, environ: Environ, release: Release) -> Iterator[Finding]:
    names = [name.text for name in variable.names if name.since <= release and name.text in environ]
    if len({environ[name] for name in names}) < 2 or set(variable.backends) & {"hooks", "cncl"}:
        return
    said = " and ".join(f"{name}={shown(environ[name])}" for name in names)
    yield Finding(WARN, f"{said} disagree; torch takes {names[0]}. Unset {names[1]}")


def _since(variable: Variable, name: str) -> Release:
    return next(each.since for each in variable.names if each.text == name)


def _at(release: Release) -> str:
    return f"torch {release_text(release)}"
