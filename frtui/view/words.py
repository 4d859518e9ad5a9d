"""How sizes, operations, places and times are written in the panes."""

from __future__ import annotations

from collections.abc import Sequence

from frtui.model import NONE, STARTED, Call, Frame, Job, Shape, Signature
from frtui.stacks import short
from frtui.text import utc, who
from frtui.view.rows import cells, cut, cut_left

BAD, OK, DOUBT, WARN, DIFFERS, RUNS, WAITS, QUEUED, HERE = "✗", "✓", "?", "!", "≠", "▶", "●", "○", "›"
NOT_HERE, LATE = "─", "▼"
"""Not joined, and behind the others; only the matrix has them, and says what they mean."""

LEGEND = (
    (BAD, "blamed"),
    (DOUBT, "no dump, or unsure"),
    (OK, "finished"),
    (RUNS, "started, not finished"),
    (WAITS, "first unfinished call"),
    (QUEUED, "queued behind it"),
    (DIFFERS, "differs from other ranks"),
    ("p#", "number of a send or recv"),
)

ASCII = str.maketrans("✗✓≠▶●○›…→←↑↓·│─━├└┌▼█▒—", "x+#>*o>~><^v.|-=|`,v#~-")
"""For terminals without Unicode (`--ascii`): one column for one column."""

_DTYPES = {
    "BFloat16": "bf16",
    "Half": "f16",
    "Float": "f32",
    "Double": "f64",
    "Long": "i64",
    "Int": "i32",
    "Short": "i16",
    "Char": "i8",
    "Byte": "u8",
    "Bool": "bool",
    "ComplexFloat": "c64",
    "ComplexDouble": "c128",
    "Float8_e4m3fn": "f8e4m3",
    "Float8_e5m2": "f8e5m2",
}
# What says nothing about which group it is, in the descriptions that Megatron and others give.
_FILLERS = {"GROUP", "PARALLEL", "MODEL", "PROCESS"}


def ascii_only(text: str) -> str:
    return text.translate(ASCII).encode("ascii", "replace").decode()


def dtype(names: Sequence[str]) -> str:
    return ",".join(dict.fromkeys(_DTYPES.get(name, name) for name in names))


def shape(sizes: Shape) -> str:
    return "[" + ",".join(map(str, sizes)) + "]"


def shapes(many: Sequence[Shape]) -> str:
    """`[4096]`, `8 x [4096]`, `[1] [2] [3] +5`; every size counts, so equal texts need not mean equal sizes."""
    if len(many) > 1 and len(set(many)) == 1:
        return f"{len(many)} x {shape(many[0])}"
    return " ".join(map(shape, many[:3])) + (f" +{len(many) - 3}" if len(many) > 3 else "")


def arguments(signature: Signature) -> str:
    """Sizes and dtypes of a call in a few words: `[4096] bf16`, `[3,4] → [2,3,4] f32`, `[4] f32 root 0`."""
    signature = signature.only
    if signature.root != NONE:
        return f"{arguments(signature._replace(root=NONE))} root {signature.root}"
    if signature.parts:
        kinds = [f"{part.op} {arguments(part)}".rstrip() for part in signature.parts]
        return ", ".join(f"{kinds.count(k)} x {k}" if kinds.count(k) > 1 else k for k in dict.fromkeys(kinds))
    into, out = shapes(signature.inputs), shapes(signature.outputs)
    kind, out_kind = dtype(signature.input_dtypes), dtype(signature.output_dtypes)
    if signature.inputs == signature.outputs or not out:
        return f"{into} {kind or out_kind}".rstrip()
    if kind == out_kind or not out_kind:
        return f"{into} → {out} {kind}".strip()
    return f"{into} {kind} → {out} {out_kind}".strip()


def operation(job: Job, group: int, signature: Signature) -> str:
    """`all_reduce`; `send 0→1` with global ranks; `batch of 4 send/recv`."""
    signature = signature.only
    if signature.parts:
        return f"batch of {len(signature.parts)} " + "/".join(dict.fromkeys(part.op for part in signature.parts))
    return named(job, group, signature)


def named(job: Job, group: int, signature: Signature) -> str:
    """The operation of one call or of one part of a batch, with its peers where it has any."""
    if signature.src == NONE and signature.dst == NONE:
        return signature.op or "?"
    src, dst = job.endpoints(group, signature)
    return f"{signature.op} {'?' if src == NONE else src}→{'?' if dst == NONE else dst}"


def number(call: Call) -> str:
    """`#85`, or `p2p #3` for a send, a recv or a batch of them; empty where the dump has none."""
    seq = call.p2p_seq if call.p2p else call.seq
    return "" if seq == NONE else f"p2p #{seq}" if call.p2p else f"#{seq}"


def state(call: Call, first_open: int) -> tuple[str, str, str]:
    """(glyph, word, role): `first_open` is the row of the first unfinished call of the rank in this group."""
    if call.done:
        return OK, "done", "ok"
    if call.state == STARTED:
        return RUNS, "started", "warn"
    return (WAITS, "waits", "warn") if call.row <= first_open or first_open == NONE else (QUEUED, "queued", "dim")


def place(frame: Frame | None) -> str:
    """`layers.py:60`."""
    return short(frame)


def essence(text: str) -> str:
    """A group's description without fillers."""
    return "_".join(word for word in text.split("_") if word.upper() not in _FILLERS) or text


def label(text: str, width: int) -> str:
    """A group's label in `width` columns: fillers go first, then its beginning, never its number."""
    if cells(text) <= width:
        return text
    desc, _, name = text.rpartition(":")
    short = essence(desc or name)
    if not desc:
        return cut(short, width)
    room = width - cells(name) - 1
    return f"{short[:room]}:{name}" if room > 1 else cut_left(text, width)


def rank_list(ranks: Sequence[int], width: int = 24) -> str:
    """`rank 2`, `ranks 0-3, 5`."""
    return cut(who(ranks), width) if ranks else ""


def span(ms: float) -> str:
    """A duration in milliseconds as people say it; empty where none was recorded."""
    if ms < 0 or ms != ms:
        return ""
    if ms < 1000:
        return f"{ms:.1f} ms" if ms >= 0.1 else f"{ms * 1000:.0f} us"
    return f"{ms / 1000:,.0f} s" if ms % 1000 == 0 else f"{ms / 1000:,.1f} s"


def clock(ns: int) -> str:
    """Time of day, UTC; the dumps hold nanoseconds since the epoch on each rank's own clock."""
    try:
        return utc(ns, "%H:%M:%S.%f")[:-3] if ns > 0 else ""
    except ValueError:
        return ""


def size(amount: float) -> str:
    for unit in ("B", "KB", "MB", "GB"):
        if amount < 1000 or unit == "GB":
            return f"{amount:,.0f} {unit}" if unit == "B" or amount >= 10 else f"{amount:.1f} {unit}"
        amount /= 1000
    raise AssertionError
