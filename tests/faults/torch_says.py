"""What torch's own analyzer says of a case, judged as kindly as its text allows.

It counts as right where the ranks that its messages name (culprits and missing ranks, of all messages together)
are exactly the true ones and the true group is among the groups that they name; of a healthy job where it
reports nothing.
"""

from __future__ import annotations

import importlib.util
import logging
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.faults.cases import HEALTHY, Case

LIMIT_S = 60


def available() -> bool:
    return importlib.util.find_spec("torch") is not None


def right(case: Case, folder: Path) -> bool:
    text = _text(folder)
    if text is None:
        return False
    group, first = case.fault.group, _sections(text)
    if case.kind in HEALTHY:
        return not first
    ranks = tuple(sorted({r for _, named in first for r in named}))
    if ranks not in (case.fault.ranks, *case.fault.either):
        return False
    return group is None or case.plan.groups[group].name in {name for name, _ in first}


def _sections(text: str) -> list[tuple[str, set[int]]]:
    """(group, ranks) of each reported call: the lines from `group info` on."""
    found: list[tuple[str, set[int]]] = []
    for line in text.splitlines():
        if line.startswith("group info: "):
            found.append((line[12:].split(":")[0], set()))
        elif found and line.startswith("missing ranks: "):
            found[-1][1].update(map(int, re.findall(r"\d+", line)))
        elif found and line.startswith("error msg: "):
            found[-1][1].update(map(int, re.findall(r"Culprit rank (\d+)", line)))
    return found


def _text(folder: Path) -> str | None:
    """Everything that the analyzer logs; None where it fails or takes too long."""
    from torch.distributed.flight_recorder import fr_trace

    lines: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger("Flight Recorder")
    others, logger.handlers = logger.handlers, [handler]
    try:
        with _limited():
            fr_trace.main(["-p", "nccl_trace_rank_", str(folder)])
    except (Exception, SystemExit):
        return None
    finally:
        logger.handlers = others
    return "\n".join(lines)


@contextmanager
def _limited() -> Iterator[None]:
    def stop(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(LIMIT_S)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
