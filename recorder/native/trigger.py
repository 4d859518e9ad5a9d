"""`python -m recorder trigger PIPE_PREFIX`: ask the ranks on this host for their dumps, and say what each did."""

from __future__ import annotations

import argparse
import os
import sys

from recorder.native import pipes

MOST = 1 << 20
"""Ranks in one option: a slip of the key must not make a list of a thousand million."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    default = os.environ.get("TORCH_NCCL_DEBUG_INFO_PIPE_FILE")
    parser.add_argument(
        "pipe",
        metavar="PIPE_PREFIX",
        nargs="?" if default else None,
        default=default,
        help="what TORCH_NCCL_DEBUG_INFO_PIPE_FILE says in the job (taken from here when set), or the pipes' folder",
    )
    parser.add_argument("--ranks", nargs="+", type=ranks, metavar="N", help="ranks and ranges: 0 2-5; all by default")
    parser.add_argument("--timeout", type=float, default=5.0, metavar="S", help="seconds to wait for the dumps (5)")
    parser.add_argument("--dumps", metavar="PREFIX", help="where the job writes them, if not where its variables say")


def run(options: argparse.Namespace) -> int:
    """A line a rank on stdout. 0: all dumped; 1: one did not; 2: there is no pipe, or the folder can't be read."""
    wanted = None if options.ranks is None else sorted({rank for some in options.ranks for rank in some})
    prefixes = None if options.dumps is None else [options.dumps]
    try:
        replies = pipes.trigger(options.pipe, wanted, options.timeout, dumps=prefixes, progress=_print)
    except OSError as error:
        print(f"recorder trigger: {options.pipe}: {error.strerror}", file=sys.stderr)
        return 2
    if all(reply.state == pipes.NO_PIPE for reply in replies):
        print(f"recorder trigger: no pipe of a rank under {options.pipe}; {_ADVICE}", file=sys.stderr)
        return 2
    return int(any(reply.state != pipes.DUMPED for reply in replies))


def ranks(text: str) -> range:
    """`3` or `2-5`. Raises argparse.ArgumentTypeError for anything else."""
    first, dash, last = text.partition("-")
    if not first.isdecimal() or (dash and not last.isdecimal()):
        raise argparse.ArgumentTypeError(f"{text!r} is neither a rank nor a range like 2-5")
    found = range(int(first), int(last if dash else first) + 1)
    if not found or int(last or first) >= MOST:
        raise argparse.ArgumentTypeError(f"{text!r} is no range of ranks")
    return found


_ADVICE = (
    "the job needs TORCH_NCCL_DEBUG_INFO_PIPE_FILE and TORCH_NCCL_TRACE_BUFFER_SIZE=2000 in its environment, "
    "and only ranks on this host have pipes here"
)


def _print(reply: pipes.Reply) -> None:
    print(f"rank {reply.rank}: {reply.state}: {reply.detail}", flush=True)
