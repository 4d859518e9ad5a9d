"""What a rank answers when it is asked through its socket."""

from __future__ import annotations

import json
import pickle
from collections.abc import Mapping
from typing import Any

from recorder import native, stacks
from recorder.job.session import Session


def reply(session: Session, request: Mapping[str, Any]) -> bytes:
    """`dump`: writes the file and says where; `trace`: the dump itself; `native`: torch's own; `stacks`: JSON.

    The last three write nothing. An answer that begins with `error:` says why there is none.
    """
    command = request.get("command")
    switches: dict[str, Any] = {key: bool(request.get(key, default)) for key, default in _SWITCHES.items()}
    try:
        if command == "dump":
            return (
                session.dump("asked by `recorder dump`", tell=False, demanded=True) or "error: see its stderr"
            ).encode()
        if command == "stacks":
            return json.dumps(stacks.threads()).encode()
        if command == "native":
            return pickle.dumps(native.fetch(**switches), 2)
        if command == "trace":
            return pickle.dumps(session.fetch(**switches), 2)
    except Exception as error:
        return f"error: {type(error).__name__}: {error}".encode()
    return b"error: unknown command"


_SWITCHES = {"include_collectives": True, "include_stack_traces": True, "only_active": False}
