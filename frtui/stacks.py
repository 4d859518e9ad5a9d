"""Stacks: which frame is the user's call site, which are torch's own, which are C++; what a thread was doing."""

from __future__ import annotations

import re
from functools import lru_cache

from frtui.model import Frame, Stack

# Installed torch, or a source checkout: a folder `torch` that holds one of torch's own packages.
_TORCH_FILE = re.compile(
    r"(?:site|dist)-packages/(?:torch|functorch|torchgen)/"
    r"|(?:^|/)torch/(?:_dynamo|_functorch|_higher_order_ops|_inductor|_library|_ops\.py|_tensor\.py|autograd|cuda"
    r"|csrc|distributed|fx|nn|optim|utils)(?:/|$|(?<=\.py))"
    r"|(?:site|dist)-packages/typing_extensions\.py$"  # its `deprecated` wraps all_gather_into_tensor and its like
)
_CPP_FILE = re.compile(r"\.(?:c|cc|cpp|cxx|cu|cuh|h|hpp|inc|so)(?:\.\d+)*$|^(?:\?\?)?$|(?:^|/)python[\d.]*$")
_CPYTHON = re.compile(
    r"^_?Py[A-Z_]|^(?:cfunction_|method_|slot_tp_|type_call|object_|builtin_|run_mod|pymain_|vectorcall)"
)
_LIBRARY_FILE = re.compile(
    r"(?:^|/)lib(?:64)?/python3\.\d+/(?!(?:site|dist)-packages/)|(?:^|/)python3\d+\.zip/|^<frozen "
)
_RECORDER_FILE = re.compile(r"(?:^|/)recorder/job/(?:interpose|calls|callstacks)\.py$")
"""frtui's recorder stands between torch's Python and its C++, so that torch's own stacks show it."""
_GENERATED = ("<eval_with_key>", "<string>", "<frozen", "<attrs", "<__array_function__")


def is_cpp(frame: Frame) -> bool:
    """A C++ or C frame; a dump holds them only when C++ stacks were switched on."""
    return bool(_CPP_FILE.search(frame.filename)) or ("::" in frame.name and not frame.filename.endswith(".py"))


def is_torch(frame: Frame) -> bool:
    """A Python frame of torch itself, or of the recorder inside it."""
    file = _slashes(frame)
    return not is_cpp(frame) and bool(_TORCH_FILE.search(file) or _RECORDER_FILE.search(file))


def is_cpython(frame: Frame) -> bool:
    """A C frame of the interpreter, which says nothing about the program."""
    return is_cpp(frame) and bool(_CPYTHON.match(frame.name))


def call_site(stack: Stack) -> Frame | None:
    """The innermost Python frame outside torch's own files; None where the stack has none.

    Code that torch generated (`<eval_with_key>.3`) and Python's library count only where there is nothing better.
    """
    spare = None
    for frame in stack:
        if _is_own(frame):
            if not (frame.filename.startswith(_GENERATED) or is_library(frame)):
                return frame
            spare = spare or frame
    return spare


@lru_cache(1 << 14)
def _is_own(frame: Frame) -> bool:
    """Asked for each frame of each entry that is printed, where a job has a few thousand different ones."""
    return not is_cpp(frame) and not is_torch(frame)


@lru_cache(1 << 14)
def is_library(frame: Frame) -> bool:
    """A frame of Python's own library."""
    return bool(_LIBRARY_FILE.search(_slashes(frame)))


def program(stack: Stack) -> Stack:
    """The user's frames of a thread: without torch's, C++ and the standard library's."""
    return tuple(f for f in stack if not (is_cpp(f) or is_torch(f) or is_library(f)))


def doing(stack: Stack, most: int = 3) -> str:
    """What a thread was in, innermost first; empty where it has no frame of the user's.

    >>> doing((Frame("wait", "/usr/lib/python3.11/threading.py", 327), Frame("main", "/job/train.py", 30)))
    'main (train.py:30)'
    """
    frames = program(stack)
    named = [f"{frame.name} ({short(frame)})" for frame in frames[:most]]
    return " ← ".join([*named, "…"] if len(frames) > most else named)


def short(frame: Frame | None) -> str:
    """`train.py:30`; the whole path stands in the call pane and in `call_site`."""
    return f"{_slashes(frame).rsplit('/', 1)[-1]}:{frame.line}" if frame else ""


def _slashes(frame: Frame) -> str:
    return frame.filename.replace("\\", "/")
