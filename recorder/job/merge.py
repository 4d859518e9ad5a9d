"""Our ring and torch's own buffer as one dump, for jobs with NCCL, whose states only torch can see (CUDA events).

No GPU was at hand to run this against NCCL; what it does with the two dumps is tested, what NCCL gives is not.
"""

from __future__ import annotations

from typing import Any

from recorder import native


def merged(ours: dict[str, Any], only_active: bool, with_stacks: bool, entries: bool) -> dict[str, Any]:
    """`ours`, with the calls that torch's own recorder keeps of the groups we leave to it (NCCL and its kin).

    Groups are matched by name, calls are ordered by time and numbered anew. Where torch's recorder is off, `ours`
    says so under `recorder`.
    """
    try:
        theirs = native.fetch(
            _source(), include_collectives=entries, include_stack_traces=with_stacks, only_active=only_active
        )
    except (RuntimeError, ValueError) as error:
        ours["recorder"]["native"] = f"nothing of torch's own recorder: {error}"
        return ours
    ours["recorder"]["native"] = f"{len(theirs.get('entries', ()))} calls are from torch's own recorder"
    return combined(ours, theirs)


def combined(ours: dict[str, Any], theirs: dict[str, Any]) -> dict[str, Any]:
    """Both dumps as one. What stands in ours only (threads, reasons) stays."""
    if not ours["entries"]:
        return {
            **ours,
            **theirs,
            "recorder": ours["recorder"],
            "pg_config": {**ours["pg_config"], **theirs["pg_config"]},
        }
    # torch's `pg_id`s count its own groups: they move behind ours.
    shift = 1 + max(map(int, ours["pg_status"]), default=-1)
    moved = [{**entry, "pg_id": entry["pg_id"] + shift} for entry in theirs.get("entries", ())]
    both = sorted([*ours["entries"], *moved], key=lambda entry: int(entry["time_created_ns"]))
    ours["entries"] = [{**entry, "record_id": number} for number, entry in enumerate(both)]
    ours["pg_config"] = {**theirs["pg_config"], **ours["pg_config"]}
    status = {str(int(number) + shift): status for number, status in theirs.get("pg_status", {}).items()}
    ours["pg_status"] = {**ours["pg_status"], **status}
    return ours


def _source() -> str:
    """Not gloo's buffer, whose calls are ours already. Raises RuntimeError when there is no other."""
    sources = [source for source in native.available() if source != "gloo"]
    if not sources:
        raise native.Unavailable("this torch has none for the device's back end")
    return sources[0]
