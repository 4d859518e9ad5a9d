"""Kernels before every `c10d` operator, and around Work.wait: how the recorder sees what a job calls.

torch registers nothing for `BackendSelect` on these operators, and each call passes that key first, from whichever
thread and layer it comes: DDP's reducer in C++, functional collectives, compiled code. The kernel gets the
arguments, notes them, and dispatches on with the keys that come after: without this key alone, a tracer's Python
dispatcher, whose keys come before it, would lead back here.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import FunctionType
from typing import Any, Callable

from recorder.job.calls import Calls
from recorder.job.operations import Operation, operation

_current: Calls | None = None
_library: Any = None
_waits: dict[Any, Any] = {}
"""The `wait` of each class of Work, as it was."""


def install() -> None:
    """Register the kernels, once a process. Needs `torch.distributed`; raises ImportError and RuntimeError."""
    global _library
    if _library is not None:
        return
    import torch
    from torch._C._distributed_c10d import Work

    library = torch.library.Library("c10d", "IMPL")
    codes = []
    for schema in torch._C._jit_get_all_schemas():
        namespace, _, name = schema.name.partition("::")
        known = operation(name, [a.name for a in schema.arguments]) if namespace == "c10d" else None
        if known is not None and not schema.overload_name:
            kernel = _kernel(known)
            codes.append(kernel.__code__)
            library.impl(name, kernel, "BackendSelect", with_keyset=True)
    _library = library
    kinds: tuple[Any, ...] = (Work, *Work.__subclasses__())
    for kind in kinds:
        if "wait" in vars(kind):
            _waits[kind] = kind.wait
            kind.wait = _waiting(kind.wait)
            codes.append(kind.wait.__code__)
    _hide_from_compilers(codes)


def remove() -> None:
    """Take everything back."""
    global _library
    record_into(None)
    if _library is not None:
        _library._destroy()
        _library = None
    for kind, wait in _waits.items():
        kind.wait = wait
    _waits.clear()


def record_into(calls: Calls | None) -> None:
    """Record from now on into `calls`; None: let everything pass."""
    global _current
    _current = calls


def _kernel(operation: Operation) -> Callable[..., Any]:
    import torch
    from torch._C._distributed_c10d import ProcessGroup, Work

    later = torch._C._dispatch_keyset_full_after(torch._C.DispatchKey.BackendSelect)
    dispatch = getattr(torch.ops.c10d, operation.operator).default.redispatch
    group_of, work_of, position = ProcessGroup.unbox, Work.unbox, operation.group

    def kernel(keys: Any, *args: Any, **options: Any) -> Any:
        calls = _current
        if calls is None:
            return dispatch(keys & later, *args, **options)
        try:
            flight = calls.begin(operation, args, group_of(args[position]))
        except Exception:
            calls.faults += 1
            flight = None
        if flight is None:
            return dispatch(keys & later, *args, **options)
        try:
            result = dispatch(keys & later, *args, **options)
        except BaseException as error:
            _quietly(calls, calls.failed, flight, error)
            raise
        try:
            work = result[-1] if type(result) is tuple else result
            calls.issued(flight, None if work is None else work_of(work))
        except Exception:
            calls.faults += 1
        return result

    return kernel


def _hide_from_compilers(codes: list[Any]) -> None:
    """Let torch.compile run these functions as they are, and whatever they call.

    After a graph break it would trace them from inside the dispatcher, fail on their arguments, and lose the call.
    torch 2.5 skips code by code, later releases have a strategy that includes what is called.
    """
    try:
        from torch._C._dynamo import eval_frame
    except ImportError:
        return
    if hasattr(eval_frame, "set_code_exec_strategy"):
        skip = eval_frame._FrameExecStrategy(eval_frame._FrameAction.SKIP, eval_frame._FrameAction.SKIP)
        for code in codes:
            eval_frame.set_code_exec_strategy(code, skip)
    elif hasattr(eval_frame, "skip_code"):
        for code in [*codes, *_own_codes()]:
            eval_frame.skip_code(code)


def _own_codes() -> Iterator[Any]:
    """Of every function of the recorder."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "recorder":
            for value in list(vars(module).values()):
                members = vars(value).values() if isinstance(value, type) else (value,)
                yield from (member.__code__ for member in members if isinstance(member, FunctionType))


def _waiting(wait: Callable[..., Any]) -> Callable[..., Any]:
    def recorded_wait(work: Any, *args: Any, **options: Any) -> Any:
        calls = _current
        try:
            flight = calls.in_flight.get(work) if calls is not None else None
        except TypeError:  # a Work of the job's own, without a hash
            flight = None
        if calls is None or flight is None:
            return wait(work, *args, **options)
        try:
            result = wait(work, *args, **options)
        except BaseException as error:
            _quietly(calls, calls.waited, work, flight, error)
            raise
        _quietly(calls, calls.waited, work, flight, None)
        return result

    return recorded_wait


def _quietly(calls: Calls, note: Callable[..., None], *args: Any) -> None:
    """A fault of the recorder's must not become one of the job's."""
    try:
        note(*args)
    except Exception:
        calls.faults += 1
