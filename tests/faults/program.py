"""What a job does, before anything goes wrong: process groups, and the calls of each rank in program order."""

from __future__ import annotations

from dataclasses import dataclass, field

Site = tuple[str, int]
Shapes = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Group:
    name: str
    desc: str
    ranks: tuple[int, ...]


@dataclass(frozen=True)
class Op:
    """One call of one rank."""

    group: int
    """Index into the groups of the plan; 0 is the whole world."""
    op: str
    site: Site
    inputs: Shapes = ()
    outputs: Shapes = ()
    dtype: str = "Float"
    peer: int = -1
    """Global rank of the other side of a send or recv."""
    sends: tuple[int, ...] = ()
    """all_to_all: elements for each member; not recorded, but the wire needs them to fit."""
    takes: tuple[int, ...] = ()
    overlap: bool = False
    """Runs beside the later calls of other groups; others make the device wait."""
    joins: bool = False
    """The device starts it only when all that was made before has finished, overlapped calls included."""
    host_waits: bool = False
    """The host goes on only when it has finished: `.item()`, a synchronising barrier."""
    parts: tuple[Op, ...] = ()
    """Sends and recvs of one batch."""

    @property
    def p2p(self) -> bool:
        return self.op in ("send", "recv", "batch")


@dataclass
class Plan:
    """The programs of all ranks."""

    layout: str
    groups: list[Group]
    programs: list[list[Op]] = field(default_factory=list)
    """By rank."""

    @property
    def world(self) -> int:
        return len(self.programs)

    def siblings(self, group: int) -> list[int]:
        """Other groups of the same description and size."""
        one = self.groups[group]
        return [
            n for n, g in enumerate(self.groups) if n != group and (g.desc, len(g.ranks)) == (one.desc, len(one.ranks))
        ]

    def seq(self, rank: int, index: int) -> int:
        """Sequence number, as torch counts, of a call of a program: per group, collectives and p2p apart."""
        here = self.programs[rank][index]
        return sum(o.group == here.group and o.p2p == here.p2p for o in self.programs[rank][: index + 1])
