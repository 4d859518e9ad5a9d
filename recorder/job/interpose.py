"""Kernels before every `c10d` operator, and around Work.wait: how the recorder sees what a job calls.

torch registers nothing for `BackendSelect` on these operators, and each call passes that key first, from whichever
thread and layer it comes: DDP's reducer in C++, functional collectives, compiled code. The kernel gets the
arguments, notes them, and dispatches on without the key.
"""

from __future__ import annotations

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
    for schema in torch._C._jit_get_all_schemas():
        namespace, _, name = schema.name.partition("::")
        known = operation(name, [a.name for a in schema.arguments]) if namespace == "c10d" else None
        if known is not None and not schema.overload_name:
            library.impl(name, _kernel(known), "BackendSelect", with_keyset=True)
    _library = library
    kinds: tuple[Any, ...] = (Work, *Work.__subclasses__())
    for kind in kinds:
        if "wait" in vars(kind):
            _waits[kind] = kind.wait
            kind.wait = _waiting(kind.wait)


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

    key = torch._C.DispatchKey.BackendSelect
    dispatch = getattr(torch.ops.c10d, operation.operator).default.redispatch
    group_of, work_of, position = ProcessGroup.unbox, Work.unbox, operation.group

    def kernel(keys: Any, *args: Any, **options: Any) -> Any:
        calls = _current
        if calls is None:
            return dispatch(keys.remove(key), *args, **options)
        try:
            flight = calls.begin(operation, args, group_of(args[position]))
        except Exception:
            calls.faults += 1
            flight = None
        if flight is None:
            return dispatch(keys.remove(key), *args, **options)
        try:
            result = dispatch(keys.remove(key), *args, **options)
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


def _waiting(wait: Callable[..., Any]) -> Callable[..., Any]:
    def recorded_wait(work: Any, *args: Any, **options: Any) -> Any:
        calls = _current
        flight = calls.in_flight.get(work) if calls is not None else None
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
