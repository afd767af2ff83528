"""How the work of one call is spread over threads that live no longer than the call."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from subcast.errors import InputError

# A thread starts in the time in which this many cells are compared, more or less.
_WORTH_A_THREAD = 2_000_000


def thread_count(threads: int | None, cells: float) -> int:
    """Return how many threads to use for `cells` comparisons: what was asked, or one for each free processor.

    >>> thread_count(3, 1e9), thread_count(None, 10)
    (3, 1)
    """
    if threads is None:
        available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        return max(1, min(available, int(cells / _WORTH_A_THREAD)))
    if isinstance(threads, bool) or not isinstance(threads, (int, np.integer)) or threads < 1:
        raise InputError(f"threads must be a whole number of at least 1, or None for all, got {threads!r}")
    return int(threads)


def run_all(tasks: Sequence[Callable[[], None]], executor: Executor | None = None) -> None:
    """Run the tasks at the same time, the last of them on the calling thread."""
    if len(tasks) == 1:
        tasks[0]()
    elif executor is None:
        with ThreadPoolExecutor(len(tasks) - 1) as own:
            run_all(tasks, own)
    else:
        waiting = [executor.submit(task) for task in tasks[:-1]]
        tasks[-1]()
        for future in waiting:
            future.result()


def cuts(total: int, parts: int) -> NDArray[np.int64]:
    """Return the bounds of `parts` nearly equal consecutive pieces of `total` things.

    >>> cuts(7, 2).tolist()
    [0, 3, 7]
    """
    return np.arange(parts + 1, dtype=np.int64) * total // parts
