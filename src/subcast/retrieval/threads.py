"""Distribution of the work of one call over threads, which end with the call."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from subcast.errors import InputError

# Starting a thread takes about as long as comparing this many cells.
_CELLS_PER_THREAD = 2_000_000


def thread_count(threads: int | None, cells: float) -> int:
    """Return how many threads to use for comparing `cells` cells.

    `threads` is the number that the user asked for. None means one thread for each processor that this process may
    use, and fewer threads for little work.

    >>> thread_count(3, 1e9), thread_count(None, 10)
    (3, 1)
    """
    if threads is None:
        available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        return max(1, min(available, int(cells / _CELLS_PER_THREAD)))
    if isinstance(threads, bool) or not isinstance(threads, (int, np.integer)) or threads < 1:
        raise InputError(f"threads must be a whole number of at least 1, or None for all processors, got {threads!r}")
    return int(threads)


def run_all(tasks: Sequence[Callable[[], None]], executor: Executor | None = None) -> None:
    """Run the tasks in parallel, the last one in the calling thread."""
    if len(tasks) == 1:
        tasks[0]()
    elif executor is None:
        with ThreadPoolExecutor(len(tasks) - 1) as temporary:
            run_all(tasks, temporary)
    else:
        futures = [executor.submit(task) for task in tasks[:-1]]
        tasks[-1]()
        for future in futures:
            future.result()


def cuts(total: int, parts: int) -> NDArray[np.int64]:
    """Return the bounds of `parts` consecutive pieces of nearly equal size of `total` items.

    >>> cuts(7, 2).tolist()
    [0, 3, 7]
    """
    return np.arange(parts + 1, dtype=np.int64) * total // parts
