"""Agreement: do the members of a group make the same call?

`argument_key` maps a signature to what must be equal on all members. What an operation allows to
differ is left out: uneven all_to_all sizes, the root's side of scatter and gather, the shape where
only the number of elements counts.
"""

from __future__ import annotations

from collections.abc import Hashable
from math import prod

from frtui.model import NONE, Job, Shape, Signature

ROOTED_OUTPUT = frozenset({"gather", "gather_single"})
ROOTED = frozenset({"broadcast", "reduce", "scatter"}) | ROOTED_OUTPUT
TO_ALL = frozenset({"all_to_all", "alltoall", "all_to_all_v_single", "alltoall_base", "all_to_allv"})


def canonical(op: str) -> str:
    """One spelling per operation: `nccl:_all_gather_base` and torchcomms' variants compare as equals."""
    return op.lower().strip("_")


def unknown_content(signature: Signature) -> bool:
    """A batch whose members fell out of the ring, or that up to torch 2.4 recorded none: it compares with nothing."""
    return not signature.parts and canonical(signature.op).endswith("coalesced") and not signature.inputs


def numels(shapes: tuple[Shape, ...]) -> tuple[int, ...]:
    """Number of elements of each tensor; 1 for a scalar."""
    return tuple(prod(shape) for shape in shapes)


def argument_key(signature: Signature, dtypes: bool = True) -> Hashable:
    """What must be equal on all members of the group.

    `dtypes` False leaves the element types out, for jobs in which some dumps do not record them
    (torch 2.2 and 2.3 write none).
    """
    op = canonical(signature.op)
    if signature.parts:
        return op, tuple(argument_key(part, dtypes) for part in signature.parts)
    ins, outs = numels(signature.inputs), numels(signature.outputs)
    types = signature.input_dtypes[:1] if dtypes else ()
    ends = (signature.root, signature.src, signature.dst)
    if op in TO_ALL:
        return op, types
    if op in ROOTED_OUTPUT:
        return op, ends, ins, types
    if op == "scatter":
        # NCCL records the output tensor as input, gloo does not, and only the root has the other side.
        return op, ends, (ins if signature.backend != "gloo" else outs)
    if op in ("send", "recv"):
        return op, ends, ins, types
    return op, ends, ins, outs, types


def dtypes_recorded(job: Job) -> bool:
    """Whether every signature with tensors says their element type."""
    return all(
        part.input_dtypes or part.output_dtypes or not (part.inputs or part.outputs)
        for signature in job.signatures
        for part in (signature, *signature.parts)
    )


def difference(mine: Signature, theirs: Signature) -> str:
    """The kind of mismatch between two calls that should be one. With other peers it is another operation."""
    if mine.parts or theirs.parts:
        return _batch_difference(mine.parts or (mine,), theirs.parts or (theirs,))
    if canonical(mine.op) != canonical(theirs.op):
        return "op-mismatch"
    bare = [s._replace(src=NONE, dst=NONE, root=NONE) for s in (mine, theirs)]
    if len({argument_key(s, dtypes=False) for s in bare}) > 1:
        return "size-mismatch"
    if len({argument_key(s) for s in bare}) > 1:
        return "dtype-mismatch"
    return "root-mismatch" if mine.root != theirs.root else "op-mismatch"


def _batch_difference(mine: tuple[Signature, ...], theirs: tuple[Signature, ...]) -> str:
    """Two batches with the same operations differ in the first member that does; else in their content."""
    if [canonical(s.op) for s in mine] != [canonical(s.op) for s in theirs] and max(len(mine), len(theirs)) > 1:
        return "coalesced-mismatch"
    kinds = [difference(a, b) for a, b in zip(mine, theirs) if argument_key(a) != argument_key(b)]
    # Peers differ from rank to rank where all is right, too: they tell only where nothing else does.
    return next((kind for kind in kinds if kind != "op-mismatch"), kinds[0] if kinds else "coalesced-mismatch")


def shapes_text(shapes: tuple[Shape, ...], limit: int = 3) -> str:
    """Sizes as a person reads them: `[2, 1024, 64]`, `[4], [8], … 6 more`.

    >>> shapes_text(((2, 3), ()))
    '[2, 3], scalar'
    """
    shown = ["scalar" if not s else "[" + ", ".join(map(str, s)) + "]" for s in shapes[:limit]]
    return ", ".join(shown) + (f", … {len(shapes) - limit} more" if len(shapes) > limit else "")


def describe(signature: Signature) -> str:
    """A call in one phrase: `all_reduce [1024] Float`, `batch of 4 (send, recv, …)`."""
    if len(signature.parts) == 1:
        return describe(signature.parts[0])
    if signature.parts:
        ops = ", ".join(dict.fromkeys(part.op for part in signature.parts))
        return f"batch of {len(signature.parts)} ({ops})"
    dtype = "/".join(dict.fromkeys(signature.input_dtypes or signature.output_dtypes))
    ins, outs = shapes_text(signature.inputs), shapes_text(signature.outputs)
    sizes = ins if ins == outs or not outs else f"{ins or '-'} -> {outs}"
    root = f"root {signature.root}" if signature.root != NONE else ""
    return " ".join(filter(None, (signature.op, sizes, dtype, root)))
