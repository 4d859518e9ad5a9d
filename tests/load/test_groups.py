"""Process groups from what the ranks say of them."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from frtui.load import load
from frtui.model import Job, Status
from tests.dumps import DEFAULT, dump, entry, write

TP = ("1", "tp")


def digest(text: str) -> str:
    return hashlib.sha1(text.encode()).hexdigest()


def job_of(tmp_path: Path, ranks: dict[int, Any], **options: Any) -> Job:
    return load(write(tmp_path, ranks, **options))


def groups(job: Job) -> set[tuple[str, str, tuple[int, ...], bool]]:
    return {(g.name, g.desc, g.ranks, g.rebuilt) for g in job.groups}


def group_of(job: Job, rank: int, row: int = 0) -> tuple[int, ...]:
    return job.groups[job.ranks[rank].entries.group[row]].ranks


def test_peers_of_p2p_are_local_to_the_group(tmp_path: Path) -> None:
    config = {DEFAULT: range(8), ("2", "pp"): [4, 5, 6, 7]}
    rows = [entry(0, "recv 1<-0", p2p_seq=1, group=("2", "pp"))]
    job = job_of(tmp_path, {5: dump(rows, pg_config=config)})
    call = job.call(5, 0)
    assert job.endpoints(call.group, call.signature) == (4, 5)


def test_a_group_missing_from_one_config_is_found_in_the_others(tmp_path: Path) -> None:
    send = dump([entry(0, "send 0->1", p2p_seq=1, group=TP)], pg_config={TP: [2, 3]})
    recv = dump([entry(0, "recv 1<-0", p2p_seq=1, group=TP)], pg_config={DEFAULT: [0, 1, 2, 3]})
    job = job_of(tmp_path, {2: send, 3: recv})
    assert group_of(job, 2) == group_of(job, 3) == (2, 3)
    call = job.call(3, 0)
    assert job.endpoints(call.group, call.signature) == (2, 3)
    assert not job.groups[call.group].rebuilt


def test_one_name_for_disjoint_members_is_two_groups(tmp_path: Path) -> None:
    ranks = {r: dump([entry(1, group=TP)], pg_config={TP: [r // 2 * 2, r // 2 * 2 + 1]}) for r in range(4)}
    job = job_of(tmp_path, ranks)
    assert groups(job) == {("1", "tp", (0, 1), False), ("1", "tp", (2, 3), False)}
    assert [group_of(job, rank) for rank in range(4)] == [(0, 1), (0, 1), (2, 3), (2, 3)]


def test_a_disagreement_on_members_is_one_group(tmp_path: Path) -> None:
    config = {0: [0, 1, 2, 3], 1: [0, 1, 2, 3], 2: [0, 1, 2], 3: [0, 1, 2, 3]}
    job = job_of(tmp_path, {r: dump([entry(1, group=TP)], pg_config={TP: m}) for r, m in config.items()})
    assert groups(job) == {("1", "tp", (0, 1, 2, 3), False)}
    assert {rank: r.config[0] for rank, r in job.ranks.items()} == {r: tuple(m) for r, m in config.items()}


def test_a_tie_on_members_is_everybody(tmp_path: Path) -> None:
    config = {0: [0], 1: [0, 1]}
    job = job_of(tmp_path, {r: dump([entry(1, group=TP)], pg_config={TP: m}) for r, m in config.items()})
    assert groups(job) == {("1", "tp", (0, 1), False)}


def test_one_wrong_config_does_not_join_two_groups(tmp_path: Path) -> None:
    config = {1: [1, 2, 3], 2: [1, 2, 3], 3: [0, 3, 4], 4: [4, 5, 6], 5: [4, 5, 6], 6: [4, 5, 6]}
    job = job_of(tmp_path, {r: dump([entry(1, group=TP)], pg_config={TP: m}) for r, m in config.items()})
    assert [group_of(job, rank) for rank in config] == [(1, 2, 3)] * 3 + [(4, 5, 6)] * 3


def test_a_description_on_one_side_only(tmp_path: Path) -> None:
    ranks = {0: dump([], pg_config={("1", ""): [0, 1]}), 1: dump([entry(1, group=TP)], pg_config={TP: [0, 1]})}
    assert groups(job_of(tmp_path, ranks)) == {("1", "tp", (0, 1), False)}


def test_hash_names_that_differ_by_rank_are_one_communicator(tmp_path: Path) -> None:
    names = {rank: (digest(f"tp {rank}"), "mesh_tp") for rank in (0, 1)}
    ranks = {r: dump([entry(1, group=name)], pg_config={name: [0, 1]}) for r, name in names.items()}
    job = job_of(tmp_path, ranks)
    assert len(job.groups) == 1
    assert group_of(job, 0) == group_of(job, 1) == (0, 1)


def test_two_hash_names_of_one_rank_are_two_communicators(tmp_path: Path) -> None:
    config = {(digest("a"), "mesh_tp"): [0, 1], (digest("b"), "mesh_tp"): [0, 1]}
    assert len(job_of(tmp_path, {r: dump([entry(1)], pg_config=config) for r in (0, 1)}).groups) == 3


def test_hash_names_with_other_members_stay_apart(tmp_path: Path) -> None:
    ranks = {r: dump([], pg_config={(digest(str(r)), "mesh_tp"): [r, r + 4]}) for r in (0, 1)}
    assert {g.ranks for g in job_of(tmp_path, ranks).groups} == {(0, 4), (1, 5)}


def test_gloo_writes_no_config_of_use(tmp_path: Path) -> None:
    ranks = {}
    for rank in (0, 1, 3):
        tp = (str(3 + rank // 2), "tp")
        raw = dump([entry(1, backend="gloo"), entry(1, backend="gloo", group=tp)])
        raw["pg_config"] = {"": {"name": "", "desc": "", "ranks": "[]" if rank else "[0, 1]"}}
        ranks[rank] = raw
    job = job_of(tmp_path, ranks)
    assert groups(job) == {
        ("0", "default_pg", (0, 1, 2, 3), True),
        ("3", "tp", (0, 1), True),
        ("4", "tp", (3,), True),
    }
    assert job.missing == (2,)


def test_a_rebuilt_default_group_does_not_reach_for_far_ranks(tmp_path: Path) -> None:
    job = job_of(tmp_path, {rank: dump([entry(1)]) for rank in (0, 1, 2_000_000_000)})
    assert groups(job) == {("0", "default_pg", (0, 1, 2_000_000_000), True)}


def test_numbers_of_version_1_4_are_matched_by_members(tmp_path: Path) -> None:
    """pg_ids count the groups of one process: on rank 2 the pair is its first, on rank 1 its second."""
    a, b, pair = ("1", ""), ("2", ""), ("2", "x")
    one = dump([entry(5, group=pair)], version="1.4", pg_config={DEFAULT: range(3), a: [0, 1], pair: [1, 2]})
    two = dump([entry(5, group=b)], version="1.4", pg_config={DEFAULT: range(3), b: [1, 2]})
    assert (one["entries"][0]["pg_id"], two["entries"][0]["pg_id"]) == (2, 1)
    job = job_of(tmp_path, {1: one, 2: two})
    assert group_of(job, 1) == group_of(job, 2) == (1, 2)
    assert job.ranks[1].entries.group[0] == job.ranks[2].entries.group[0]
    assert {g.ranks for g in job.groups} == {(0, 1, 2), (0, 1), (1, 2)}


def test_status_follows_the_entries(tmp_path: Path) -> None:
    """pg_id is local: here the order of the names is not the order of making."""
    rows = [entry(4, pg_id=0), entry(9, group=("7", "dp"), pg_id=1), entry(3, group=TP, pg_id=2)]
    config = {DEFAULT: [0, 1], TP: [0, 1], ("7", "dp"): [0, 1]}
    status = {0: (4, 4, 3), 1: (9, -1, 9), 2: (3, -1, 2)}
    job = job_of(tmp_path, {0: dump(rows, pg_config=config, pg_status=status)})
    by_name = {job.groups[g].name: s for g, s in job.ranks[0].status.items()}
    assert by_name == {"0": Status(4, 4, 3), "7": Status(9, -1, 9), "1": Status(3, -1, 2)}


def test_status_without_entries_goes_by_order_or_stays_out(tmp_path: Path) -> None:
    config = {DEFAULT: [0, 1], ("12", "pp"): [0, 1], ("3", "tp"): [0, 1]}
    status = {0: (4, -1, 4), 1: (30, -1, 30), 2: (120, -1, 119)}
    job = job_of(tmp_path, {0: dump([], pg_config=config, pg_status=status)})
    by_name = {job.groups[g].name: s for g, s in job.ranks[0].status.items()}
    assert by_name == {"0": Status(4, -1, 4), "3": Status(30, -1, 30), "12": Status(120, -1, 119)}
    lazy = dump([], pg_config={DEFAULT: [0, 1], TP: [0, 1]}, pg_status=status)
    (known,) = job_of(tmp_path / "lazy", {0: lazy}).ranks[0].status.items()
    assert known == (0, Status(4, -1, 4))


def test_status_by_order_must_agree_with_the_entries(tmp_path: Path) -> None:
    config = {DEFAULT: [0, 1], ("3", "tp"): [0, 1], ("12", "pp"): [0, 1], ("20", "dp"): [0, 1]}
    rows = [entry(9, group=("12", "pp"), pg_id=1)]
    status = {0: (4, -1, 4), 1: (9, -1, 9), 2: (7, -1, 7), 3: (8, -1, 8)}
    job = job_of(tmp_path, {0: dump(rows, pg_config=config, pg_status=status)})
    by_name = {job.groups[g].name: s for g, s in job.ranks[0].status.items()}
    assert by_name == {"0": Status(4, -1, 4), "12": Status(9, -1, 9)}


def test_an_idle_rank_of_gloo_keeps_the_status_of_the_default_group(tmp_path: Path) -> None:
    ranks = {0: dump([entry(1, backend="gloo")]), 1: dump([], pg_status={0: (5, -1, 5)})}
    assert job_of(tmp_path, ranks).ranks[1].status == {0: Status(5, -1, 5)}


def test_ranks_as_a_list(tmp_path: Path) -> None:
    raw = dump([entry(1)], pg_config={DEFAULT: [0, 1]})
    raw["pg_config"]["0"]["ranks"] = [0, 1]
    assert job_of(tmp_path, {0: raw}).groups[0].ranks == (0, 1)


def test_replicas_that_number_their_ranks_from_0(tmp_path: Path) -> None:  # torchft, pytorch #166182
    pair = {0: ("1", "tp"), 1: ("1", "tp"), 2: ("1", "tp"), 3: ("1", "tp")}
    ranks = {
        r: dump([entry(1), entry(1, group=pair[r])], pg_config={DEFAULT: [0, 1], pair[r]: [0, 1]}) for r in range(4)
    }
    job = job_of(tmp_path, ranks)
    assert groups(job) == {(*name, members, False) for name in (DEFAULT, TP) for members in ((0, 1), (2, 3))}
    assert [group_of(job, r) for r in range(4)] == [(0, 1), (0, 1), (2, 3), (2, 3)]


def test_one_rank_outside_the_members_it_claims_is_no_replica(tmp_path: Path) -> None:
    claims = {0: [0, 1, 2], 1: [0, 1, 2], 2: [0, 1]}
    job = job_of(tmp_path, {r: dump([entry(1)], pg_config={DEFAULT: members}) for r, members in claims.items()})
    assert [g.ranks for g in job.groups] == [(0, 1, 2)]
