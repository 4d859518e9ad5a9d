"""Small jobs, each of which shows one thing that torchfrtrace and frtui do alike or differently.

"pt#N" is issue or pull N of pytorch/pytorch, and so on: somebody had such files.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from frtui.exits import HANG, NO_HANG, UNREADABLE, USAGE
from tests.engine.jobs import cascade
from tests.parity import jobs
from tests.parity.jobs import RANK, idle, job, saved, with_one


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


FILES = (
    Case("complete", "four files, as torch writes them; rank 2 is idle", saved(lambda: job(idle())), (2,)),
    Case("absent", "no file of rank 2, for which the others wait", jobs.absent, (2,), "NO-DUMP"),
    Case(
        "absent, allowed",
        "the same with `--allow-incomplete-ranks`",
        jobs.absent,
        (2,),
        "NO-DUMP",
        torch=("DIR", "--allow-incomplete-ranks"),
        frtui=("report", "DIR", "--allow-incomplete-ranks"),
    ),
    Case("cut", "one file ends at three quarters", jobs.cut, (2,)),
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
    Case("hosts", "host names in the files' names (pt#140879)", jobs.hosts, (2,)),
    Case("nodes", "a sub-folder for each node", jobs.nodes, (2,)),
    Case(
        "attempts",
        "two attempts in sub-folders; the newer one waits for rank 2; `-p nccl_trace_rank_`",
        jobs.attempts,
        (2,),
        torch=("DIR", "-p", "nccl_trace_rank_"),
        frtui=("report", "DIR", "-p", "nccl_trace_rank_"),
    ),
    Case("pipe", "a named pipe with a dump's name", jobs.pipe, (2,), limit_s=3),
    Case("global", "a pickle that calls a function", jobs.with_global, (2,)),
    Case(
        "rewritten",
        "dumps loaded and saved again as `OrderedDict`",
        saved(jobs.rewritten),
        (2,),
        "names a global",
        UNREADABLE,
    ),
    Case("mixed versions", "dumps of versions 2.9 and 2.10", saved(jobs.mixed), (2,)),
    Case("version 2.10", "batches of sends, complete; 2.10 comes after 2.7", saved(jobs.ring), (), "NO-HANG", NO_HANG),
    Case("torch 2.2", "a bare list, as torch 2.2 wrote", saved(lambda: job(idle(), version="list")), (2,)),
    Case("version 1.5", "of torch 2.3, without names of groups", saved(lambda: job(idle(), version="1.5")), (2,)),
    Case("gloo", "dumps of torch 2.13 on gloo; rank 0 makes a call more", jobs.demo("tutorial"), (0,), "EXTRA-CALL"),
    Case("no stacks", "entries without frames (pt#148203)", saved(lambda: job(idle(site=None))), (2,)),
    Case("markup", "escape codes in a group's name", saved(jobs.markup), (2,), "\\x1b[2J"),
    Case("nothing", "an empty folder", Path.mkdir, None, "no flight recorder dump", UNREADABLE),
)

JOBS = (
    Case("healthy", "every call is finished", saved(jobs.healthy), (), "NO-HANG", NO_HANG),
    Case("poll", "one rank has seen its call finish, the others not yet", saved(jobs.poll), (), "NO-HANG", NO_HANG),
    Case(
        "finished", "a call of another size that finished all the same", saved(jobs.finished), (1,), "NO-HANG", NO_HANG
    ),
    Case("together", "all ranks are in the same call", saved(jobs.together), (), "ALL-JOINED-STUCK"),
    Case("tutorial", "rank 0 makes a call of another size in between", saved(jobs.tutorial), (0,), "EXTRA-CALL"),
    Case("skipped", "rank 2 leaves out one of six equal calls", saved(jobs.skipped), (2,), "SKIPPED-CALL"),
    Case("size", "rank 0 of eight has another size (pt#140563)", saved(jobs.size), (0,), "SIZE-MISMATCH"),
    Case(
        "size, backwards",
        "the same; the last rank's file is listed first",
        saved(jobs.size),
        (0,),
        "SIZE-MISMATCH",
        backwards=True,
    ),
    Case("early", "12 harmless differences, then rank 3 is idle (pt#162991)", saved(jobs.early), (3,)),
    Case(
        "early, cap",
        "the same with `--mismatch_cap 100`",
        saved(jobs.early),
        (3,),
        torch=("DIR", "--mismatch_cap", "100"),
    ),
    Case("wrapped", "rank 0's ring has turned ten times, rank 2 is idle", saved(jobs.wrapped), (2,)),
    Case("order", "two groups in opposite order (trl#6798)", saved(jobs.order), (0, 1), "GROUP-DEADLOCK"),
    Case("cascade", "rank 5 is idle in a group with a hash for a name; eight wait", saved(cascade), (5,)),
    Case("p2p alone", "rank 5 receives from 4, in a group of 4 to 7 (pt#139280)", saved(jobs.p2p_local), (4,)),
    Case("p2p config", "one file lacks the group (pt#160097)", saved(jobs.p2p_config), (), "NO-HANG", NO_HANG),
    Case("both send", "two ranks send, nobody receives", saved(jobs.both_send), (0, 1), "P2P-UNMATCHED"),
    Case("splits", "sizes of an all_to_all don't add up (pt#194559)", saved(jobs.splits), (1,), "SPLIT-MISMATCH"),
    Case("new op", "an operation of an unknown name", saved(jobs.new_names), (0,)),
    Case("only active", "the culprit's dump has no entries", saved(jobs.silent_culprit), (3,)),
    Case("replicas", "two replica groups of torchft; rank 2 is idle", saved(jobs.replicas), (2,)),
    Case(
        "replicas, option",
        "the same with `--transform-ft --group-world-size 2`",
        saved(jobs.replicas),
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
        saved(cascade),
        "--pg-filters",
        "tp",
        counts="all_reduce",
        says="15",
    ),
    printed("--print_stack_trace", "the same, with stacks", _IDLE, "--print_stack_trace", counts="train.py", says="15"),
    printed("-j, wrapped", "all the calls of case *wrapped*", saved(jobs.wrapped), counts="all_reduce", says="413"),
    printed("-j, new op", "the calls of case *new op*", saved(jobs.new_names), counts="brand_new", says="7"),
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
