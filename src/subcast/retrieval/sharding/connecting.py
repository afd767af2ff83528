"""Connect to a Dask cluster by its address."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from subcast.errors import ClusterError, InputError

_ADDRESS = re.compile(r"((tcp|tls|ucx|wss?)://)?[^/\s]+:\d{1,5}")


@contextmanager
def cluster_client(address: str, patience: float = 10.0) -> Iterator[Any]:
    """Yield a client of the cluster at an address (tcp://host:8786), and close it.

    Parameters
    ----------
    address
        address of the scheduler
    patience
        seconds to wait for its answer
    """
    try:
        from distributed import Client
    except ModuleNotFoundError:
        raise InputError("--cluster needs distributed: install it with pip install 'subcast[cluster]'") from None
    if not _ADDRESS.fullmatch(address):  # a client that is made in vain takes long to go
        raise InputError(f"{address!r} is no address of a scheduler: give one such as tcp://host:8786")
    try:
        client = Client(address, timeout=patience, set_as_default=False)
    except (OSError, TimeoutError) as error:
        raise ClusterError(
            f"no scheduler answered at {address} within {patience:g} s: check the address, or start one with "
            "`dask scheduler`"
        ) from error
    with client:
        yield client
