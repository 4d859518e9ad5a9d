"""Every kind of fault by name."""

from __future__ import annotations

from tests.faults import inject, inject_p2p, upsets

FAULTS: dict[str, inject.Injector] = {
    "skip": inject.skip,
    "extra": inject.extra,
    "extra_alike": inject.extra_alike,
    "size": inject.size,
    "dtype": inject.dtype,
    "op": inject.op_type,
    "swap": inject.swap,
    "abba": inject.abba,
    "idle": upsets.idle,
    "dead": upsets.dead,
    "stall": upsets.stall,
    "straggler": upsets.straggler,
    "split": inject.split,
    "p2p_missing": inject_p2p.p2p_missing,
    "p2p_size": inject_p2p.p2p_size,
    "both_send": inject_p2p.both_send,
    "membership": upsets.membership,
    "stale": upsets.stale,
    "multi": upsets.multi,
}
