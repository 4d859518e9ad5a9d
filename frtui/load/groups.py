"""Which process groups a job has, from what each rank says about them.

A rank's `pg_config` lists only groups whose communicator it made, gloo's is useless, names may be hashes that
differ between ranks, and two groups may have one name. So the groups are put together from all ranks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from frtui.load.config import GroupName
from frtui.load.normalise import Dump
from frtui.model import Group
from frtui.text import ranges

Members = tuple[int, ...]
_HASH_LENGTH = 40


class Claim(NamedTuple):
    """What one rank's `pg_config` says of one group."""

    rank: int
    name: str
    desc: str
    members: Members


class Groups:
    """The groups of a job, and which of them each rank means by a name."""

    def __init__(self, dumps: Mapping[int, Dump]) -> None:
        self.table: list[Group] = []
        self.config: dict[int, dict[int, Members]] = {rank: {} for rank in dumps}
        """By rank, by index into `table`: the members as this rank gives them."""
        self._meant: dict[tuple[int, str], int] = {}
        """(rank, name) -> index into `table`."""
        claims = [Claim(rank, name, desc, m) for rank, d in dumps.items() for (name, desc), m in d.config.items()]
        renamed = _by_members(dumps)
        claims = [claim._replace(name=renamed.get((claim.rank, claim.name), claim.name)) for claim in claims]
        self._from_claims(_as_global(claims, _replica_size(claims)))
        self._meant.update({(rank, old): self._meant[rank, new] for (rank, old), new in renamed.items()})
        self._from_entries(dumps)

    def index(self, rank: int, name: str) -> int:
        """The group that `rank` calls `name` in its entries."""
        return self._meant[rank, name]

    def default(self, rank: int) -> int | None:
        """The default group of `rank`, whether it used it or not."""
        found = (i for i, g in enumerate(self.table) if (g.desc == "default_pg" or g.name == "0") and rank in g.ranks)
        return next(found, None)

    def _from_claims(self, claims: Iterable[Claim]) -> None:
        by_name: dict[str, list[Claim]] = {}
        for claim in claims:
            by_name.setdefault(claim.name, []).append(claim)
        clusters = [cluster for same in by_name.values() for cluster in _clusters(same)]
        for names in _same_communicator(clusters):
            index = len(self.table)
            self.table.append(_agreed(names))
            for claim in names:
                self._meant[claim.rank, claim.name] = index
                self.config[claim.rank][index] = claim.members

    def _from_entries(self, dumps: Mapping[int, Dump]) -> None:
        """Groups that ranks use without having them in their own `pg_config`."""
        known: dict[str, list[int]] = {}
        for index, group in enumerate(self.table):
            known.setdefault(group.name, []).append(index)
        lost: dict[GroupName, set[int]] = {}
        for rank, dump in dumps.items():
            for name, desc in dump.names:
                if (rank, name) in self._meant:
                    continue
                index = next((i for i in known.get(name, ()) if rank in self.table[i].ranks), -1)
                if index >= 0:
                    self._meant[rank, name] = index
                else:
                    lost.setdefault((name, desc), set()).add(rank)
        described = {name: (name, desc) for name, desc in reversed(list(lost)) if desc}
        for name, desc in list(lost):
            if not desc and name in described:
                lost[described[name]] |= lost.pop((name, desc))
        everybody = _world(set(dumps).union(*(group.ranks for group in self.table))) if lost else set()
        for (name, desc), users in lost.items():
            self._rebuild(name, desc, users, everybody)

    def _rebuild(self, name: str, desc: str, users: set[int], everybody: set[int]) -> None:
        members = everybody if desc == "default_pg" or (name == "0" and not desc) else users
        for rank in users:
            self._meant[rank, name] = len(self.table)
        self.table.append(Group(name, desc, tuple(sorted(members)), rebuilt=True))


def _replica_size(claims: list[Claim]) -> int:
    """Ranks of one replica, where replicas number their ranks from 0 (torchft); 0 where nothing says so.

    Then ranks beyond the default group's members claim to be in it (pytorch #166182).
    """
    default = [claim for claim in claims if claim.desc == "default_pg" or (claim.name == "0" and not claim.desc)]
    sizes = {len(claim.members) for claim in default if claim.members == tuple(range(len(claim.members)))}
    outside = any(claim.rank not in claim.members for claim in default)
    return sizes.pop() if outside and len(sizes) == 1 and len(default) > 2 and _all_alike(default) else 0


def _all_alike(claims: list[Claim]) -> bool:
    return len({claim.members for claim in claims}) == 1


def _as_global(claims: list[Claim], size: int) -> list[Claim]:
    """The claims with the members of every replica as global ranks."""
    if not size:
        return claims
    moved = []
    for claim in claims:
        first = claim.rank // size * size
        own = claim.rank not in claim.members and claim.rank - first in claim.members
        moved.append(claim._replace(members=tuple(m + first for m in claim.members)) if own else claim)
    return moved


def _world(ranks: set[int]) -> set[int]:
    """The ranks of a job of which some left no dump: gaps are filled unless most of it would be gaps."""
    low, high = min(ranks), max(ranks)
    return set(range(low, high + 1)) if high - low < 2 * len(ranks) else ranks


def _clusters(claims: list[Claim]) -> list[list[Claim]]:
    """Claims on one name, split into groups: disjoint lists are two groups, overlapping ones a disagreement.

    Lists that most of their own members give come first, so that one rank's wrong list doesn't join two groups.
    """
    votes = Counter(claim.members for claim in claims if claim.rank in claim.members)
    lists = sorted({c.members for c in claims}, key=lambda m: (-votes[m], -len(m), m))
    led: dict[int, int] = {}
    """Rank -> the cluster whose first list it is in. Those lists are disjoint."""
    owner: dict[Members, int] = {}
    count = 0
    for members in lists:
        shared = Counter(led[member] for member in members if member in led)
        if shared:
            owner[members] = min(shared, key=lambda n: (-shared[n], n))
        else:
            owner[members], count = count, count + 1
            led.update(dict.fromkeys(members, owner[members]))
    clusters: list[list[Claim]] = [[] for _ in range(count)]
    for claim in claims:
        home = led.get(claim.rank, owner[claim.members])
        meets = any(led.get(member) == home for member in claim.members)
        clusters[home if meets else owner[claim.members]].append(claim)
    return [cluster for cluster in clusters if cluster]


def _agreed(claims: list[Claim]) -> Group:
    """The group that most of its members describe; where two lists tie, everybody in either."""
    votes = Counter(claim.members for claim in claims if claim.rank in claim.members) or Counter(
        c.members for c in claims
    )
    top = max(votes.values())
    best = [members for members, count in votes.items() if count == top]
    members = best[0] if len(best) == 1 else tuple(sorted(set().union(*best)))
    descs = Counter(claim.desc for claim in claims if claim.desc)
    return Group(claims[0].name, descs.most_common(1)[0][0] if descs else "", members)


def _same_communicator(clusters: list[list[Claim]]) -> list[list[Claim]]:
    """Join what is one communicator under names that are hashes and differ by rank (pytorch #190431).

    Only where description and members are equal and no rank has both names.
    """
    joined: list[list[Claim]] = []
    by_content: dict[tuple[str, Members], _Namesakes] = {}
    for cluster in clusters:
        first = cluster[0]
        hashed = len(first.name) >= _HASH_LENGTH and bool(first.desc) and len({c.members for c in cluster}) == 1
        if not hashed or by_content.setdefault((first.desc, first.members), _Namesakes()).add(cluster):
            joined.append(cluster)
    return joined


class _Namesakes:
    """Communicators of one description and the same members, which differ in the hashes that are their names."""

    def __init__(self) -> None:
        self._clusters: list[list[Claim]] = []
        self._ranks: list[set[int]] = []
        self._free: dict[int, int] = {}
        """By rank: the first of them that it may not be in yet. One rank alone may have thousands."""

    def add(self, cluster: list[Claim]) -> bool:
        """Join it to the first that has none of its ranks; True where there is none, and it is one more."""
        ranks = {claim.rank for claim in cluster}
        at = max(self._free.get(rank, 0) for rank in ranks)
        while at < len(self._ranks) and not ranks.isdisjoint(self._ranks[at]):
            at += 1
        new = at == len(self._ranks)
        if new:
            self._clusters.append(cluster)
            self._ranks.append(set())
        else:
            self._clusters[at] += cluster
        self._ranks[at] |= ranks
        for rank in ranks:
            self._free[rank] = self._first_without(rank)
        return new

    def _first_without(self, rank: int) -> int:
        at = self._free.get(rank, 0)
        while at < len(self._ranks) and rank in self._ranks[at]:
            at += 1
        return at


def _by_members(dumps: Mapping[int, Dump]) -> dict[tuple[int, str], str]:
    """Names for the groups of version 1.4, which are counters of each process: equal members, equal name.

    A rank may have several groups of the same members; they match in the order in which they were made.
    """
    names: dict[tuple[Members, int], str] = {}
    taken: dict[str, Members] = {}
    renamed: dict[tuple[int, str], str] = {}
    for rank, dump in dumps.items():
        if not dump.by_id:
            continue
        nth: Counter[Members] = Counter()
        for (name, _), members in sorted(dump.config.items(), key=lambda item: _number(item[0])):
            key = members, nth[members]
            nth[members] += 1
            if key not in names:
                names[key] = name if taken.setdefault(name, members) == members else f"{name}: {ranges(members)}"
            renamed[rank, name] = names[key]
    return renamed


def _number(group: GroupName) -> int:
    return int(group[0]) if group[0].isdecimal() and len(group[0]) < 19 else -1
