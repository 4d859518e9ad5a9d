"""Jobs for the tests of what the panes say: small ones through the loader, a huge one made of columns."""

from __future__ import annotations

from pathlib import Path

from frtui.engine.align import Edit
from frtui.engine.finding import Beside, Finding, Wait
from frtui.load import load
from frtui.model import Entries, Frame, Group, Job, Rank, Signature
from frtui.view.panes import Panes
from tests.dumps import DEFAULT, T0, batch, dump, entry, write

TP0, TP1 = ("6", "tp"), ("7", "tp")
CONFIG = {DEFAULT: (0, 1, 2, 3, 4), TP0: (0, 1), TP1: (2, 3)}
SITE = ("/home/user/job/layers.py", 60)


def stuck(folder: Path, entries: int = 6) -> Path:
    """Rank 2 gives other sizes than rank 3 in the last call of tp:7; 0 and 1 wait; 4 left no dump; 9's is empty."""
    write(folder, {rank: dump(history(rank, entries), pg_config=CONFIG) for rank in range(4)})
    broken = folder / "nccl_trace_rank_9"
    broken.write_bytes(b"")
    return folder


def history(rank: int, entries: int) -> list[dict[str, object]]:
    group = TP0 if rank < 2 else TP1
    done = [entry(seq, sizes=((4128,),), group=group, site=SITE, duration=1.5) for seq in range(1, entries)]
    last = entry(entries, sizes=((4096 if rank == 2 else 4128,),), group=group, site=SITE, state="started")
    first = [entry(1, "broadcast", site=("train.py", 10))]
    waits = entry(2, site=("train.py", 20), state="scheduled")
    return [*first, *done, waits] if rank < 2 else [*first, *done, last]


def findings(job: Job) -> tuple[Finding, ...]:
    """What is to be said of `stuck`, as an engine would."""
    tp1 = next(n for n, group in enumerate(job.groups) if group.label == "tp:7")
    default = next(n for n, group in enumerate(job.groups) if group.desc == "default_pg")
    row = job.ranks[2].calls[-1]
    return (
        Finding(
            "size-mismatch",
            "proven",
            "rank 2 makes all_reduce #6 of tp:7 with [4096], rank 3 with [4128]; ranks 0, 1 and 3 wait",
            (2,),
            tp1,
            "all_reduce",
            job.ranks[2].entries.seq[row],
            False,
            Frame("step", *SITE),
            ("the history of rank 2 has [4128] at this line",),
            (0, 1, 3),
            ((0, 2), (3, 2)),
            ("look at what makes the sizes at layers.py:60",),
            (2, row),
            (Wait(2, row, ()), Wait(3, job.ranks[3].calls[-1], ()), Wait(0, job.ranks[0].calls[-1], (2,))),
            beside(job, tp1),
        ),
        Finding("no-dump", "likely", "rank 4 left no dump", (4,), default, "all_reduce", 2, evidence=("no file",)),
    )


def beside(job: Job, group: int) -> Beside:
    mine, theirs = (
        tuple(row for row in job.ranks[r].calls if job.ranks[r].entries.group[row] == group) for r in (2, 3)
    )
    last = len(mine) - 1
    edits = (*(Edit("same", n, n) for n in range(last)), Edit("replace", last, last))
    return Beside(2, mine, 3, theirs, edits, last, "history")


def panes(folder: Path, entries: int = 6) -> Panes:
    job = load(stuck(folder, entries))
    return Panes(job, findings(job))


def pipeline(folder: Path) -> Path:
    """Two stages: rank 0 sends three times, the third is not received; before it a batch on both sides."""
    group = {DEFAULT: (4, 5)}

    def lane(op: str, last: int) -> list[dict[str, object]]:
        single = [
            entry(0, op, p2p_seq=n, sizes=((n, 8),), site=("pipe.py", n), state="completed" if n < 3 else "scheduled")
            for n in range(1, last + 1)
        ]
        many = ["send 0->1", "recv 0<-1"] if op.startswith("send") else ["recv 1<-0", "send 1->0"]
        return [*batch(many, p2p_seq=9, site=("pipe.py", 90)), *single]

    write(folder, {4: dump(lane("send 0->1", 3), pg_config=group), 5: dump(lane("recv 1<-0", 2), pg_config=group)})
    return folder


def huge(calls: int) -> Job:
    """One rank with very many calls, made without files."""
    rank = Rank(0, "made")
    e: Entries = rank.entries
    numbers = range(calls)
    for name, code in Entries.COLUMNS:
        column = getattr(e, name)
        column.frombytes(bytes(column.itemsize * calls)) if code != "d" else column.extend([-1.0] * calls)
    e.record[:] = type(e.record)("q", numbers)
    e.seq[:] = type(e.seq)("q", range(1, calls + 1))
    e.call[:] = type(e.call)("i", numbers)
    e.done[:] = type(e.done)("b", bytes([1]) * (calls - 1) + bytes([0]))
    e.state[:] = type(e.state)("b", bytes([2]) * (calls - 1) + bytes([0]))
    rank.calls.extend(numbers)
    signature = Signature("all_reduce", "nccl", ((4096,),), ((4096,),), ("Float",), ("Float",))
    stacks = ((Frame("step", "train.py", 1),),)
    return Job("made", {0: rank}, (Group("0", "default_pg", (0,)),), (signature,), stacks, ("main",))


def wide(ranks: int = 4096, idle: int = 77) -> Job:
    """Many ranks in groups of all, of 8 neighbours (tp) and of those with equal places (dp), made without files.

    Each has made two calls in each group and waits in its third over all ranks, but for `idle`, which has not joined.
    """
    groups = [Group("0", "default_pg", tuple(range(ranks)))]
    groups += [Group(str(1 + n), "tp", tuple(range(8 * n, 8 * n + 8))) for n in range(ranks // 8)]
    groups += [Group(f"d{n}", "dp", tuple(range(n, ranks, 8))) for n in range(8)]
    signature = Signature("all_reduce", "nccl", ((4096,),), ((4096,),), ("Float",), ("Float",))
    job = Job("made", {}, tuple(groups), (signature,), ((Frame("step", "train.py", 1),),), ("main",))
    for rank in range(ranks):
        job.ranks[rank] = made = Rank(rank, "made", f"node{rank // 8}")
        mine = (0, 1 + rank // 8, 1 + ranks // 8 + rank % 8)
        for row in range(6 if rank == idle else 7):
            done = row < 6
            created = T0 + row * 1_000_000
            values = {"record": row, "group": mine[row % 3], "seq": 1 + row // 3, "call": row, "done": done}
            values.update(state=2 * done, created=created, completed=created + 500_000 if done else -1)
            for column, code in Entries.COLUMNS:
                getattr(made.entries, column).append(values.get(column, 0) if code != "d" else -1.0)
            made.calls.append(row)
    return job
