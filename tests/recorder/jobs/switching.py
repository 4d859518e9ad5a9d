"""Jobs that switch the recorder on and off, and make groups again and again."""

from __future__ import annotations

import faulthandler
import gc
import os
import signal
import sys
import threading
import time
import weakref
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed import distributed_c10d

import recorder
from recorder.stacks import STACKS_SIGNAL
from tests.recorder.jobs.living import (
    call,
    calls_in_ring,
    enable,
    init,
    no_dump,
    pickle_of,
)


def cycles(folder: Path) -> None:
    """Groups are made and destroyed, over a TCPStore, without a thread, a descriptor or a group that stays."""
    gc.collect()
    gc.disable()  # as jobs do that count every millisecond
    enable(folder)
    server = dist.TCPStore("127.0.0.1", 0, 1, True)
    references, counts = [], []
    for number in range(20):
        init(folder, store=dist.PrefixStore(str(number), server))
        call(3)
        work = dist.all_reduce(torch.ones(4), async_op=True)
        references.append(weakref.ref(distributed_c10d.GroupMember.WORLD))
        assert [record.collective_seq for record in calls_in_ring(folder)] == [1, 2, 3, 4]
        dist.destroy_process_group()
        del work
        if number in (4, 19):
            time.sleep(0.5)
            counts.append((len(os.listdir("/proc/self/fd")), threading.active_count()))
            assert not [r for r in references if r() is not None]
    assert counts[0] == counts[1], counts
    no_dump(folder)


def state() -> dict[str, Any]:
    """What the recorder changes in a process."""
    unregister: Any = faulthandler.unregister
    wakeup = signal.set_wakeup_fd(-1)
    signal.set_wakeup_fd(wakeup)
    work = torch._C._distributed_c10d.Work
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    return {
        "wait": vars(work)["wait"],
        "hooks": (sys.excepthook, threading.excepthook),
        "handlers": [signal.getsignal(number) for number in range(1, signal.NSIG)],
        "wakeup": wakeup,
        "set_wakeup_fd": signal.set_wakeup_fd,
        "kernels": [has(f"c10d::{name}", "BackendSelect") for name in ("allreduce_", "send", "barrier")],
        "threads": threading.active_count(),
        "faulthandler": faulthandler.is_enabled(),
        "helper": distributed_c10d._new_process_group_helper,
        "descriptors": len(os.listdir("/proc/self/fd")),
        "unregistered": unregister(STACKS_SIGNAL),
    }


def disables(folder: Path) -> None:
    init(folder)
    call()
    before = state()
    for cycle in range(3):
        enable(folder)  # the group is there already
        enable(folder)
        during = state() if cycle == 2 else before  # once: it unregisters
        call(2)
        dist.all_reduce(torch.ones(2), async_op=True).wait()
        assert [record.collective_seq for record in calls_in_ring(folder)] == [1, 2, 3]
        recorder.disable()
        recorder.disable()
        call()
        assert len(calls_in_ring(folder)) == 3
        after = state()
        changed = {key: (before[key], after[key]) for key in before if before[key] != after[key]}
        assert not changed, changed
    same = {key for key in before if during[key] == before[key]}
    assert same == {"wakeup"}, same  # whoever asks for it sees only what others have set
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(5)


def disables_in_a_thread(folder: Path, then: str) -> None:
    """Where Python lets nobody restore a handler or the wakeup descriptor."""
    enable(folder)
    init(folder)
    call()
    got: list[int] = []
    signal.signal(signal.SIGUSR1, lambda number, _: got.append(number))
    thread = threading.Thread(target=recorder.disable)
    thread.start()
    thread.join()
    files = [open(folder / f"own{number}", "w") for number in range(8)]  # noqa: SIM115
    os.kill(os.getpid(), signal.SIGUSR1)
    time.sleep(0.1)
    assert got == [signal.SIGUSR1]
    assert [os.fstat(file.fileno()).st_size for file in files] == [0] * 8
    if then == "again":
        enable(folder)
        call()
    elif then == "put-back":
        signal.signal(signal.SIGTERM, signal.getsignal(signal.SIGTERM))
    os.kill(os.getpid(), signal.SIGUSR2 if then == "USR2" else signal.SIGTERM)
    time.sleep(5)


def enables_in_a_thread(folder: Path) -> None:
    def run() -> None:
        enable(folder)
        init(folder)
        call(2)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    call()
    assert [record.collective_seq for record in calls_in_ring(folder)] == [1, 2, 3]
    assert pickle_of(recorder.dump())["entries"][-1]["thread_name"] == "MainThread"
    os.kill(os.getpid(), signal.SIGTERM)  # there is no handler of ours: it ends
    time.sleep(5)


def enables_late_where_it_can_not(folder: Path) -> None:
    (folder / "file").touch()
    init(folder)
    before = state()
    try:
        enable(folder / "file" / "deeper")
    except OSError:
        assert state() == before
        call()
    else:
        raise AssertionError
    enable(folder)
    call()
    assert len(calls_in_ring(folder)) == 1


def has_faulthandler(folder: Path, when: str) -> None:
    with open(folder / "fault.txt", "w") as file:
        if when == "before":
            faulthandler.enable(file)
        enable(folder)
        init(folder)
        if when == "after":
            faulthandler.enable(file)
        recorder.disable()
        assert faulthandler.is_enabled()
        enable(folder)
        os.abort()
