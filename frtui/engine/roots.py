"""Roots of the wait-for graph: the parts that nothing leaves, each an independent cause."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

from frtui.engine.finding import Wait
from frtui.engine.waits import Node, StuckCall, Waits


@dataclass(frozen=True)
class Root:
    """One strongly connected part of the graph that nothing leaves: an independent cause."""

    ranks: tuple[int, ...]
    calls: tuple[StuckCall, ...]
    waiting: tuple[int, ...]
    """Ranks that reach it, without its own."""
    via: tuple[tuple[int, int], ...]
    """(waiting rank, the rank it waits for on its shortest way to the root)."""
    waits: tuple[Wait, ...] = ()
    """The call that each rank on the way is stuck in, those of the root itself first."""

    @property
    def idle(self) -> bool:
        return not self.calls


def roots(waits: Waits) -> list[Root]:
    """The roots that somebody is stuck in or waits for."""
    components = _components(waits.edges)
    member = {node: n for n, component in enumerate(components) for node in component}
    leaving = {member[a] for a, targets in waits.edges.items() for b in targets if member[a] != member[b]}
    backwards: dict[Node, list[Node]] = {}
    for a, targets in waits.edges.items():
        for b in targets:
            backwards.setdefault(b, []).append(a)
    found = []
    for n, component in enumerate(components):
        if n not in leaving and any(node in backwards for node in component):
            found.append(_root(waits, component, backwards))
    return found


def in_call(waits: Waits, call: StuckCall, ranks: Iterable[int], on: tuple[int, ...]) -> list[Wait]:
    """The waits of those of `ranks` that are stuck in a call, on those ranks that keep it from finishing."""
    stuck = (rank for rank in sorted(ranks) if call in waits.edges.get(rank, ()))
    return [Wait(rank, row, on) for rank in stuck if (row := waits.row(rank, call)) is not None]


def _root(waits: Waits, component: list[Node], backwards: dict[Node, list[Node]]) -> Root:
    ranks = {node for node in component if isinstance(node, int)}
    calls = sorted(node for node in component if isinstance(node, StuckCall))
    if not ranks:  # a call in flight: the ranks that are in it are not its consequences
        ranks = {node for call in calls for node in backwards[call] if isinstance(node, int)}
    seen: set[Node] = set(component) | ranks
    queue: deque[tuple[Node, int | None]] = deque((node, node if isinstance(node, int) else None) for node in seen)
    waiting, via = [], []
    held_by = {call: tuple(sorted(n for n in waits.edges[call] if isinstance(n, int) and n in ranks)) for call in calls}
    stuck = [wait for call in calls for wait in in_call(waits, call, ranks, held_by[call])]
    while queue:
        node, towards = queue.popleft()
        for before in backwards.get(node, ()):
            if before in seen:
                continue
            seen.add(before)
            if isinstance(before, int) and isinstance(node, StuckCall):
                waiting.append(before)
                if towards is not None:
                    via.append((before, towards))
                stuck += in_call(waits, node, (before,), held_by[node] if towards is None else (towards,))
            queue.append((before, before if isinstance(before, int) else towards))
    return Root(tuple(sorted(ranks)), tuple(calls), tuple(sorted(waiting)), tuple(sorted(via)), tuple(stuck))


def _components(edges: dict[Node, list[Node]]) -> list[list[Node]]:
    """Strongly connected components (Tarjan), without recursion: chains are as long as the job is wide."""
    index: dict[Node, int] = {}
    low: dict[Node, int] = {}
    stack: list[Node] = []
    on_stack: set[Node] = set()
    found: list[list[Node]] = []
    for start in edges:
        if start in index:
            continue
        work = [(start, iter(edges[start]))]
        index[start] = low[start] = len(index)
        stack.append(start)
        on_stack.add(start)
        while work:
            node, targets = work[-1]
            step = next(targets, None)
            if step is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    component: list[Node] = []
                    while not component or component[-1] != node:
                        component.append(stack.pop())
                        on_stack.discard(component[-1])
                    found.append(component)
            elif step not in index:
                index[step] = low[step] = len(index)
                stack.append(step)
                on_stack.add(step)
                work.append((step, iter(edges.get(step, ()))))
            elif step in on_stack:
                low[node] = min(low[node], index[step])
    return found
