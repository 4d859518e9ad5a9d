"""Bytes -> plain Python objects: pickle without globals, JSON, either of them gzipped, whole or cut; or a ring."""

from __future__ import annotations

import gzip
import io
import json
import pickle
import zlib
from typing import NamedTuple

from frtui.load import opcodes, rings, salvage
from frtui.load.archive import MAX_RATIO
from frtui.load.errors import Unusable
from frtui.load.limits import check_containers

MAX_BYTES = 4 << 30
"""Of one dump, unpacked. A ring of two million entries takes about one GB."""
_GZIP = b"\x1f\x8b"
_SMALL = 1 << 24


class Decoded(NamedTuple):
    raw: object
    cut: str = ""
    """Where and how the data break off; empty when they are whole."""
    size: int = 0
    """Bytes of the data, unpacked."""


def decode(data: bytes, fault: str = "") -> Decoded:
    """The object in `data`, judged by content. Raises Unusable with the reason.

    `fault`: what the rank of a ring wrote of its crash.
    """
    return interpret(*unpack(data), fault)


def unpack(data: bytes) -> tuple[bytes, str]:
    """(`data` without their compression, how they are cut). Raises Unusable where they can't be a dump."""
    cut = ""
    if data[:2] == _GZIP:
        data, cut = gunzip(data)
    check_start(data[:512])
    check_containers(data)
    return data, cut


def interpret(data: bytes, cut: str = "", fault: str = "") -> Decoded:
    """The object in what `unpack` gives, the general way."""
    if rings.is_ring(data):
        return Decoded(rings.unpack(data, fault), "", len(data))
    decoded = _json(data) if is_json(data[:512]) else _pickle(data)
    return decoded._replace(cut=decoded.cut and (cut or decoded.cut), size=len(data))


def check_start(head: bytes) -> None:
    """Raises Unusable when a file that starts like this cannot be a dump. Cheap: before reading the rest."""
    if not head:
        raise Unusable("empty", "0 bytes: the rank died, or its disk was full, before it wrote anything")
    if not head.strip(b"\0"):
        raise Unusable("not-a-dump", f"only NUL bytes in the first {len(head)}: the file was never written out")
    if head[:2] == _GZIP or head[:1] == b"\x80" or is_json(head) or rings.is_ring(head):
        return
    if head[:2] == b"PK":
        raise Unusable("not-a-dump", "a zip file (torch.save?), not a flight recorder dump")
    kind = "text" if all(byte in b"\t\n\r\x1b" or byte >= 32 for byte in head) else "unknown first bytes"
    raise Unusable("not-a-dump", f"{kind}: no pickle, JSON or gzip")


def is_json(head: bytes) -> bool:
    return head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"[")


def gunzip(data: bytes) -> tuple[bytes, str]:
    """(unpacked, how it is cut). Raises Unusable for a bomb."""
    limit = min(max(_SMALL, MAX_RATIO * len(data)), MAX_BYTES)
    parts: list[bytes] = []
    total = 0
    stream = gzip.GzipFile(fileobj=io.BytesIO(data))  # reads files that were joined, too
    try:
        while part := stream.read1(1 << 20):
            parts.append(part)
            total += len(part)
            if total > limit:
                raise Unusable("refused", f"unpacks to more than {limit:,} bytes, {MAX_RATIO} times its size")
    except EOFError:
        return b"".join(parts), f"the gzip data end early, after {total:,} unpacked bytes"
    except (OSError, zlib.error) as error:
        return b"".join(parts), f"damaged gzip data after {total:,} unpacked bytes ({error})"
    return b"".join(parts), ""


def whole_pickle(data: bytes) -> object:
    """The object in a pickle of plain data. Raises Unusable where it isn't one, or is cut."""
    if opcodes.walk(data).shape is not opcodes.Shape.PLAIN:
        raise Unusable("not-a-dump", "no whole pickle")
    return _load(data)


def _json(data: bytes) -> Decoded:
    text = data.decode("utf-8-sig", "replace")
    try:
        return Decoded(json.loads(text))
    except RecursionError:
        raise Unusable("refused", "JSON nested too deeply") from None
    except ValueError:
        raw, at = salvage.from_json(text)
    if raw is None:
        raise Unusable("not-a-dump", "starts like JSON, but is neither whole nor the beginning of a dump")
    return Decoded(raw, f"the JSON breaks off at character {at:,} of {len(text):,}")


def _pickle(data: bytes) -> Decoded:
    walked = opcodes.walk(data)
    if walked.shape is opcodes.Shape.PLAIN:
        return Decoded(_load(data))
    raw, byte = salvage.pickled(data)
    return Decoded(raw, f"cut at byte {byte:,} of {len(data):,}" if byte >= 0 else "")


class _NoGlobals(pickle.Unpickler):
    """C++ dumps need no global (they hold only builtins), so none is allowed: these files get e-mailed."""

    def find_class(self, module: str, name: str) -> object:
        raise Unusable("refused", f"names a global {module}.{name}, which can run code")


def _load(data: bytes) -> object:
    try:
        # Through a buffer with `peek`: without one the C code asks for every opcode, and takes three times as long.
        return _NoGlobals(io.BufferedReader(io.BytesIO(data), 1 << 20)).load()
    except Unusable:
        raise
    except Exception as error:  # a damaged pickle makes the C code raise almost anything
        raise Unusable("refused", f"damaged pickle: {type(error).__name__}: {str(error)[:80]}") from None
