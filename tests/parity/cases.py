"""Small jobs, each of which shows one thing that torchfrtrace and frtui do alike or differently.

"pt#N" is issue or pull N of pytorch/pytorch, and so on: somebody had such files.
"""

from __future__ import annotations

import os
import shutil
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from frtui.exits import HANG, NO_HANG, UNREADABLE, USAGE
from tests.dumps import DEFAULT, Name, Raw, batch, dump, entry, write

DEMOS = Path(__file__).parents[2] / "frtui" / "demo"
OPEN = "scheduled"
RANK = "nccl_trace_rank_{}"
Ranks = dict[int, Any]


@dataclass(frozen=True)
class Case:
    name: str
    about: str
    make: Callable[[Path], object]
    """Writes the dumps into a folder."""
    truth: tuple[int, ...] | None = None
    """The ranks to blame; none in a healthy job; None where the case isn't about a verdict."""
    says: str = "NOT-JOINED"
    """What frtui must say."""
    code: int = HANG
    """What frtui must end with."""
    torch: tuple[str, ...] = ("DIR",)
    frtui: tuple[str, ...] = ("report", "DIR")
    """The arguments; DIR is the folder, OUT a file to write."""
    counts: str = ""
    """How often this is printed is told, instead of the first line."""
    backwards: bool = False
    """Whether the file system lists the last rank first."""
    limit_s: float = 30


def world(n: int) -> dict[Name, list[int]]:
    return {DEFAULT: list(range(n))}


def steps(n: int, **common: Any) -> list[Raw]:
    return [entry(seq, **common) for seq in range(1, n + 1)]


def idle(n: int = 4, culprit: int = 2, **common: Any) -> dict[int, list[Raw]]:
    """`culprit` never makes the 4th all_reduce, in which the others wait."""
    waits = [entry(4, **{"state": OPEN, **common})]
    return {r: [*steps(3, **common), *([] if r == culprit else waits)] for r in range(n)}


def job(entries: dict[int, list[Raw]], **options: Any) -> Ranks:
    options.setdefault("pg_config", world(len(entries)))
    return {r: dump(rows, **options) for r, rows in entries.items()}


def saved(ranks: Callable[[], Ranks], **how: Any) -> Callable[[Path], object]:
    return lambda folder: write(folder, ranks(), **how)


def demo(name: str) -> Callable[[Path], object]:
    return lambda folder: shutil.copytree(DEMOS / name, folder)


# Files


def with_one(data: bytes, name: str = RANK.format(3)) -> Callable[[Path], object]:
    """The idle job, in which `data` stands instead of one file, or beside them."""
    return lambda folder: (write(folder, job(idle())) / name).write_bytes(data)


def _cut(folder: Path) -> None:
    path = write(folder, job(idle())) / RANK.format(3)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) * 3 // 4])


def _absent(folder: Path) -> None:
    (write(folder, job(idle())) / RANK.format(2)).unlink()


class _Runs:
    """Makes a folder beside the dumps when it is unpickled."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.marker),)


def marker(folder: Path) -> Path:
    return folder.with_name("executed")


def _global(folder: Path) -> None:
    dumps = job(idle())
    dumps[3]["extra"] = _Runs(marker(folder))
    write(folder, dumps)


def _pipe(folder: Path) -> None:
    os.mkfifo(write(folder, job(idle())) / RANK.format(4))


def _nodes(folder: Path) -> None:
    for rank, raw in job(idle()).items():
        write(folder / f"node{rank // 2}", {rank: raw})


def _attempts(folder: Path) -> None:
    for name, culprit in (("attempt_0", 1), ("attempt_1", 2)):
        write(folder / name, job(idle(culprit=culprit)))
    for path in (folder / "attempt_0").iterdir():
        os.utime(path, (1_790_000_000, 1_790_000_000))


def _hosts(folder: Path) -> None:
    for rank, raw in job(idle()).items():
        write(folder, {rank: raw}, f"nccl_trace_rank_node{rank // 2}_{{}}")


def _rewritten() -> Ranks:
    """Dumps that a script of the user's has loaded and saved again."""
    return {rank: OrderedDict(raw) for rank, raw in job(idle()).items()}


def _mixed() -> Ranks:
    return {r: dump(rows, version="2.10" if r else "2.9", pg_config=world(4)) for r, rows in idle().items()}


def _markup() -> Ranks:
    name = ("0", "[red]dp\x1b[2J\x1b[31m")
    return job(idle(group=name), pg_config={name: [0, 1, 2, 3]})


# Verdicts


def _tutorial() -> Ranks:
    def rows(lines: Sequence[int]) -> list[Raw]:
        return [
            entry(
                n,
                sizes=[[4, 5] if line == 20 else [3, 4]],
                state="completed" if n < 3 else OPEN,
                site=("crash.py", line),
            )
            for n, line in enumerate(lines, 1)
        ]

    return job({0: rows([15, 16, 20, 24, 25]), 1: rows([15, 16, 24, 25])})


def _size() -> Ranks:
    return job({r: [*steps(6), entry(7, sizes=[[1025 if r == 0 else 262144]], state=OPEN)] for r in range(8)})


def _alone(site: str) -> list[Raw]:
    return [entry(0, "recv 1<-0", group=("9", "pp"), p2p_seq=1, state=OPEN, site=(site, 8))]


def _p2p_local() -> Ranks:
    """Rank 5 waits for rank 4, which its entry calls 0."""
    config = {DEFAULT: list(range(8)), ("9", "pp"): [4, 5, 6, 7]}
    rows = {r: [*steps(1), *(_alone("pipe.py") if r == 5 else [])] for r in range(8)}
    return {r: dump(e, pg_config=config if r >= 4 else world(8)) for r, e in rows.items()}


def _p2p_config() -> Ranks:
    pp = ("9", "pp")
    both = {DEFAULT: [0, 1], pp: [0, 1]}
    return {
        0: dump([*steps(1), entry(0, "send 0->1", group=pp, p2p_seq=1)], pg_config=both),
        1: dump([*steps(1), entry(0, "recv 1<-0", group=pp, p2p_seq=1)], pg_config=world(2)),
    }


def _ring() -> Ranks:
    n = 4
    return job(
        {
            r: [
                row
                for step in (1, 2, 3)
                for row in batch([f"send {r}->{(r + 1) % n}", f"recv {r}<-{(r - 1) % n}"], p2p_seq=step)
            ]
            for r in range(n)
        }
    )


def _order() -> Ranks:
    a, b = ("1", "a"), ("2", "b")
    config = {DEFAULT: [0, 1], a: [0, 1], b: [0, 1]}

    def rows(groups: Sequence[Name]) -> list[Raw]:
        return [*steps(3), *(entry(1, group=g, state=OPEN, site=("t.py", 10 if g == a else 20)) for g in groups)]

    return job({0: rows((a, b)), 1: rows((b, a))}, pg_config=config)


def _wrapped() -> Ranks:
    """Rank 0 makes ten calls in its own group for each that all make: its ring starts ten times later."""
    own = ("1", "rank0")
    config = {DEFAULT: [0, 1, 2, 3], own: [0]}
    mine = [
        row for step in range(91, 101) for row in (*(entry(step * 10 + n, group=own) for n in range(10)), entry(step))
    ]
    last = [entry(101, state=OPEN)]
    ranks = {r: dump([*steps(100), *([] if r == 2 else last)], pg_config=world(4)) for r in (1, 2, 3)}
    return {0: dump([*mine, *last], pg_config=config, first_record=990), **ranks}


def _poll() -> Ranks:
    return job({r: [*steps(4), entry(5, state="completed" if r == 0 else "started")] for r in range(4)})


def _early() -> Ranks:
    def rows(r: int) -> list[Raw]:
        early = [entry(s, "reduce", sizes=[[10 + r if s % 2 else 10]]) for s in range(1, 25)]
        return [*early, *([entry(25, sizes=[[8]], state=OPEN, site=("train.py", 99))] if r != 3 else [])]

    return job({r: rows(r) for r in range(4)})


def _together() -> Ranks:
    """All are in the same call: a fault of the network, or a kernel that doesn't end."""
    return job({r: [*steps(3), entry(4, state=OPEN)] for r in range(4)})


def _splits() -> Ranks:
    sent, received = (8, 4), (8, 8)
    early = [entry(s, "all_to_all", sizes=[[8]], outputs=[[8]]) for s in range(1, 5)]
    return job(
        {r: [*early, entry(5, "all_to_all", sizes=[[sent[r]]], outputs=[[received[r]]], state=OPEN)] for r in (0, 1)}
    )


def _new_names() -> Ranks:
    return job({r: [*steps(3, op="brand_new"), *([entry(4, "brand_new", state=OPEN)] if r else [])] for r in (0, 1)})


def _both_send() -> Ranks:
    return job({r: [*steps(2), entry(2, f"send {r}->{1 - r}", p2p_seq=1, state=OPEN)] for r in (0, 1)})


def _cascade() -> Ranks:
    """Names as torch makes them with hashes; rank 5 is idle, and it stops all eight."""
    tp: dict[int, Name] = {r: (f"{'a' * 39}{r // 2}", "tp") for r in range(8)}
    dp: dict[int, Name] = {r: (f"{'b' * 39}{r % 2}", "dp") for r in range(8)}
    ranks = {}
    for r in range(8):
        config = {
            DEFAULT: list(range(8)),
            tp[r]: [r // 2 * 2, r // 2 * 2 + 1],
            dp[r]: [x for x in range(8) if x % 2 == r % 2],
        }
        rows = [entry(1, group=tp[r]), entry(1, group=dp[r])]
        if r == 4:
            rows.append(entry(2, group=tp[r], state=OPEN, site=("layers.py", 30)))
        elif r != 5:
            rows += [entry(2, group=tp[r]), entry(2, group=dp[r], state=OPEN, site=("optim.py", 9))]
        ranks[r] = dump(rows, pg_config=config)
    return ranks


def _skipped() -> Ranks:
    """Rank 2 leaves the 4th of six equal calls out, of which each has its line."""

    def rows(r: int) -> list[Raw]:
        lines = [line for line in range(10, 16) if (r, line) != (2, 13)]
        return [
            entry(n, site=("train.py", line), state="completed" if n < 4 else OPEN) for n, line in enumerate(lines, 1)
        ]

    return job({r: rows(r) for r in range(4)})


def _silent_culprit() -> Ranks:
    """torch's dump of only what is active: the culprit's has no entries."""
    ranks = {
        r: dump([entry(9, state=OPEN)], first_record=8, pg_config=world(4), pg_status={0: (9, -1, 8)}) for r in range(3)
    }
    ranks[3] = dump([], pg_config=world(4), pg_status={0: (8, -1, 8)})
    return ranks


def _replicas() -> Ranks:
    """torchft: each of two replica groups of two counts its ranks from 0, the files count them through."""
    rows = {0: steps(4), 1: steps(4), 2: steps(3), 3: [*steps(3), entry(4, state=OPEN)]}
    return {r: dump(calls, pg_config=world(2)) for r, calls in rows.items()}


def _finished() -> Ranks:
    """Rank 1 had another size in a call that finished all the same."""
    return job({r: [*steps(2), entry(3, sizes=[[5 if r == 1 else 4]]), entry(4), entry(5)] for r in range(4)})


def _healthy() -> Ranks:
    return job({r: steps(5) for r in range(4)})


FILES = (
    Case("complete", "four files, as torch writes them; rank 2 is idle", saved(lambda: job(idle())), (2,)),
    Case("absent", "no file of rank 2, for which the others wait", _absent, (2,), "NO-DUMP"),
    Case(
        "absent, allowed",
        "the same with `--allow-incomplete-ranks`",
        _absent,
        (2,),
        "NO-DUMP",
        torch=("DIR", "--allow-incomplete-ranks"),
        frtui=("report", "DIR", "--allow-incomplete-ranks"),
    ),
    Case("cut", "one file ends at three quarters", _cut, (2,)),
    Case("empty", "one file has 0 bytes (pt#145125)", with_one(b""), (2,)),
    Case("no pickle", "one file is a traceback", with_one(b"Traceback (most recent call last):\n"), (2,)),
    Case("log", "a log lies beside the dumps", with_one(b"loss 0.3\n", "log_7"), (2,)),
    Case(
        "log, prefix",
        "the same with `-p nccl_trace_rank_`",
        with_one(b"loss 0.3\n", "log_7"),
        (2,),
        torch=("DIR", "-p", "nccl_trace_rank_"),
        frtui=("report", "DIR", "-p", "nccl_trace_rank_"),
    ),
    Case(
        "prefix inside",
        "`job7.nccl_trace_rank_0` and so on, with `-p nccl_trace_rank_`",
        saved(lambda: job(idle()), name="job7." + RANK),
        (2,),
        torch=("DIR", "-p", "nccl_trace_rank_"),
        frtui=("report", "DIR", "-p", "nccl_trace_rank_"),
    ),
    Case("gzip", "compressed files", saved(lambda: job(idle()), name=RANK + ".gz", encode="gzip"), (2,)),
    Case("json", "torch's JSON", saved(lambda: job(idle()), name=RANK + ".json", encode="json"), (2,)),
    Case("hosts", "host names in the files' names (pt#140879)", _hosts, (2,)),
    Case("nodes", "a sub-folder for each node", _nodes, (2,)),
    Case(
        "attempts",
        "two attempts in sub-folders; the newer one waits for rank 2; `-p nccl_trace_rank_`",
        _attempts,
        (2,),
        torch=("DIR", "-p", "nccl_trace_rank_"),
        frtui=("report", "DIR", "-p", "nccl_trace_rank_"),
    ),
    Case("pipe", "a named pipe with a dump's name", _pipe, (2,), limit_s=3),
    Case("global", "a pickle that calls a function", _global, (2,)),
    Case(
        "rewritten",
        "dumps loaded and saved again as `OrderedDict`",
        saved(_rewritten),
        (2,),
        "names a global",
        UNREADABLE,
    ),
    Case("mixed versions", "dumps of versions 2.9 and 2.10", saved(_mixed), (2,)),
    Case("version 2.10", "batches of sends, complete; 2.10 comes after 2.7", saved(_ring), (), "NO-HANG", NO_HANG),
    Case("torch 2.2", "a bare list, as torch 2.2 wrote", saved(lambda: job(idle(), version="list")), (2,)),
    Case("version 1.5", "of torch 2.3, without names of groups", saved(lambda: job(idle(), version="1.5")), (2,)),
    Case("gloo", "dumps of torch 2.13 on gloo; rank 0 makes a call more", demo("tutorial"), (0,), "EXTRA-CALL"),
    Case("no stacks", "entries without frames (pt#148203)", saved(lambda: job(idle(site=None))), (2,)),
    Case("markup", "escape codes in a group's name", saved(_markup), (2,), "\\x1b[2J"),
    Case("nothing", "an empty folder", Path.mkdir, None, "no flight recorder dump", UNREADABLE),
)

JOBS = (
    Case("healthy", "every call is finished", saved(_healthy), (), "NO-HANG", NO_HANG),
    Case("poll", "one rank has seen its call finish, the others not yet", saved(_poll), (), "NO-HANG", NO_HANG),
    Case("finished", "a call of another size that finished all the same", saved(_finished), (1,), "NO-HANG", NO_HANG),
    Case("together", "all ranks are in the same call", saved(_together), (), "ALL-JOINED-STUCK"),
    Case("tutorial", "rank 0 makes a call of another size in between", saved(_tutorial), (0,), "EXTRA-CALL"),
    Case("skipped", "rank 2 leaves out one of six equal calls", saved(_skipped), (2,), "SKIPPED-CALL"),
    Case("size", "rank 0 of eight has another size (pt#140563)", saved(_size), (0,), "SIZE-MISMATCH"),
    Case(
        "size, backwards",
        "the same; the last rank's file is listed first",
        saved(_size),
        (0,),
        "SIZE-MISMATCH",
        backwards=True,
    ),
    Case("early", "12 harmless differences, then rank 3 is idle (pt#162991)", saved(_early), (3,)),
    Case(
        "early, cap",
        "the same with `--mismatch_cap 100`",
        saved(_early),
        (3,),
        torch=("DIR", "--mismatch_cap", "100"),
    ),
    Case("wrapped", "rank 0's ring has turned ten times, rank 2 is idle", saved(_wrapped), (2,)),
    Case("order", "two groups in opposite order (trl#6798)", saved(_order), (0, 1), "GROUP-DEADLOCK"),
    Case("cascade", "rank 5 is idle in a group with a hash for a name; eight wait", saved(_cascade), (5,)),
    Case("p2p alone", "rank 5 receives from 4, in a group of 4 to 7 (pt#139280)", saved(_p2p_local), (4,)),
    Case("p2p config", "one file lacks the group (pt#160097)", saved(_p2p_config), (), "NO-HANG", NO_HANG),
    Case("both send", "two ranks send, nobody receives", saved(_both_send), (0, 1), "P2P-UNMATCHED"),
    Case("splits", "sizes of an all_to_all don't add up (pt#194559)", saved(_splits), (1,), "SPLIT-MISMATCH"),
    Case("new op", "an operation of an unknown name", saved(_new_names), (0,)),
    Case("only active", "the culprit's dump has no entries", saved(_silent_culprit), (3,)),
    Case("replicas", "two replica groups of torchft; rank 2 is idle", saved(_replicas), (2,)),
    Case(
        "replicas, option",
        "the same with `--transform-ft --group-world-size 2`",
        saved(_replicas),
        (2,),
        torch=("DIR", "--transform-ft", "--group-world-size", "2"),
    ),
)


def printed(name: str, about: str, make: Callable[[Path], object], *options: str, counts: str, says: str) -> Case:
    """A case of the raw entries: `torchfrtrace -j` and `frtui entries`, with the same options."""
    frtui = ("entries", "DIR", *options)
    return Case(name, about, make, None, says, NO_HANG, ("DIR", "-j", *options), frtui, counts)


_IDLE = saved(lambda: job(idle()))
_OTHERS = ("-v", "--mismatch_cap", "3", "--transform-ft", "--group-world-size", "4")

OPTIONS = (
    printed("-j", "the idle job: 15 calls", _IDLE, counts="all_reduce", says="15"),
    printed(
        "--selected-ranks",
        "the same, ranks 0 and 2",
        _IDLE,
        "--selected-ranks",
        "0",
        "2",
        counts="all_reduce",
        says="7",
    ),
    printed(
        "--pg-filters",
        "of the group `tp`, in case *cascade*",
        saved(_cascade),
        "--pg-filters",
        "tp",
        counts="all_reduce",
        says="15",
    ),
    printed("--print_stack_trace", "the same, with stacks", _IDLE, "--print_stack_trace", counts="train.py", says="15"),
    printed("-j, wrapped", "all the calls of case *wrapped*", saved(_wrapped), counts="all_reduce", says="413"),
    printed("-j, new op", "the calls of case *new op*", saved(_new_names), counts="brand_new", says="7"),
    Case(
        "-j, no such rank",
        "`--selected-ranks 9`",
        _IDLE,
        None,
        "none of the selected ranks",
        USAGE,
        ("DIR", "-j", "--selected-ranks", "9"),
        ("entries", "DIR", "--selected-ranks", "9"),
    ),
    Case(
        "others",
        "`-v --mismatch_cap 3 --transform-ft --group-world-size 4`",
        _IDLE,
        None,
        "NOT-JOINED",
        torch=("DIR", *_OTHERS),
        frtui=("report", "DIR", *_OTHERS),
    ),
    Case(
        "-o",
        "the flat database, as a pickle",
        _IDLE,
        None,
        "wrote OUT",
        NO_HANG,
        ("DIR", "-o", "OUT"),
        ("export", "DIR", "--format", "torch-db", "-o", "OUT"),
    ),
)

CASES = (*FILES, *JOBS, *OPTIONS)

SERVED = ("complete", "gloo", "poll", "tutorial", "size", "wrapped", "order", "cascade")
"""Cases that the debug server is asked as well."""
