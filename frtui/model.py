"""The job as every other module sees it: ranks, process groups, calls, stacks.

A job of 1,024 ranks has two million entries, so entries are kept as parallel columns per rank
(`Entries`), and what they repeat (signatures, stacks, threads) is stored once per job and named by
index. `Job.call` makes one row into an object, for the few rows that are looked at.

Every string in here came from somebody's file and has passed `text.clean`: it holds no control
character and may be printed. It may still hold `[markup]`.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

SCHEDULED, STARTED, COMPLETED = 0, 1, 2
STATE_NAMES = ("scheduled", "started", "completed")

DESTROYED, EXITED = "destroyed", "exited"

NONE = -1
"""In an integer column: the dump does not say."""

Shape = tuple[int, ...]
"""The sizes of one tensor; `()` is a scalar."""


class Frame(NamedTuple):
    name: str
    filename: str
    line: int

    @property
    def place(self) -> str:
        """`file:line`, as a report names a call site."""
        return f"{self.filename}:{self.line}"


Stack = tuple[Frame, ...]
"""Innermost frame first, as torch writes it."""


class Signature(NamedTuple):
    """What a call does, apart from where and when it was made.

    Two members of one group that run the same program have equal signatures for the same call,
    except where the operation itself treats ranks differently (scatter, uneven all_to_all).
    """

    op: str
    """As spelled after the first `:` of `profiling_name`, without peers: `_all_gather_base`."""
    backend: str = ""
    """As spelled before it: `nccl`, `gloo`; empty when there was no `:`."""
    inputs: tuple[Shape, ...] = ()
    outputs: tuple[Shape, ...] = ()
    input_dtypes: tuple[str, ...] = ()
    output_dtypes: tuple[str, ...] = ()
    src: int = NONE
    """Sender of a send or recv, *group-local* as torch writes it (pytorch #139280); NONE: any or unknown."""
    dst: int = NONE
    root: int = NONE
    """Of a broadcast, reduce, scatter or gather, group-local; only the in-job recorder writes it (`root_rank`)."""
    parts: tuple[Signature, ...] = ()
    """The members of a coalesced batch, in the order in which they were added."""

    @property
    def only(self) -> Signature:
        """The one member of a batch of one, which is what it amounts to; else the signature itself."""
        return self.parts[0] if len(self.parts) == 1 else self


class Group(NamedTuple):
    """One process group. Identity is the name together with the members."""

    name: str
    desc: str
    ranks: tuple[int, ...]
    """Global ranks in group-local order: a group-local rank is an index into this."""
    rebuilt: bool = False
    """True where no `pg_config` gave the members and they were put together from the entries."""

    @property
    def kind(self) -> tuple[str, int]:
        """(description, size): groups that have both in common usually run one program."""
        return self.desc, len(self.ranks)

    @property
    def label(self) -> str:
        """Short name for people: `tp:7`, `default_pg`; a 40-digit hash name is cut to 8."""
        name = self.name[:8] if len(self.name) >= 40 else self.name
        if not self.desc or self.desc == "undefined":
            return name or "?"
        if self.desc == "default_pg" or not name:
            return self.desc
        return f"{self.desc}:{name}"


class Thread(NamedTuple):
    """What one Python thread of a rank was in when its dump was written; only the in-job recorder tells."""

    name: str
    stack: Stack


class Failure(NamedTuple):
    """The uncaught exception that ended a rank."""

    type: str
    message: str
    stack: Stack


class Status(NamedTuple):
    """`pg_status` of one group on one rank: the last sequence numbers, NONE where there is none."""

    enqueued: int
    started: int
    completed: int


class Problem(NamedTuple):
    """Something about the input that the user should know; the rest was still read."""

    file: str
    rank: int | None
    problem: str
    """One word for scripts: `truncated`, `refused`, `empty`, `not-a-dump`, `unreadable`, `duplicate`,
    `newer-version`, `no-entries`, `skipped`, `malformed`, `old-ring`, `old-dump`."""
    detail: str
    """What is wrong, where (byte), and what to do."""
    salvaged_entries: int | None = None


class Entries:
    """The ring buffer of one rank, oldest first, as parallel columns of equal length.

    Integer columns hold NONE where the dump does not say. Times are nanoseconds since the epoch on
    the rank's own clock; `duration` is milliseconds, negative when it was not recorded.
    """

    COLUMNS = (
        ("record", "q"),  # record_id; a first one above 0 means that the ring wrapped
        ("group", "i"),  # index into Job.groups
        ("seq", "q"),  # collective_seq_id (seq_id before dump version 2.1)
        ("p2p_seq", "q"),  # p2p_seq_id
        ("op_id", "q"),
        ("signature", "i"),  # index into Job.signatures; a batch's closing entry has the whole batch's
        ("stack", "i"),  # index into Job.stacks; NONE: recorded without frames
        ("state", "b"),  # SCHEDULED, STARTED, COMPLETED
        ("retired", "b"),  # 1: the watchdog let go of it
        ("done", "b"),  # 1: finished, i.e. completed, or on gloo, which leaves all scheduled, retired
        ("p2p", "b"),  # 1: send, recv, or the closing entry of a batch of them
        ("call", "i"),  # row of the call this entry belongs to: its own, or the batch's closing entry
        ("created", "q"),
        ("started", "q"),  # when the watchdog noticed the start
        ("completed", "q"),  # when the watchdog noticed the end
        ("duration", "d"),
        ("timeout", "q"),  # milliseconds
        ("thread", "i"),  # index into Job.threads
    )
    __slots__ = tuple(name for name, _ in COLUMNS)

    record: array[int]
    group: array[int]
    seq: array[int]
    p2p_seq: array[int]
    op_id: array[int]
    signature: array[int]
    stack: array[int]
    state: array[int]
    retired: array[int]
    done: array[int]
    p2p: array[int]
    call: array[int]
    created: array[int]
    started: array[int]
    completed: array[int]
    duration: array[float]
    timeout: array[int]
    thread: array[int]

    def __init__(self) -> None:
        for name, code in self.COLUMNS:
            setattr(self, name, array(code))

    def __len__(self) -> int:
        return len(self.record)


@dataclass
class Rank:
    """One rank: where its dump came from, what it says of itself, and its ring."""

    rank: int
    file: str
    """The dump, relative to the job's folder where it lies inside."""
    host: str = ""
    """From the file or folder name, else from the recorder; empty when none of them names one."""
    version: str = ""
    """The dump's `version` string; empty for torch 2.2, which wrote none."""
    library: str = ""
    """`comm_lib_version` or `nccl_version`."""
    dumped_ns: int = NONE
    """When the dump was written, where it says so; else the file's mtime, which is later where it was copied."""
    entries: Entries = field(default_factory=Entries)
    calls: array[int] = field(default_factory=lambda: array("i"))
    """Rows of `entries` that stand for a call (each batch once), oldest first."""
    config: dict[int, tuple[int, ...]] = field(default_factory=dict)
    """Members of each group as *this* rank's `pg_config` gives them, by index into Job.groups."""
    status: dict[int, Status] = field(default_factory=dict)
    """This rank's `pg_status`, by index into Job.groups."""
    truncated: bool = False
    """True when only the leading entries of a cut file could be read: the newest are missing."""

    # What the in-job recorder adds; torch's own dumps hold none of it.
    by: str = ""
    """Who wrote the dump: `rank`, `observer`, `recover`, or `ring` (read from the ring file); empty: torch."""
    reason: str = ""
    """Why the dump was written."""
    later_reasons: tuple[str, ...] = ()
    """What would have been a reason afterwards."""
    pid: int = NONE
    alive: bool | None = None
    """Whether the process was there when the dump was written; None: not known."""
    heartbeat_ns: int = NONE
    """The last sign of life of the process."""
    ended: str = ""
    """How the rank ended in order: it DESTROYED its process groups, or EXITED without; empty: not so, or not known."""
    judged_stuck: bool = False
    """The recorder found one of the rank's calls open for too long."""
    threads: tuple[Thread, ...] = ()
    """Every Python thread at the time of the dump, the main thread first."""
    error: Failure | None = None
    cause: Failure | None = None
    """The exception that all began with, where `error` was raised while others were handled."""
    crash: Failure | None = None
    """The signal that it crashed with, in words, and the stack of the thread that did."""
    call_errors: dict[int, str] = field(default_factory=dict)
    """By row of `entries`: the text of the exception with which the call ended."""

    @property
    def wrapped(self) -> bool:
        """Older entries existed and fell out of the ring."""
        return len(self.entries) > 0 and self.entries.record[0] > 0


class Call(NamedTuple):
    """One row of a rank's entries as an object; see `Entries` for the meaning of each field."""

    rank: int
    row: int
    record: int
    group: int
    seq: int
    p2p_seq: int
    op_id: int
    signature: Signature
    stack: Stack
    state: int
    retired: bool
    done: bool
    p2p: bool
    created: int
    started: int
    completed: int
    duration: float
    timeout: int
    thread: str
    error: str = ""
    """The text of the exception with which it ended, where the in-job recorder saw it."""

    @property
    def op(self) -> str:
        return self.signature.op


@dataclass
class Job:
    """All that was read from one folder."""

    source: str
    ranks: dict[int, Rank] = field(default_factory=dict)
    """Ranks with a dump, by rank, in order."""
    groups: tuple[Group, ...] = ()
    signatures: tuple[Signature, ...] = ()
    stacks: tuple[Stack, ...] = ()
    threads: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    attempts: tuple[str, ...] = ()
    """Sub-folders that hold the same ranks again, oldest first; one of them was read."""
    attempt: str = ""
    """The one that was read; empty when there is only one."""

    @property
    def world(self) -> tuple[int, ...]:
        """Every rank that has a dump or is a member of a group, sorted."""
        return tuple(sorted(set(self.ranks).union(*(g.ranks for g in self.groups))))

    @property
    def missing(self) -> tuple[int, ...]:
        """Members of groups that left no readable dump."""
        return tuple(r for r in self.world if r not in self.ranks)

    @property
    def versions(self) -> tuple[str, ...]:
        return tuple(sorted({rank.version for rank in self.ranks.values() if rank.version}))

    @property
    def libraries(self) -> tuple[str, ...]:
        return tuple(sorted({rank.library for rank in self.ranks.values() if rank.library}))

    @property
    def backends(self) -> tuple[str, ...]:
        return tuple(sorted({s.backend for s in self.signatures if s.backend}))

    @cached_property
    def last_sign_ns(self) -> int:
        """The newest sign of life of all ranks that the recorder saw; NONE without one. Not before all are read."""
        seen = (max(r.heartbeat_ns, r.dumped_ns if r.alive else NONE) for r in self.ranks.values() if r.by)
        return max(seen, default=NONE)

    @property
    def n_entries(self) -> int:
        return sum(len(rank.entries) for rank in self.ranks.values())

    def call(self, rank: int, row: int) -> Call:
        """Row `row` of the entries of `rank` as an object."""
        e = self.ranks[rank].entries
        return Call(
            rank,
            row,
            e.record[row],
            e.group[row],
            e.seq[row],
            e.p2p_seq[row],
            e.op_id[row],
            self.signatures[e.signature[row]],
            self.stacks[e.stack[row]] if e.stack[row] >= 0 else (),
            e.state[row],
            bool(e.retired[row]),
            bool(e.done[row]),
            bool(e.p2p[row]),
            e.created[row],
            e.started[row],
            e.completed[row],
            e.duration[row],
            e.timeout[row],
            self.threads[e.thread[row]] if e.thread[row] >= 0 else "",
            self.ranks[rank].call_errors.get(row, ""),
        )

    def calls(self, rank: int) -> Iterator[Call]:
        """The calls of one rank, oldest first, each made when it is asked for."""
        return (self.call(rank, row) for row in self.ranks[rank].calls)

    def endpoints(self, group: int, signature: Signature) -> tuple[int, int]:
        """Global (sender, receiver) of a send or recv; NONE where the name gives none or no member.

        In a group of two, a recv from any source has only one it can take from.
        """
        members = self.groups[group].ranks
        if len(members) == 2 and signature.src == NONE and signature.dst in (0, 1):
            signature = signature._replace(src=1 - signature.dst)
        src, dst = (members[r] if 0 <= r < len(members) else NONE for r in (signature.src, signature.dst))
        return src, dst
