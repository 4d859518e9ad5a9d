"""What every Python thread is doing: from inside the process, from an exception, from faulthandler's text."""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
from types import FrameType, TracebackType
from typing import Any

MAX_FRAMES = 64
OWN = "recorder-"
"""The names of the recorder's own threads begin so; they are left out."""

STACKS_SIGNAL = getattr(signal, "SIGRTMIN", 0) + 7 if hasattr(signal, "SIGRTMIN") else 0
"""Makes a rank write its Python stacks to its fault file, in C and without the interpreter lock. 0: not here."""

_JOB = os.path.join(os.path.dirname(__file__), "job")
_LAUNCHER = os.path.join(_JOB, "launch.py")

_FATAL = "Fatal Python error: "
_CURRENT = re.compile(r"^Current thread 0x([0-9a-f]+)", re.MULTILINE)
_THREAD = re.compile(r"(?:Current thread|Thread) 0x([0-9a-f]+)")
_FRAME = re.compile(r'  File "(.*)", line (\d+) in (.*)')


def threads() -> list[dict[str, Any]]:
    """`name`, `id` and `frames` (innermost first) of each thread that runs Python, the main thread first."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    main = threading.main_thread().ident
    found = sorted(sys._current_frames().items(), key=lambda item: item[0] != main)
    return [
        {"name": names.get(ident, "unnamed"), "id": ident, "frames": _frames(frame)}
        for ident, frame in found
        if not names.get(ident, "").startswith(OWN)
    ]


def of_exception(error: BaseException) -> dict[str, Any]:
    """`type`, `message` and `frames` (innermost first) of an exception.

    Also `cause`, the same of the one that all began with, where it was raised while others were handled: a barrier in
    a `finally` fails with a timeout, which says nothing.
    """
    first = _first(error)
    return {**_raised(error), **({} if first is error else {"cause": _raised(first)})}


def _first(error: BaseException) -> BaseException:
    """The oldest of the chain that Python prints."""
    seen = {id(error)}
    while True:
        before = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
        if before is None or id(before) in seen:
            return error
        seen.add(id(before))
        error = before


def _raised(error: BaseException) -> dict[str, Any]:
    frames = []
    trace: TracebackType | None = error.__traceback__
    while trace is not None:
        frames.append(_frame(trace.tb_frame, trace.tb_lineno))
        trace = trace.tb_next
    frames = _own_left_out(frames[::-1])
    return {"type": type(error).__name__, "message": _shortened(message(error)), "frames": frames[:MAX_FRAMES]}


def _shortened(text: str, most: int = 2000) -> str:
    """The beginning and the end, where one with a traceback in it says what happened."""
    return text if len(text) <= most else f"{text[: most // 2]}\n…\n{text[-most // 2 :]}"


def message(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # of the job's own class
        return "(its message can't be made)"


def of_faulthandler(text: str) -> list[dict[str, Any]]:
    """The threads in the newest traceback of `text`; faulthandler knows their numbers but not their names.

    Several tracebacks follow each other without a mark, oldest first: a thread that comes again starts a new one.
    """
    found: list[dict[str, Any]] = []
    for line in text[max(text.rfind(_FATAL), 0) :].splitlines():
        thread, frame = _THREAD.match(line), _FRAME.match(line)
        if thread:
            ident = int(thread.group(1), 16)
            found = [] if any(known["id"] == ident for known in found) else found
            found.append({"name": "", "id": ident, "frames": []})
        elif frame and found:
            file, number, name = frame.groups()
            found[-1]["frames"].append({"name": name, "filename": file, "line": int(number)})
    return [{**thread, "frames": _own_left_out(thread["frames"])} for thread in found]


def crash(text: str) -> dict[str, Any] | None:
    """What faulthandler wrote last of a crash, in the shape of an exception; None where it wrote of none.

    `type` is the signal in words, as in `Segmentation fault`; there are no frames where no Python thread crashed.
    """
    _, found, after = text.rpartition(_FATAL)
    if not found:
        return None
    current = _CURRENT.search(after)
    threads = of_faulthandler(text) if current else []
    frames = [thread["frames"] for thread in threads if current and thread["id"] == int(current.group(1), 16)]
    kind = after.partition("\n")[0].strip()
    return {"type": kind[:200] or "for an unknown reason", "message": "", "frames": frames[0] if frames else []}


def _frames(frame: FrameType | None) -> list[dict[str, Any]]:
    frames: list[dict[str, Any]] = []
    while frame is not None and len(frames) < MAX_FRAMES:
        frames.append(_frame(frame, frame.f_lineno))
        frame = frame.f_back
    return _own_left_out(frames)


def _own_left_out(frames: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without the frames of what waits for the job's calls and of what launched it, and those outside of that."""
    launched = next((n for n, frame in enumerate(frames) if frame["filename"] == _LAUNCHER), None)
    return [frame for frame in frames[:launched] if os.path.dirname(frame["filename"]) != _JOB]


def _frame(frame: FrameType, line: int | None) -> dict[str, Any]:
    code = frame.f_code
    return {"name": code.co_name, "filename": code.co_filename, "line": line or code.co_firstlineno}
