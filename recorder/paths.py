"""Names of what lies beside the dumps, in their sub-folder `recorder`.

None ends in a digit or holds the prefix of the dumps: torch's analyzer would take it for one.
"""

from __future__ import annotations

import os


def ring_path(folder: str, rank: int) -> str:
    return os.path.join(folder, f"ring.r{rank}.frr")


def fault_path(folder: str, rank: int) -> str:
    return os.path.join(folder, f"fault.r{rank}.log")


def socket_path(folder: str, rank: int) -> str:
    return os.path.join(folder, f"r{rank}.sock")


def request_path(folder: str) -> str:
    return os.path.join(folder, "dump.request")
