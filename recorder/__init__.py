"""The half of frtui that runs inside a training job: it records collectives on any back end, and leaves a dump.

    import recorder
    recorder.enable()                  # before init_process_group; or: torchrun -m recorder train.py

Importing this imports no torch; only `enable` and what follows it do.
"""

from __future__ import annotations

from collections.abc import Sequence

from recorder.job.writers import FsspecWriter, Writer, register_writer

__all__ = ["FsspecWriter", "Writer", "disable", "dump", "enable", "register_writer"]


def enable(
    *,
    buffer_size: int | None = None,
    dump_prefix: str | None = None,
    stack: str | None = None,
    stuck_after: float | None = None,
    signals: Sequence[str] = ("USR2", "TERM"),
    socket: bool = True,
    quiet: bool = False,
) -> None:
    """Record every collective, send and receive of this process from now on.

    What is None comes from the variables that torch's own recorder reads, then from its defaults.

    buffer_size: calls that are kept. dump_prefix: path to which the rank is appended. stack: `python`, `none`, or
    `cpp` for frames of C++ as well. stuck_after: seconds after which an open call is a hang, on all ranks (default:
    half of the group's timeout, at most 300). signals: which signals make a dump. socket: listen for `recorder dump`.
    quiet: say nothing on stderr.

    Raises RuntimeError without torch.distributed, ValueError for an unknown `stack` or signal, and OSError when a
    process group exists already and the folder beside the dumps can't be written.
    """
    from recorder.job import switch
    from recorder.job.options import resolve

    switch.enable(resolve(buffer_size, dump_prefix, stack, stuck_after, tuple(signals), socket, quiet))


def disable() -> None:
    """Stop recording and take everything back; the ring stays on disk."""
    from recorder.job import switch

    switch.disable()


def dump(
    path: str | None = None,
    *,
    include_collectives: bool = True,
    include_stack_traces: bool = True,
    only_active: bool = False,
) -> bytes:
    """The dump of this moment as a pickle, as torch's `_dump_nccl_trace` gives it; also written to `path`, if given.

    Without `enable` it is torch's own buffer, where torch keeps one (NCCL, gloo). Raises RuntimeError when neither
    records, and OSError when `path` can't be written.
    """
    import pickle

    from recorder import files, native
    from recorder.job import switch

    session = switch.session()
    fetch = session.fetch if session is not None else native.fetch
    content = fetch(
        include_collectives=include_collectives,
        include_stack_traces=include_stack_traces,
        only_active=only_active,
    )
    data = pickle.dumps(content, 2)
    if path is not None:
        files.write_atomically(path, data)
    return data
