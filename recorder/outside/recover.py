"""`recorder recover DIR`: after the job, dumps of the ranks that could write none."""

from __future__ import annotations

import argparse
import sys
import time

from recorder import ringfile
from recorder.outside import rings
from recorder.text import clean


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dir", metavar="DIR", help="the folder of the dumps; the rings lie in DIR/recorder")


def run(options: argparse.Namespace) -> int:
    """0 when every ring below the folder is a dump now, 1 when one could not be read or written, 2 without rings."""
    found = list(rings.find(options.dir))
    if not found:
        print(
            f"recorder: no ring files below {clean(options.dir)} (they are named recorder/ring.r0.frr)", file=sys.stderr
        )
        return 2
    if any(isinstance(ring, rings.Found) and ring.alive() for ring in found):
        time.sleep(ringfile.SILENT_S)  # one that ended just now still has a fresh heartbeat
        found = list(rings.find(options.dir))
    return max(_recover(ring) for ring in found)


def _recover(ring: rings.Found | str) -> int:
    if isinstance(ring, str):
        print(f"recorder: {clean(ring)}", file=sys.stderr)
        return 1
    header, alive = ring.header, ring.alive()
    if not header.ended and (alive or (alive is None and ring.silent_s < ringfile.SILENT_S)):
        where = f"pid {header.pid} on {clean(header.host)}"
        print(f"rank {header.rank}: still running ({where}); `recorder dump` asks it for one")
        return 0
    gone = "read from its ring after its process had gone"
    reason = {ringfile.RUNNING: f"the process is gone: {gone}"}.get(header.ended, f"ended in order: {gone}")
    try:
        path = rings.write(ring, rings.dump_of(ring, "recover", reason, False, rings.fault(ring)))
    except (OSError, ValueError) as error:
        print(f"recorder: rank {header.rank}: {clean(str(error))}", file=sys.stderr)
        return 1
    count = len(ring.contents.records)
    print(f"rank {header.rank}: " + (f"wrote {clean(path)} ({count} calls)" if path else "its own dump holds as much"))
    return 0
