"""`recorder COMMAND …`, and `python -m recorder [options] train.py …`, which runs a script with the recorder on."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from typing import Callable, NamedTuple, NoReturn

USAGE = 64
READER_LEFT = 141
"""The reader of a pipe went away, as with `| head`."""


class _Command(NamedTuple):
    module: str
    help: str
    add_arguments: str = "add_arguments"
    run: str = "run"


COMMANDS = {
    "env": _Command("setup.advice", "print the variables to set"),
    "doctor": _Command("setup.doctor", "check the variables that are set"),
    "observe": _Command(
        "outside.observe", "watch the ranks of this host from outside, for those that are killed or can't run"
    ),
    "recover": _Command("outside.recover", "turn the rings of dead ranks into dumps"),
    "dump": _Command("outside.ask", "ask running ranks for their dumps", "add_dump_arguments", "dump"),
    "stacks": _Command(
        "outside.ask", "print what the threads of running ranks are doing", "add_stacks_arguments", "stacks"
    ),
    "trigger": _Command("native.trigger", "ask torch's own recorder of NCCL for a dump, through its pipe"),
}

_DESCRIPTION = """\
Run a training script with the recorder on; every rank then leaves a dump, however it ends.

  torchrun … -m recorder [options] train.py …
  torchrun … -m recorder [options] -m package.train …

or, without a change to the command: RECORDER=1 in the environment; or in the script: recorder.enable().

commands (python -m recorder COMMAND --help):
"""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(USAGE, f"{self.prog}: {message}\n")


def main(argv: Sequence[str] | None = None) -> int:
    arguments = list(sys.argv[1:] if argv is None else argv)
    command = COMMANDS.get(arguments[0]) if arguments else None
    if command is None:
        return _run_script(arguments)
    module = importlib.import_module(f"recorder.{command.module}")
    parser = _Parser(prog=f"recorder {arguments[0]}", description=f"{command.help[0].upper()}{command.help[1:]}.")
    getattr(module, command.add_arguments)(parser)
    run: Callable[[argparse.Namespace], int] = getattr(module, command.run)
    try:
        code = run(parser.parse_args(arguments[1:]))
        sys.stdout.flush()
    except BrokenPipeError:
        # What Python still holds it would write at exit, and complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return READER_LEFT
    return code


def _run_script(arguments: list[str]) -> int:
    listed = "\n".join(f"  {name:8} {command.help}" for name, command in COMMANDS.items())
    form = argparse.RawDescriptionHelpFormatter
    parser = _Parser(prog="recorder", description=_DESCRIPTION + listed, formatter_class=form, allow_abbrev=False)
    parser.add_argument("--buffer", type=int, metavar="N", help="calls that are kept (default: 2000)")
    parser.add_argument("--prefix", help="path of the dumps, to which the rank is appended (default: torch's)")
    parser.add_argument("--stack", choices=("python", "none", "cpp"), help="default: python")
    parser.add_argument("--stuck-after", type=float, metavar="SECONDS", help="an open call is a hang after so long")
    parser.add_argument("--quiet", action="store_true", help="say nothing on stderr")
    parser.add_argument("-m", dest="module", metavar="MODULE", nargs=argparse.REMAINDER, help="run this module")
    parser.add_argument("script", nargs=argparse.REMAINDER, metavar="train.py …")
    options = parser.parse_args(arguments)
    if not options.module and not options.script:
        parser.print_help()
        return USAGE

    import recorder
    from recorder.job import launch

    try:
        recorder.enable(
            buffer_size=options.buffer,
            dump_prefix=options.prefix,
            stack=options.stack,
            stuck_after=options.stuck_after,
            quiet=options.quiet,
        )
    except ValueError as error:
        parser.error(str(error))
    if options.module:
        launch.module(options.module)
    else:
        launch.script(options.script)
    return 0
