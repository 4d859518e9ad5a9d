"""`recorder dump` and `recorder stacks`: ask running ranks on this host, through their sockets."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Mapping
from typing import Any

from recorder import files, paths, sockets
from recorder.outside import rings
from recorder.outside.rings import Found
from recorder.text import clean


def add_dump_arguments(parser: argparse.ArgumentParser) -> None:
    _add_target(parser)
    parser.add_argument("-o", "--output", metavar="PREFIX", help="write PREFIX<rank>, instead of the job's own files")
    parser.add_argument("--native", action="store_true", help="what torch's own recorder holds; needs -o")
    parser.add_argument("--no-collectives", action="store_true", help="only groups and their status; needs -o")
    parser.add_argument("--no-stacks", action="store_true", help="without stack traces; needs -o")
    parser.add_argument("--only-active", action="store_true", help="only calls that are not finished; needs -o")


def add_stacks_arguments(parser: argparse.ArgumentParser) -> None:
    _add_target(parser)


def _add_target(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "target", metavar="DIR|PID", help="the folder of the dumps (all ranks on this host), or a process"
    )


def dump(options: argparse.Namespace) -> int:
    """0 when every rank asked has dumped, 1 when one did not, 2 when there is none to ask."""
    switches = {
        "include_collectives": not options.no_collectives,
        "include_stack_traces": not options.no_stacks,
        "only_active": options.only_active,
    }
    special = options.native or any(switches[k] != d for k, d in _DEFAULTS.items())
    if special and not options.output:
        print("recorder dump: --native and the switches need -o PREFIX", file=sys.stderr)
        return 64
    request: dict[str, Any] = {"command": "dump"}
    if options.output:
        request = {"command": "native" if options.native else "trace", **switches}
    return _each(options.target, request, options.output)


def stacks(options: argparse.Namespace) -> int:
    """As `dump`; prints the stacks of all threads of each rank, innermost frame first."""
    return _each(options.target, {"command": "stacks"}, None)


_DEFAULTS = {"include_collectives": True, "include_stack_traces": True, "only_active": False}


def _each(target: str, request: Mapping[str, Any], output: str | None) -> int:
    ranks = [ring for ring in _ranks(target) if isinstance(ring, Found) and ring.alive()]
    if not ranks:
        what = f"process {target}" if target.isdecimal() else clean(target)
        print(f"recorder: no running rank of this host records into {what}", file=sys.stderr)
        return 2
    return max(_ask(ring, request, output) for ring in ranks)


def _ranks(target: str) -> list[Found | str]:
    if not target.isdecimal():
        return list(rings.find(target))
    path = _ring_of(int(target))
    return [rings.read(path)] if path else []


def _ring_of(pid: int) -> str:
    """The ring file that process `pid` has mapped; empty when it records nothing, or is another user's."""
    try:
        with open(f"/proc/{pid}/maps") as maps:
            found = re.search(r"/.*/ring\.r\d+\.frr$", maps.read(), re.MULTILINE)
    except OSError:
        return ""
    return found.group() if found else ""


def _ask(ring: Found, request: Mapping[str, Any], output: str | None) -> int:
    rank = ring.header.rank
    try:
        reply = sockets.ask(paths.socket_path(os.path.dirname(ring.path), rank), request)
        if reply.startswith(b"error:") or not reply:
            raise OSError(reply.decode("utf-8", "replace") or "it hung up")
        if output:
            files.write_atomically(f"{output}{rank}", reply)
            reply = f"{output}{rank}".encode()
    except OSError as error:
        why = clean(str(error.strerror or error))
        print(
            f"rank {rank} (pid {ring.header.pid}): no answer: {why}; try `kill -USR2 {ring.header.pid}`",
            file=sys.stderr,
        )
        return 1
    if request["command"] == "stacks":
        print(f"rank {rank} (pid {ring.header.pid} on {clean(ring.header.host)})\n{_stacks_text(reply)}")
    else:
        print(f"rank {rank}: {clean(reply.decode('utf-8', 'replace'))}")
    return 0


def _stacks_text(reply: bytes) -> str:
    lines = []
    for thread in json.loads(reply):
        lines.append(f"  thread {clean(str(thread['name']))}")
        lines += [f"    {clean(f['name'])} {clean(f['filename'])}:{f['line']}" for f in thread["frames"]]
    return "\n".join(lines)
