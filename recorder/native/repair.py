"""What torch's own dumps leave out or get wrong, put right from what torch knows elsewhere in the process.

The native dump of gloo has one group in `pg_config`, under the name '', while its entries name ('0', 'default_pg'):
torch's analyzer stops at that with KeyError ('0', 0) (run with torch 2.13 and 2.14). NCCL's has no group whose
communicator was not needed yet. Nothing is made up here: of a group that torch no longer knows, and that the dump
doesn't describe, only what the entries say is written, and its ranks are `[]`, torch's own spelling of unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from recorder.export import status

Group = Mapping[str, Any]
"""`name`, `desc` and `ranks`, a list of them or, as torch writes it, its text: "[0, 1]"."""


def repaired(dump: Mapping[str, Any], groups: Iterable[Group], whole: bool = True) -> dict[str, Any]:
    """A copy of `dump` with `pg_config` completed from `groups`, and `pg_status` from the entries where it is missing.

    `whole` is False when finished calls were left out of the dump: then the entries don't say what was completed.
    """
    entries = dump.get("entries", [])
    fixed = dict(dump)
    fixed["pg_config"] = config(dump.get("pg_config", {}), entries, groups)
    if whole and entries and not dump.get("pg_status"):
        fixed["pg_status"] = status(entries)
    return fixed


def config(said: Mapping[Any, Any], entries: Iterable[Mapping[str, Any]], groups: Iterable[Group]) -> dict[str, Any]:
    """`pg_config` in which each group of `groups` and of the entries has its name.

    The dump goes first: a name that torch uses again, for another group, may stand for the old one in the entries.
    """
    named = {str(name): str(desc) for name, desc in (e["process_group"] for e in entries if "process_group" in e)}
    merged = {str(key): _group(str(key), value) for key, value in said.items() if key != "" or "" in named}
    for known in groups:
        group = _group(str(known["name"]), known)
        there = merged.setdefault(group["name"], group)
        there.update({key: group[key] for key in ("desc", "ranks") if there[key] in ("", "[]")})
    for name, desc in named.items():
        there = merged.setdefault(name, {"name": name, "desc": desc, "ranks": "[]"})
        there["desc"] = there["desc"] or desc
    return merged


def _group(name: str, value: Any) -> dict[str, str]:
    found = value if isinstance(value, Mapping) else {"ranks": value}
    return {"name": name, "desc": str(found.get("desc", "")), "ranks": str(found.get("ranks", "[]"))}
