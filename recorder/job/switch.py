"""Switching the recorder on in a job, and off again.

What is per process (kernels, the watch thread, signal handlers, hooks) is set up once. What is per life of the
default process group (ring, session) begins when torch makes the group, so that a rank which hangs before its first
call has left something too.
"""

from __future__ import annotations

import atexit
import functools
import multiprocessing
import multiprocessing.util
import os
import signal
import sys
import threading
from contextlib import suppress
from typing import Any, Callable

from recorder import ringfile, stacks
from recorder.job import interpose, peers, signals
from recorder.job.faultfile import FaultFile
from recorder.job.options import Options
from recorder.job.say import say
from recorder.job.session import Session
from recorder.job.signals import Signals
from recorder.job.watch import Watch
from recorder.paths import fault_path

_FLUSH_S = 2.0
_GRACE_S = 15.0
"""For the dump of a process that an exception ends; a file system that hangs must not keep it."""
_JOIN_S = 2.0
"""For our threads when the interpreter ends. One that is blocked in a store whose host is frozen isn't waited for."""


class _Process:
    """What this process has set up."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.generation = 0
        self.pid = os.getpid()
        self.signals: Signals | None = None
        self.watch: Watch | None = None
        self.faults: FaultFile | None = None
        self.last: Session | None = None
        """The running one, or the one whose group was destroyed."""

    @property
    def session(self) -> Session | None:
        return self.watch.session if self.watch is not None else None


_process: _Process | None = None
_undo: list[Callable[[], None]] = []
_fork_hook = False


def enable(options: Options) -> None:
    """Record from the next default process group on, or from now on when there is one.

    Raises RuntimeError when this torch has no distributed package, and OSError when a group exists already and the
    folder of the rings can't be written (otherwise that is said on stderr when the group is made, and nothing is
    recorded).
    """
    global _process, _fork_hook
    import torch.distributed as dist

    if not dist.is_available():
        raise RuntimeError("this torch was built without torch.distributed: there is nothing to record")
    if _process is not None:
        if _process.watch is None:  # RECORDER=1 came first; who asks in person knows better
            _process.options = options
        return
    from torch.distributed import distributed_c10d

    interpose.install()
    _process = _Process(options)
    _undo.append(_wrap_group_making(distributed_c10d))
    _undo.append(_wrap_hooks())
    atexit.register(_at_exit)
    if not _fork_hook:
        signals.around_fork(_guarded, _in_child)
        _fork_hook = True
    if dist.is_initialized():
        try:
            _start(distributed_c10d.GroupMember.WORLD, _default_store(distributed_c10d))
        except BaseException:
            disable()
            raise


def disable() -> None:
    """Take everything back. The ring stays on disk, marked as ended in order."""
    global _process
    process, _process = _process, None
    if process is None:
        return
    interpose.remove()
    for undo in reversed(_undo):
        undo()
    _undo.clear()
    atexit.unregister(_at_exit)
    if process.watch is not None:
        _end(process.watch, ringfile.DESTROYED)
    if process.signals is not None:
        process.signals.restore()
        process.signals.close()
    if process.faults is not None:
        process.faults.close()


def session() -> Session | None:
    """The running one; None before a group was made, after it was destroyed, and where nothing is recorded."""
    return _process.session if _process is not None else None


def _wrap_group_making(module: Any) -> Callable[[], None]:
    """Every group is made by this one function, whatever name the job imported `init_process_group` under."""
    original = module._new_process_group_helper

    @functools.wraps(original)
    def making(*args: Any, **options: Any) -> Any:
        first = module.GroupMember.WORLD is None
        made = original(*args, **options)
        if first and _process is not None:
            try:
                _start(made[0], options.get("store", args[4] if len(args) > 4 else None))
            except Exception as error:
                interpose.record_into(None)
                if not _process.options.quiet:
                    say(f"nothing will be recorded: {type(error).__name__}: {error}")
        return made

    module._new_process_group_helper = making

    def undo() -> None:
        if module._new_process_group_helper is making:
            module._new_process_group_helper = original

    return undo


def _start(pg: Any, store: Any) -> None:
    """Begin a session for the default group `pg`, and end the one before."""
    import torch

    process = _process
    assert process is not None
    process.generation += 1  # also where this rank fails: it is part of a name that all ranks use
    if process.watch is not None:
        process.watch.end(ringfile.DESTROYED)
    session = Session(process.options, int(pg.rank()), int(pg.size()), torch.__version__)
    try:
        process.faults = _fault_file(process.faults, session)
        session.calls.groups.of(pg)
        if process.watch is None:
            process.signals = Signals(_numbers(process.options.signals))
            process.watch = Watch(process.signals, _group_exists)
            if multiprocessing.parent_process() is not None:  # these end without running what atexit has
                multiprocessing.util.Finalize(None, _at_child_exit, exitpriority=100)
        process.watch.begin(session, store, peers.prefix(process.generation))
    except BaseException:
        session.finish(ringfile.EXITED)  # of a ring that nothing is written into no one shall say that it was killed
        raise
    process.last = session
    interpose.record_into(session.calls)


def _fault_file(before: FaultFile | None, session: Session) -> FaultFile | None:
    if before is not None:
        before.close()
    try:
        return FaultFile(fault_path(session.options.folder, session.rank))
    except OSError as error:
        session.say(f"no stacks of a crash or of a rank that holds its interpreter lock: {error}")
        return None


def _group_exists() -> bool:
    """False once the default group was destroyed; True while it is being made."""
    from torch.distributed import distributed_c10d

    world = getattr(distributed_c10d, "_world", None)
    return distributed_c10d.GroupMember.WORLD is not None or bool(getattr(world, "pg_map", True))


def _default_store(module: Any) -> Any:
    try:
        return module._get_default_store()
    except (AttributeError, RuntimeError, ValueError):
        return None


def _numbers(names: tuple[str, ...]) -> tuple[int, ...]:
    return tuple(int(getattr(signal, f"SIG{name}")) for name in names)


def _wrap_hooks() -> Callable[[], None]:
    """Dump in the hooks themselves: after them the interpreter ends, and with it the watch thread."""
    main, other = sys.excepthook, threading.excepthook

    def on_main(kind: Any, error: Any, trace: Any) -> None:
        _uncaught(error, ends=True)
        main(kind, error, trace)

    def on_other(args: Any) -> None:
        if args.exc_value is not None and args.exc_type is not SystemExit:
            _uncaught(args.exc_value, ends=False)  # the process goes on; whether the job does, the other ranks see
        other(args)

    sys.excepthook, threading.excepthook = on_main, on_other

    def undo() -> None:
        if sys.excepthook is on_main:
            sys.excepthook = main
        if threading.excepthook is on_other:
            threading.excepthook = other

    return undo


def _uncaught(error: BaseException, ends: bool) -> None:
    """Never raises, and ends: what the hook before ours does comes after it."""
    process = _process
    if process is None or process.watch is None:
        return
    # Without a group, too, an end by an exception is the job's end: the others wait for this rank in the next group.
    watch, session = process.watch, process.session or (process.last if ends else None)
    if session is None:
        return
    tell = ends and process.session is not None

    reason = f"uncaught {type(error).__name__}: {stacks.message(error)[:300]}".removesuffix(": ")
    if not ends:
        if not watch.is_time():
            watch.request(reason, tell=False)
            return
        watch.count()

    def dump() -> None:
        session.dump(reason, error=error, tell=tell)

    with suppress(Exception):  # no more threads can be started
        thread = threading.Thread(target=dump, name="recorder-dump", daemon=True)
        thread.start()
        thread.join(_GRACE_S)
        watch.flush(_FLUSH_S)


def _at_exit() -> None:
    """The interpreter ends in order, if not for an exception, which its hook has seen."""
    process = _process
    if process is None or process.pid != os.getpid():
        return
    if process.signals is not None:
        process.signals.restore()  # the watch thread stops with the interpreter: a signal has to kill again
    interpose.record_into(None)
    if process.watch is not None:
        process.watch.flush(_FLUSH_S)
        _end(process.watch, ringfile.EXITED if _group_exists() else ringfile.DESTROYED)


def _at_child_exit() -> None:
    """As `_at_exit`, in a process of `multiprocessing`, which catches exceptions before any hook sees them.

    `torch.multiprocessing.spawn` hands them on and exits: then it is the context of the SystemExit.
    """
    error = sys.exc_info()[1]
    if isinstance(error, SystemExit):
        error = error.__context__
    if error is not None:
        _uncaught(error, ends=True)
    _at_exit()


def _end(watch: Watch, how: int) -> None:
    peers = watch.end(how)
    watch.stop(_JOIN_S)
    if peers is not None:
        peers.join(_JOIN_S)


def _guarded() -> tuple[int, ...]:
    found = _process.signals if _process is not None else None
    return found.guarded if found is not None else ()


def _in_child() -> None:
    """A forked child shares descriptors and the ring with its parent, and has none of its threads: start afresh."""
    global _process
    process = _process
    if process is None:
        return
    interpose.record_into(None)
    _process = _Process(process.options)
    if process.signals is not None:
        process.signals.restore()
        process.signals.close()
    if process.watch is not None:
        process.watch.forget()
    if process.faults is not None:
        process.faults.close()
