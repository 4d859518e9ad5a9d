"""`doctor`: what the environment makes of recording, before the job that one would want a dump of."""

from __future__ import annotations

import argparse
import os
import shlex
import stat
import sys
from collections.abc import Iterable, Mapping

from recorder.setup.checks import (
    Values,
    check_content,
    check_files,
    check_gloo,
    check_nccl,
    check_recorder,
    check_values,
)
from recorder.setup.finding import LOST, WARN, Finding
from recorder.setup.output import write
from recorder.setup.settings import (
    FIRST,
    NEWEST,
    BadValue,
    Environ,
    Release,
    installed_torch,
    parse_release,
    release_text,
    shown,
)
from recorder.setup.spelling import check_names

UNREADABLE = 2
_LARGEST = 4_000_000  # bytes of an environment file; Linux allows some 2 MB of environment

_COLOURS = {"ok": "\x1b[32m", "note": "", "warn": "\x1b[33m", "lost": "\x1b[31m"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--torch", type=torch_release, metavar="2.7", help="judge for this release (default: the installed)"
    )
    parser.add_argument(
        "--env-file", metavar="FILE", help="judge NAME=VALUE lines, or /proc/PID/environ of a running rank"
    )


def torch_release(text: str) -> Release:
    """For argparse."""
    try:
        return parse_release(text)
    except BadValue as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def run(options: argparse.Namespace) -> int:
    """0, or 1 when a dump would be lost, or 2 when the file can't be read."""
    release, why = chosen_release(options.torch)
    environ: Environ = os.environ
    if options.env_file is not None:
        try:
            environ = read_environ(options.env_file)
        except (OSError, ValueError) as error:
            print(f"cannot read {shown(options.env_file)}: {shown(_reason(error))}", file=sys.stderr)
            return UNREADABLE
    topics = examine(environ, release)
    lines = _lines(topics, f"torch {release_text(release)} ({why})", _colours())
    write("".join(f"{line}\n" for line in lines))
    return int(any(finding.level == LOST for findings in topics.values() for finding in findings))


def chosen_release(asked: Release | None) -> tuple[Release, str]:
    """The release to answer for, and why that one."""
    if asked is not None:
        return asked, "as asked" if asked <= NEWEST else f"as asked; judged as {release_text(NEWEST)}, the newest known"
    version = installed_torch()
    if version is not None:
        try:
            return parse_release(version), f"{shown(version)} is installed here"
        except BadValue:
            pass  # a build with a name of its own
    return NEWEST, "the newest known, as none is installed here; --torch chooses another"


def examine(environ: Environ, release: Release) -> dict[str, list[Finding]]:
    """All findings, by topic."""
    if release < FIRST:
        return {
            "NCCL, by torch": [Finding(LOST, f"torch {release_text(release)} has no Flight Recorder; 2.2 is the first")]
        }
    values = Values(environ, release)
    return {
        "NCCL, by torch": list(check_nccl(values)),
        "gloo, by torch": list(check_gloo(values)),
        "any back end, by this package's recorder": list(check_recorder(values)),
        "files": list(check_files(values)),
        "content": list(check_content(values)),
        "variables": [*check_values(values), *check_names(environ, release)],
    }


def read_environ(path: str) -> dict[str, str]:
    """NAME=VALUE, one a line as in a shell or separated by NUL as in /proc/PID/environ."""
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise ValueError("not a file")  # opening a pipe would wait for ever
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        text = file.read(_LARGEST)
    if "\0" in text:
        return _pairs(text.split("\0"))
    return _pairs(" ".join(_words(line)) for line in text.splitlines())


def _words(line: str) -> list[str]:
    """What a shell would make of one assignment: quotes off, comments off, `export` off."""
    try:
        words = shlex.split(line, comments=True)
    except ValueError:  # an odd quote: take it as it stands
        words = [line.strip()]
    return words[1:] if words and words[0] in ("export", "env") else words


def _pairs(entries: Iterable[str]) -> dict[str, str]:
    split = (entry.partition("=") for entry in entries if "=" in entry)
    return {name.strip(): value for name, _, value in split}


def _lines(topics: Mapping[str, list[Finding]], head: str, colours: Mapping[str, str]) -> Iterable[str]:
    yield head
    for topic, findings in topics.items():
        if findings:
            yield ""
            yield topic
        for level, text in findings:
            colour = colours.get(level, "")
            yield f"  {colour}{level:4}{colour and chr(27) + '[0m'}  {text}"
    levels = [finding.level for findings in topics.values() for finding in findings]
    lost, warned = levels.count(LOST), levels.count(WARN)
    yield ""
    yield f"{_count(lost, 'problem')} that would lose a dump, {_count(warned, 'warning')}"


def _count(number: int, what: str) -> str:
    return f"{number or 'no'} {what}{'' if number == 1 else 's'}"


def _colours() -> Mapping[str, str]:
    plain = not sys.stdout.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM", "dumb") == "dumb"
    return {} if plain else _COLOURS


def _reason(error: Exception) -> str:
    return (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
