"""`env`: what to set so that a job leaves dumps, in the names that its torch understands."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator

from recorder.setup.doctor import chosen_release, torch_release
from recorder.setup.output import write
from recorder.setup.settings import (
    BY_KEY,
    FIRST,
    Environ,
    Release,
    default_for,
    default_prefix,
    default_stem,
    find,
    name_for,
    release_text,
    shown,
)
from recorder.setup.shells import FORMATS, Advice, Plan
from recorder.text import clean

USAGE = 64
BUFFER = 2000
"""Entries; what torch takes by itself from 2.11 on."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--torch", type=torch_release, metavar="2.7", help="for this release (default: the installed)")
    parser.add_argument("--for", dest="target", choices=tuple(FORMATS), default="bash", help="default: bash")
    parser.add_argument(
        "--dir", type=_folder, metavar="DIR", help="write the dumps there; best a folder all nodes share"
    )
    parser.add_argument("--buffer", type=_entries, default=BUFFER, metavar="N", help=f"calls kept (default: {BUFFER})")
    parser.add_argument("--cpp-stack", action="store_true", help="keep C++ frames too")
    parser.add_argument("--timing", action="store_true", help="record start times and durations (NCCL)")
    parser.add_argument(
        "--recorder", action="store_true", help="switch this package's own recorder on too (torch 2.5+)"
    )


def run(options: argparse.Namespace) -> int:
    release, why = chosen_release(options.torch)
    problem = _impossible(options, release)
    if problem:
        print(problem, file=sys.stderr)
        return USAGE
    folder = os.path.abspath(options.dir) if options.dir else None
    advice = list(_advice(options, release, folder))
    plan = Plan(_head(release, why, folder, os.environ), advice, folder)
    write(FORMATS[options.target](plan))
    return 0


def _impossible(options: argparse.Namespace, release: Release) -> str:
    if release < FIRST:
        return f"torch {release_text(release)} has no Flight Recorder; 2.2 is the first that has"
    if options.recorder and release < (2, 5):
        return "RECORDER=1 needs torch 2.5; before, start the job with: torchrun -m recorder train.py"
    return ""


def _folder(text: str) -> str:
    if not text or clean(text) != text:
        raise argparse.ArgumentTypeError("a folder without control characters, please")
    return text


def _entries(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < int(text[:11]) < 2**31):
        raise argparse.ArgumentTypeError("a number of calls above 0, please")
    return int(text)


def _head(release: Release, why: str, folder: str | None, environ: Environ) -> list[str]:
    """`why` holds the name of a build, so it may be anything: `chosen_release` cleans it."""
    lines = [f"for torch {release_text(release)}: {why}"]
    if folder is None:
        place = shown(default_prefix(release, environ))
        lines.append(f"dumps go to {place}<rank> of each node; --dir DIR chooses a folder that all nodes share")
    return lines


def _advice(options: argparse.Namespace, release: Release, folder: str | None) -> Iterator[Advice]:
    wanted = [("buffer_size", str(options.buffer)), ("dump_on_timeout", "1")]
    if default_for(BY_KEY["monitoring"], release) == "false":
        wanted.append(("monitoring", "1"))
    if folder:
        wanted.append(("dump_prefix", os.path.join(folder, default_stem(release))))
    if options.cpp_stack:
        wanted += [("cpp_stack", "1"), ("symbolize_mode", "fast")]
    if options.timing:
        wanted.append(("timing", "1"))
    if options.recorder:
        wanted.append(("recorder", "1"))
    for key, value in wanted:
        yield from _setting(key, value, release, os.environ)


def _setting(key: str, value: str, release: Release, environ: Environ) -> Iterator[Advice]:
    """Nothing where the release has no such setting; only a comment where its default is what one wants."""
    variable = BY_KEY[key]
    name = name_for(variable, release)
    if name is None:
        return
    default = default_for(variable, release) or ""
    same = default == value or (default == "true" and value == "1")
    # What is set already may be something else, so it is set again.
    if same and find(variable, environ, release) is None:
        yield Advice(name, None, f"{name}={value} is the default: {variable.meaning}")
    else:
        yield Advice(name, value, variable.meaning + (f"; default {default}" if default else ""))
