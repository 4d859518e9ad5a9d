"""What is put right in torch's dumps, and that nothing is made up."""

from __future__ import annotations

from typing import Any

from recorder.native.repair import repaired

WORLD = {"name": "0", "desc": "default_pg", "ranks": "[0, 1]"}


def entry(name: str, desc: str, seq: int = 1, **more: Any) -> dict[str, Any]:
    return {"process_group": (name, desc), "pg_id": int(name), "collective_seq_id": seq, "is_p2p": False, **more}


def dump(config: dict[Any, Any], *entries: dict[str, Any]) -> dict[str, Any]:
    return {"version": "2.10", "pg_config": config, "pg_status": {"0": {}}, "entries": list(entries)}


def test_a_group_without_a_name_goes_and_the_named_ones_come() -> None:
    fixed = repaired(dump({"": {"name": "", "desc": "", "ranks": "[1]"}}, entry("0", "default_pg")), [WORLD])
    assert fixed["pg_config"] == {"0": WORLD}


def test_a_group_that_the_entries_call_by_an_empty_name_stays() -> None:
    said = {"": {"name": "", "desc": "", "ranks": "[0]"}}
    assert repaired(dump(said, {"process_group": ("", "")}), [])["pg_config"] == said


def test_what_the_dump_says_is_not_replaced() -> None:
    said = {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1, 2]"}}
    assert repaired(dump(said, entry("0", "default_pg")), [WORLD])["pg_config"] == said


def test_ranks_that_the_dump_lacks_are_filled_in_and_lists_become_text() -> None:
    said = {"0": {"name": "0", "desc": "", "ranks": "[]"}, "1": {"name": "1", "desc": "tp", "ranks": [0, 1]}}
    fixed = repaired(dump(said), [{**WORLD, "ranks": [0, 1]}])
    assert fixed["pg_config"] == {"0": WORLD, "1": {"name": "1", "desc": "tp", "ranks": "[0, 1]"}}


def test_a_group_that_nobody_knows_has_unknown_ranks() -> None:
    fixed = repaired(dump({}, entry("7", "gone")), [WORLD])
    assert fixed["pg_config"] == {"0": WORLD, "7": {"name": "7", "desc": "gone", "ranks": "[]"}}


def test_a_missing_status_is_counted_from_the_entries_but_not_from_a_part_of_them() -> None:
    calls = [
        entry("0", "default_pg", 1, state="completed"),
        entry("0", "default_pg", 2, state="started"),
        entry("0", "default_pg", 3, state="scheduled"),
        entry("0", "default_pg", 9, state="scheduled") | {"is_p2p": True},
        entry("1", "tp", 4, state="scheduled", retired=True),
    ]
    bare = {**dump({}, *calls), "pg_status": {}}
    words = ("last_enqueued_collective", "last_started_collective", "last_completed_collective")
    assert repaired(bare, [])["pg_status"] == {"0": dict(zip(words, (3, 2, 1))), "1": dict(zip(words, (4, -1, 4)))}
    assert repaired(bare, [], whole=False)["pg_status"] == {}
    assert repaired(dump({}, *calls), [])["pg_status"] == {"0": {}}


def test_the_dump_itself_is_left_as_it_is() -> None:
    said: dict[Any, Any] = {}
    raw = {"entries": [entry("0", "default_pg")], "version": "2.10", "pg_config": said}
    repaired(raw, [WORLD])
    assert said == {}
    assert list(raw) == ["entries", "version", "pg_config"]
