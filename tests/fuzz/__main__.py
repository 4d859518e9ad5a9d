"""Strangers' files by the thousand, each through all of frtui.

    python -m tests.fuzz --seconds 600 --seed 1 [--keep FOLDER]
    python -m tests.fuzz --seed 1 --case 123      this case alone, here, with its traceback

Each case is made from the seed and its number. Cases run in child processes with bounded memory, which are killed
when a case takes too long: what stands in C code can't be interrupted otherwise.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from tests.fuzz import parent
from tests.fuzz.child import one, work


def main() -> int:
    options = _parser().parse_args()
    if options.case is not None:
        found = one(options.seed, options.case, options.keep)
        print(found.told if found else "nothing found")
        return int(found is not None)
    if options.batch is not None:
        work(options.seed, options.batch, options.keep)
        return 0
    done = parent.run(options.seed, options.seconds, options.most, options.keep, sys.stdout)
    print(
        json.dumps(
            {"cases": done.cases, "found": len(done.found), "seconds": round(done.seconds), "slowest": done.slowest}
        )
    )
    return int(bool(done.found))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--most", type=int, default=1 << 30, help="cases after which it ends")
    parser.add_argument("--keep", type=Path, help="folder for what is found")
    parser.add_argument("--case", type=int, help="only this one")
    parser.add_argument("--batch", type=int, help=argparse.SUPPRESS)
    return parser


if __name__ == "__main__":
    sys.exit(main())
