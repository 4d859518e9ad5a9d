"""A socket per rank, by which someone on its host asks for a dump while the main thread is stuck."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Callable

_PATIENCE_S = 10.0


def listen(path: str) -> socket.socket:
    """A listening socket at `path`, for this user only. Raises OSError where the file system has no sockets.

    It gets its name once it is ready. Not by the umask, which other threads make their files with.
    """
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    temporary = os.path.join(os.path.dirname(path), f".{os.urandom(4).hex()}.tmp")
    try:
        with _short(temporary) as name:
            server.bind(name)
        os.chmod(temporary, 0o600)
        server.listen(8)
        server.setblocking(False)
        os.replace(temporary, path)
    except BaseException:
        server.close()
        with suppress(OSError):
            os.unlink(temporary)
        raise
    return server


def answer(server: socket.socket, reply: Callable[[dict[str, Any]], bytes]) -> None:
    """Serve one connection. A client that is slow or gone costs at most a second, and nothing else."""
    try:
        connection, _ = server.accept()
    except OSError:
        return
    with connection:
        try:
            connection.settimeout(1.0)
            request = json.loads(connection.recv(1 << 12))
            connection.sendall(reply(request if isinstance(request, dict) else {}))
        except Exception:  # also a RecursionError: this is the thread that writes the dumps
            pass


def ask(path: str, request: Mapping[str, Any], timeout: float = _PATIENCE_S) -> bytes:
    """The answer of the rank whose socket is at `path`. Raises OSError when nobody answers in `timeout` seconds."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client, _short(path) as name:
        client.settimeout(timeout)
        client.connect(name)
        client.sendall(json.dumps(dict(request)).encode())
        client.shutdown(socket.SHUT_WR)
        parts = []
        while part := client.recv(1 << 16):
            parts.append(part)
    return b"".join(parts)


@contextmanager
def _short(path: str) -> Iterator[str]:
    """Another name for `path`: the kernel takes 107 bytes for a socket's, and job folders are deep."""
    if len(os.fsencode(path)) < 100 or not os.path.isdir("/proc/self/fd"):
        yield path
        return
    folder = os.open(os.path.dirname(path), os.O_RDONLY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{folder}/{os.path.basename(path)}"
    finally:
        os.close(folder)
