"""A stack as lines: the user's frames, runs of the others counted until they are unfolded."""

from __future__ import annotations

from collections import Counter
from typing import Callable

from frtui.model import Frame, Stack
from frtui.stacks import call_site, is_cpp, is_cpython, is_torch, program
from frtui.view.cpp import readable
from frtui.view.rows import FoldedLine, FrameLine, Line, cells, cut_left

Kind = Callable[[Frame], str]
"""What a frame is counted as where it is folded; empty: the user's own, which never is."""


def of_call(stack: Stack) -> Kind:
    """In a call's stack, what torch, C++ and the interpreter add; never the call site."""
    site = call_site(stack)

    def kind(frame: Frame) -> str:
        if frame is site or not (is_torch(frame) or is_cpp(frame) or is_cpython(frame)):
            return ""
        return "torch" if is_torch(frame) else "C++"

    return kind


def of_thread(stack: Stack) -> Kind:
    """In a thread's stack, Python's own library, too."""
    own = {id(frame) for frame in program(stack)}
    return lambda frame: "" if id(frame) in own else "library"


def lines(stack: Stack, width: int, unfolded: bool, kind: Kind, site: Frame | None) -> list[Line]:
    """Innermost first, the call site marked."""
    told: list[Line] = []
    hidden: list[tuple[str, Frame]] = []
    for frame in stack:
        what = kind(frame)
        if what and not unfolded:
            hidden.append((what, frame))
            continue
        told += fold(hidden)
        hidden = []
        told.append(frame_line(frame, frame is site, not what, width))
    return told + fold(hidden)


def fold(hidden: list[tuple[str, Frame]]) -> list[Line]:
    counted = Counter(what for what, _ in hidden)
    told = ", ".join(f"{n:,} {what}" for what, n in sorted(counted.items(), reverse=True))
    text = f"  … {told} {'frame' if len(hidden) == 1 else 'frames'} (c shows)"
    return [FoldedLine([(text, "dim")], [f"{frame.name}  {frame.place}" for _, frame in hidden])] if hidden else []


def frame_line(frame: Frame, site: bool, own: bool, width: int) -> FrameLine:
    role = "bold" if site else "plain" if own else "dim"
    name = named(frame, width - 3 - cells(frame.place))
    room = max(16, width - 2 - min(24, max(14, cells(name))) - 1)
    place = (cut_left(frame.place, room), role if site or own is False else "dim")
    return FrameLine([("▶ " if site else "  ", "bold"), (name + " ", role), place], frame)


def named(frame: Frame, room: int) -> str:
    """The function; of a C++ one with its arguments only where there is room for them."""
    if not is_cpp(frame):
        return frame.name.ljust(14)
    return frame.name if cells(frame.name) <= room else readable(frame.name)
