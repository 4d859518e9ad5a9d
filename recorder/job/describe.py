"""What a call does, as a number: at first sight it becomes the text that stands for it in dumps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from recorder.export import LIBRARIES
from recorder.job.groups import Group, library
from recorder.job.operations import Operation, device, is_real, sizes
from recorder.ring import Ring
from recorder.ringfile import SIGNATURE

_NATIVE = frozenset({"nccl", "ncclx", "rccl", "rcclx", "xccl", "hccl", "mccl"})
"""Back ends on devices whose calls torch records itself, with states that only it can see (CUDA events)."""


class Signature(NamedTuple):
    number: int
    """0 for a call that is left to torch's own recorder, or that only a tracer makes."""
    on_cpu: bool


class Signatures:
    """The signatures of one ring."""

    def __init__(self, ring: Ring) -> None:
        self._ring = ring
        self._known: dict[Any, Signature] = {}
        self._made = 0
        self._texts: dict[int, dict[str, Any]] = {}
        self.native_groups: set[str] = set()
        """Names of groups with calls that are left to torch's own recorder."""
        ring.on_renewal.append(self._keep)

    def of(self, operation: Operation, args: Sequence[Any], group: Group, pg: Any) -> Signature:
        made = operation.operator, group.number, operation.key(args)
        try:
            return self._known.get(made) or self._add(made, operation, args, group, pg)
        except TypeError:  # symbolic sizes have no hash: a tracer's
            return Signature(0, False)

    def name(self, number: int) -> str:
        """As in `all_reduce`, `send 0->1`."""
        text = self._texts.get(number)
        return str(text["name"]).partition(":")[2] if text else "a call"

    def with_source(self, number: int, source: int) -> int:
        """The signature of a receive from anyone, number `number`, once its sender is known; else `number`."""
        text = self._texts.get(number)
        if text is None or not text["name"].endswith("?"):
            return number
        made = ("from", number, source)
        if made not in self._known:
            self._known[made] = self._store({**text, "name": f"{text['name'][:-1]}{source}"}, True)
        return self._known[made].number

    def _add(self, made: Any, operation: Operation, args: Sequence[Any], group: Group, pg: Any) -> Signature:
        tensors = args[operation.inputs] if operation.inputs >= 0 else args[max(operation.outputs, 0)]
        where = device(tensors)
        backend, on_cpu = library(pg, where), where in ("cpu", "")
        if not is_real(tensors):
            signature = Signature(0, False)
        elif not on_cpu and backend in _NATIVE:
            self.native_groups.add(group.name)
            signature = Signature(0, False)
        else:
            signature = self._store(describe(operation, args, group, backend), on_cpu)
        self._known[made] = signature
        return signature

    def _keep(self, kept: dict[int, set[int]]) -> None:
        numbers = kept.get(SIGNATURE, set()) | {0}
        self._known = {made: known for made, known in self._known.items() if known.number in numbers}
        self._texts = {number: text for number, text in self._texts.items() if number in numbers}

    def _store(self, text: dict[str, Any], on_cpu: bool) -> Signature:
        self._made = number = self._made + 1
        if self._ring.text(SIGNATURE, number, text):
            self._texts[number] = text
        return Signature(number, on_cpu)


def describe(operation: Operation, args: Sequence[Any], group: Group, backend: str) -> dict[str, Any]:
    """The text of a signature, which `export` turns into the fields of an entry."""
    inputs, input_dtypes = sizes(args[operation.inputs]) if operation.inputs >= 0 else ([], [])
    outputs, output_dtypes = sizes(args[operation.outputs]) if operation.outputs >= 0 else ([], [])
    values = [args[i] for i in operation.parts]
    more = {n: v if isinstance(v, int) else list(v) for n, v in zip(operation.part_names, values)}
    name = f"{backend if backend in LIBRARIES else 'gloo'}:{operation.name}"
    if operation.operator == "send":
        name += f" {group.rank}->{more['dst']}"
    elif operation.p2p:
        name += f" {group.rank}<-{more.get('src', _only_source(group))}"
    return {
        "name": name,
        "inputs": inputs,
        "input_dtypes": input_dtypes,
        "outputs": outputs,
        "output_dtypes": output_dtypes,
        "more": more if backend in LIBRARIES else {**more, "backend": backend},
    }


def _only_source(group: Group) -> str:
    return str(1 - group.rank) if len(group.ranks) == 2 else "?"
