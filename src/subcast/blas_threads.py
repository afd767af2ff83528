"""One thread for linear algebra while subcast works: its own threads need the processors.

Most products here are small. The threads of a BLAS library then take longer to agree than to multiply, and after each
product they keep a processor busy for a while.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

_lock = threading.Lock()
_inside = 0  # calls that are in progress
_limit: Any = None


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Let BLAS libraries use one thread; the last of all calls in progress gives them back what they had.

    >>> with one_blas_thread():
    ...     pass
    """
    global _inside, _limit
    with _lock:
        _inside += 1
        if _inside == 1:
            _take_control()
            _limit = _controller().limit(limits=1, user_api="blas")
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                _take_control()
                _limit.restore_original_limits()


def _take_control() -> None:
    """Let this thread set the number of threads: threadpoolctl 3.8 allows it to the first thread that did so alone."""
    for library in _controller().lib_controllers:
        release = getattr(library, "clear_controlling_thread", None)
        if release is not None:
            release(force=True)


@cache
def _controller() -> Any:
    """Return what knows the BLAS libraries of this process: NumPy's and SciPy's."""
    import scipy.linalg  # noqa: F401  # loads its library
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
