"""What each `c10d::*` operation is called in a dump, and which of its arguments say what it does.

The names are those of torch's own recorder, which torch's analyzer knows; the positions come from the schemas, which
gained arguments from release to release but kept the names.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

_NAMES = {
    "allreduce_": "all_reduce",
    "allreduce_coalesced_": "allreduce_coalesced",
    "broadcast_": "broadcast",
    "reduce_": "reduce",
    "allgather_": "all_gather",
    "_allgather_base_": "_all_gather_base",
    "allgather_coalesced_": "all_gather_into_tensor_coalesced",
    "allgather_into_tensor_coalesced_": "all_gather_into_tensor_coalesced",
    "reduce_scatter_": "reduce_scatter",
    "_reduce_scatter_base_": "_reduce_scatter_base",
    "reduce_scatter_tensor_coalesced_": "reduce_scatter_tensor_coalesced",
    "gather_": "gather",
    "gather_into_tensor_": "gather",
    "scatter_": "scatter",
    "alltoall_": "all_to_all",
    "alltoall_base_": "all_to_all",
    "barrier": "barrier",
    "monitored_barrier_": "barrier",
    "send": "send",
    "recv_": "recv",
    "recv_any_source_": "recv",
}
_INPUTS = ("input_tensors", "input_tensor", "inputs", "input_list", "input")
_OUTPUTS = ("output_tensors", "output_tensor", "outputs", "output_lists", "output")
_PARTS = ("root_rank", "root_tensor", "output_split_sizes", "input_split_sizes", "src", "dst", "tag")
"""Arguments apart from tensors that tell two calls apart."""


class Operation(NamedTuple):
    """One operator, with positions of its arguments; -1 where it has none."""

    operator: str
    """As in `c10d::allreduce_`."""
    name: str
    """As in dumps."""
    group: int
    inputs: int
    outputs: int
    p2p: bool
    parts: tuple[int, ...]
    part_names: tuple[str, ...]

    def key(self, args: Sequence[Any]) -> Any:
        """Equal for calls that do the same on tensors of equal sizes and dtypes."""
        inputs, outputs = self.inputs, self.outputs
        if inputs == outputs:
            made = key(args[inputs]) if inputs >= 0 else args[0].device  # a barrier's tensor says only where
        elif inputs < 0 or outputs < 0:
            made = key(args[max(inputs, outputs)])
        else:
            made = key(args[inputs]), key(args[outputs])
        if not self.parts:
            return made
        return (made, *[args[i] if type(args[i]) is int else tuple(args[i]) for i in self.parts])


def operation(operator: str, arguments: Sequence[str]) -> Operation | None:
    """The operation with the named arguments; None where it has no process group and so concerns nobody else."""
    if "process_group" not in arguments:
        return None
    name = _NAMES.get(operator, operator.strip("_"))
    both = -1 if name == "barrier" else _position(arguments, ("tensors",))
    parts = tuple(a for a in arguments if a in _PARTS)
    return Operation(
        operator,
        name,
        arguments.index("process_group"),
        max(both, _position(arguments, _INPUTS)),
        max(both, _position(arguments, _OUTPUTS)),
        name in ("send", "recv"),
        tuple(arguments.index(a) for a in parts),
        parts,
    )


def _position(arguments: Sequence[str], names: Sequence[str]) -> int:
    return next((arguments.index(name) for name in names if name in arguments), -1)


def key(tensors: Any) -> Any:
    """Something hashable that is equal for tensors, or (lists of) lists of them, of equal sizes, dtypes and devices.

    And of one class: a tracer's FakeTensor of the same sizes is no call.
    """
    if type(tensors) is list:
        if len(tensors) != 1:
            return tuple([key(tensor) for tensor in tensors])
        tensors = tensors[0]
        if type(tensors) is list:
            return key(tensors)
    return tensors.shape, tensors.dtype, tensors.device, type(tensors)


def is_real(tensors: Any) -> bool:
    """False for the tensors of a tracer (FakeTensor) and those without data (`meta`), which no rank ever sends."""
    first = _first(tensors)
    return first is None or (type(first).__name__ != "FakeTensor" and first.device.type != "meta")


def _first(tensors: Any) -> Any:
    while isinstance(tensors, (list, tuple)):
        if not tensors:
            return None
        tensors = tensors[0]
    return tensors


def device(tensors: Any) -> str:
    """`cpu`, `cuda`: where the first tensor lies; empty where there is none."""
    first = _first(tensors)
    return "" if first is None else str(first.device.type)


def sizes(tensors: Any) -> tuple[list[list[int]], list[str]]:
    """Sizes and dtypes as torch's recorder writes them.

    A list of W equal tensors for one (all_gather, reduce_scatter, gather, scatter) is flattened into one of
    [W, *sizes]; otherwise torch's analyzer finds a mismatch.
    """
    if not isinstance(tensors, (list, tuple)):
        tensors = [tensors]
    if tensors and isinstance(tensors[0], (list, tuple)):
        lists = [list(inner) for inner in tensors]
        if all(inner and len({tuple(t.shape) for t in inner}) == 1 for inner in lists):
            flat = [[len(inner), *inner[0].shape] for inner in lists]
            return flat, [dtype(inner[0]) for inner in lists]
        tensors = [tensor for inner in lists for tensor in inner]
    return [list(t.shape) for t in tensors], [dtype(t) for t in tensors]


_DTYPES = {
    "float32": "Float",
    "float64": "Double",
    "float16": "Half",
    "bfloat16": "BFloat16",
    "int64": "Long",
    "int32": "Int",
    "int16": "Short",
    "int8": "Char",
    "uint8": "Byte",
    "bool": "Bool",
    "complex64": "ComplexFloat",
    "complex128": "ComplexDouble",
    "float8_e4m3fn": "Float8_e4m3fn",
    "float8_e5m2": "Float8_e5m2",
}


def dtype(tensor: Any) -> str:
    """The C++ name of a tensor's dtype, which dumps use: `Float` for torch.float32."""
    name = str(tensor.dtype).rpartition(".")[2]
    return _DTYPES.get(name, name)
