"""A Dask cluster as the executor that reads files: for jobs that outgrow the login node.

The workers need frtui installed, and the folder under the same path. Needs the extra `frtui[cluster]`.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager

from frtui.load.errors import LoadError
from frtui.text import clean

_PATIENCE_S = 5


@contextmanager
def cluster(address: str) -> Iterator[Executor]:
    """The cluster whose scheduler is at `address` (`tcp://host:8786`).

    Raises LoadError when dask.distributed isn't there, or nobody answers at the address.
    """
    try:
        from distributed import Client
    except ImportError:
        raise LoadError("--scheduler needs dask.distributed: pip install 'frtui[cluster]'") from None
    try:
        client = Client(address, timeout=_PATIENCE_S, set_as_default=False)
    except (OSError, ValueError) as error:
        raise LoadError(clean(f"no Dask scheduler answers at {address}: {error}")) from None
    with client:
        if not client.scheduler_info()["workers"]:
            raise LoadError(clean(f"the Dask scheduler at {address} has no workers yet"))
        yield client.get_executor(pure=False, retries=1)
