"""What the command line takes: a parser for each command, so that `--help` of one does not wait for the others."""

from __future__ import annotations

import argparse
import os
import sys

from frtui import __version__
from frtui.exits import USAGE

TYPE_CHECKING = False  # typing itself is a tenth of the time that --help may take
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

FORMATS = ("text", "markdown", "json", "html")
"""Of a report."""
COMMANDS = ("report", "entries", "export", "compare", "index", "demo", "env", "doctor")

HELP = """\
Find the rank, the call and the source line that a stuck PyTorch job waits for, from a folder of Flight Recorder
dumps (one file per rank).

  frtui DIR              open the screen; not on a terminal, print the report
  frtui report DIR       print the report (text, markdown, json or html)
  frtui entries DIR      print the raw entries side by side, one column a rank
  frtui export DIR       write a timeline (Perfetto), a table (CSV, Parquet) or torch's flat database
  frtui compare A B      print what advanced between two snapshots of a job
  frtui index DIR        store what was read beside the dumps: the next opening takes a moment
  frtui demo [NAME]      open the screen on dumps that come with frtui
  frtui env              print what to set so that a job leaves dumps
  frtui doctor           check what is set: will there be dumps, and where

`frtui COMMAND --help` lists the options of each. A folder that is called like a command: ./report
"""
EXIT_CODES = """\
exit codes (the screen itself ends with 0):
  0   no hang found, or the dumps can't tell      64   wrong usage
  1   hang found; compare: nothing moves          70   frtui itself failed
  2   folder unreadable or without dumps,         130  interrupted
      or the output can't be written              141  the reader of the output left
                                                  143  terminated
"""
EXAMPLES = """\
examples:
  frtui /tmp/dumps
  frtui report /tmp/dumps --format markdown -o report.md
  frtui entries /tmp/dumps --selected-ranks 0 3-7 --pg-filters tp --stack
"""
COMPARE_HELP = """\
Compare two snapshots of one job, taken some time apart: what advanced between them, and which calls were open in both.
Ends with 1 when nothing moved while calls are open, with 0 when the job moves, with 2 when the two are not of one job.
"""
EXPORT_HELP = """\
Write the calls of a job for other programs.

  perfetto   a timeline: a process a rank, a thread a process group; opens in ui.perfetto.dev and chrome://tracing
  csv        every entry as a line, for spreadsheets and pandas
  parquet    the same, with types (needs pyarrow: pip install 'frtui[parquet]')
  torch-db   the pickle of `torchfrtrace -o`: groups, members, collectives and calls (reading it needs torch)
"""
INDEX_HELP = """\
Store what the dumps hold, and the verdict, in DIR/frtui.index, so that the next opening of a large job takes a moment.
It is used for as long as the dumps are the same files, of the same sizes and times; otherwise they are read.
"""
ENV_HELP = """\
Print the environment variables to set so that a job leaves dumps, in the names that its torch understands.

  eval "$(frtui env --torch 2.7 --dir /shared/dumps)"       bash, zsh
  frtui env --for fish | source                             fish
  frtui env --for slurm                                     lines for an sbatch script; also: k8s, torchrun
"""
DOCTOR_HELP = """\
Check the environment: what will be recorded and dumped, where dumps go, and what is misspelt, missing or in the way.
Run it where the job runs. Ends with 1 when a dump would be lost, else with 0; 2 when FILE can't be read.
"""


class Parser(argparse.ArgumentParser):
    """argparse ends with 2 on wrong usage, which here means that a folder can't be read."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(USAGE, f"{self.prog}: {message}\n")


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    command = arguments[0] if arguments and arguments[0] in COMMANDS else ""
    parser = parser_of(command)
    meant = "" if command else _meant(arguments)
    if meant:
        parser.error(f"there is no folder {arguments[0]}; did you mean `frtui {meant}`?")
    return parser.parse_args(arguments[1:] if command else arguments)


def _meant(arguments: Sequence[str]) -> str:
    """The command that was mistyped, where the first word is no folder and another one follows."""
    if len(arguments) < 2 or arguments[0].startswith("-") or os.path.exists(arguments[0]):
        return ""
    from difflib import get_close_matches

    return next(iter(get_close_matches(arguments[0], COMMANDS, 1)), "")


def parser_of(command: str) -> Parser:
    """The options of a command; empty: of the screen."""
    return {
        "": _screen_parser,
        "report": _report_parser,
        "entries": _entries_parser,
        "export": _export_parser,
        "compare": _compare_parser,
        "index": _index_parser,
        "demo": _demo_parser,
        "env": _env_parser,
        "doctor": _doctor_parser,
    }[command]()


def _parser(command: str, description: str, epilog: str = "") -> Parser:
    prog = f"frtui {command}".strip()
    form = argparse.RawDescriptionHelpFormatter
    parser = Parser(prog=prog, description=description, epilog=epilog, formatter_class=form, allow_abbrev=False)
    parser.set_defaults(command=command or "screen", scheduler=None)
    return parser


def _screen_parser() -> Parser:
    parser = _parser("", HELP, EXIT_CODES + "\n" + EXAMPLES)
    parser.add_argument("dir", metavar="DIR", help="the folder of dumps, one file of them, or an archive")
    _add_loading(parser)
    _add_screen(parser)
    parser.add_argument("--watch", action="store_true", help="follow the folder: read again as files arrive or change")
    parser.add_argument("--version", action="version", version=_version())
    return parser


def _report_parser() -> Parser:
    parser = _parser("report", "Print which rank, call and source line the job waits for.", EXIT_CODES)
    parser.add_argument("dir", metavar="DIR")
    parser.add_argument("--format", choices=FORMATS, default="text", help="default: text")
    parser.add_argument("--finding", type=int, metavar="N", help="only the N-th finding; 1 is the most likely cause")
    _add_scheduler(parser)
    parser.add_argument("--quick", action="store_true", help="a preliminary answer, from the heads of the files")
    _add_output(parser)
    _add_loading(parser)
    return parser


def _entries_parser() -> Parser:
    parser = _parser("entries", "Print the raw entries side by side, one column a rank.")
    parser.add_argument("dir", metavar="DIR")
    # torchfrtrace needs it for this output; here it is the only one.
    parser.add_argument("-j", "--just_print_entries", action="store_true", help=argparse.SUPPRESS)
    _add_selection(parser)
    parser.add_argument("--stack", "--print_stack_trace", action="store_true", help="where each call was made")
    parser.add_argument("--format", choices=("table", "json", "csv"), default="table", help="default: table")
    _add_output(parser)
    _add_loading(parser)
    return parser


def _export_parser() -> Parser:
    parser = _parser("export", EXPORT_HELP)
    parser.add_argument("dir", metavar="DIR")
    formats = ("perfetto", "csv", "parquet", "torch-db")
    parser.add_argument("--format", choices=formats, default="perfetto", help="default: perfetto")
    _add_selection(parser)
    parser.add_argument("-o", "--output", metavar="FILE", help="write there; compressed where it ends in .gz")
    _add_loading(parser)
    return parser


def _compare_parser() -> Parser:
    parser = _parser("compare", COMPARE_HELP)
    parser.add_argument("older", metavar="A", help="the older snapshot: a folder of dumps, or an archive")
    parser.add_argument("newer", metavar="B", help="the newer one")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="default: text")
    _add_output(parser)
    parser.add_argument("-p", "--prefix", help="only files whose name has this before the rank")
    parser.add_argument("--debug", action="store_true", help="a traceback where frtui itself fails")
    parser.set_defaults(attempt=None)
    return parser


def _index_parser() -> Parser:
    parser = _parser("index", INDEX_HELP)
    parser.add_argument("dir", metavar="DIR")
    _add_scheduler(parser)
    _add_loading(parser)
    return parser


def _demo_parser() -> Parser:
    parser = _parser("demo", "Open the screen on dumps that come with frtui.")
    parser.add_argument("name", metavar="NAME", nargs="?", default="tutorial", help="default: tutorial")
    parser.add_argument("--list", action="store_true", help="list the names")
    parser.set_defaults(prefix=None, attempt=None)
    _add_screen(parser)
    return parser


def _env_parser() -> Parser:
    from recorder.setup import advice

    parser = _parser("env", ENV_HELP)
    advice.add_arguments(parser)
    parser.add_argument("--debug", action="store_true", help=argparse.SUPPRESS)
    return parser


def _doctor_parser() -> Parser:
    from recorder.setup import doctor

    parser = _parser("doctor", DOCTOR_HELP)
    doctor.add_arguments(parser)
    parser.add_argument("--debug", action="store_true", help=argparse.SUPPRESS)
    return parser


def _add_loading(parser: Parser) -> None:
    parser.add_argument("-p", "--prefix", help="only files whose name has this before the rank")
    parser.add_argument("--attempt", help="which sub-folder to read, where several hold the same ranks")
    # torchfrtrace's options keep their place in scripts. None is needed here: incomplete folders are always read,
    # torchft's replicas are seen in the files, and differences are not counted.
    for flag in ("--allow-incomplete-ranks", "--transform-ft"):
        parser.add_argument(flag, action="store_true", help=argparse.SUPPRESS)
    for option in ("--group-world-size", "--group_world_size", "--mismatch_cap"):
        parser.add_argument(option, type=int, help=argparse.SUPPRESS)
    parser.add_argument("-v", "--verbose", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--debug", action="store_true", help="a traceback where frtui itself fails")


def _add_selection(parser: Parser) -> None:
    parser.add_argument("--selected-ranks", nargs="+", metavar="RANKS", help="only these: 0 3-7")
    parser.add_argument("--pg-filters", nargs="+", metavar="GROUP", help="only groups of this name or description")


def _add_scheduler(parser: Parser) -> None:
    parser.add_argument("--scheduler", metavar="ADDRESS", help="read the files on a Dask cluster (tcp://host:8786)")


def _add_output(parser: Parser) -> None:
    parser.add_argument("-o", "--output", metavar="FILE", help="write there instead of to stdout")
    parser.add_argument("--ascii", action="store_true", help="ASCII only, in text and tables")


def _add_screen(parser: Parser) -> None:
    parser.add_argument("--no-mouse", action="store_true", help="leave the mouse to the terminal")
    parser.add_argument("--ascii", action="store_true", help="draw with ASCII only")
    if parser.get_default("command") == "demo":
        parser.add_argument("--debug", action="store_true", help=argparse.SUPPRESS)


def _version() -> str:
    return f"frtui {__version__} (Python {sys.version.split()[0]})"
