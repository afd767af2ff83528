"""Averages and medians of the neighbors' readings, gathered straight from the bank's rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise

import numba
import numpy as np
from numpy.typing import NDArray

from subcast.retrieval.threads import cuts, run_all, thread_count


def pool_mean(
    rows: NDArray[np.float32],
    starts: NDArray[np.int64],
    weights: NDArray[np.float32],
    variables: NDArray[np.int64],
    skip: int,
    length: int,
) -> NDArray[np.float32]:
    """Weighted mean of what the neighbors read, NaN left out; 0 where none has a reading.

    Parameters
    ----------
    rows
        [n, t], the bank's readings
    starts
        [b, k], where the neighbors begin; below 0 there is none
    weights
        [b, k]
    variables
        [s], which rows
    skip, length
        which steps after the start: skip .. skip + length - 1

    Returns
    -------
    NDArray
        [b, length, s]

    Examples
    --------
    >>> rows = np.arange(6, dtype=np.float32).reshape(1, 6)
    >>> pool_mean(rows, np.array([[0, 2]]), np.array([[0.5, 0.5]], np.float32), np.array([0]), 1, 2)[0, :, 0]
    array([2., 3.], dtype=float32)
    """
    return _pooled(_mean, rows, starts, weights.astype(np.float32), variables, skip, length)


def pool_median(
    rows: NDArray[np.float32], starts: NDArray[np.int64], variables: NDArray[np.int64], skip: int, length: int
) -> NDArray[np.float32]:
    """Median of what the neighbors read, NaN left out; 0 where none has a reading. Arguments as in `pool_mean`."""
    return _pooled(_median, rows, starts, np.ones(starts.shape, dtype=np.float32), variables, skip, length)


def pool_deviation(
    rows: NDArray[np.float32], starts: NDArray[np.int64], variables: NDArray[np.int64], skip: int, length: int
) -> NDArray[np.float32]:
    """Standard deviation of what the neighbors read; 1 where fewer than three have a reading. As in `pool_mean`."""
    return _pooled(_deviation, rows, starts, np.ones(starts.shape, dtype=np.float32), variables, skip, length)


def _pooled(
    kernel: Callable[..., None],
    rows: NDArray[np.float32],
    starts: NDArray[np.int64],
    weights: NDArray[np.float32],
    variables: NDArray[np.int64],
    skip: int,
    length: int,
) -> NDArray[np.float32]:
    """Run a kernel on the windows, divided among the processors."""
    pooled = np.empty((len(starts), length, len(variables)), dtype=np.float32)
    workers = min(thread_count(None, 4.0 * pooled.size * starts.shape[1]), max(len(starts), 1))
    bounds = cuts(len(starts), workers)
    parts = [slice(int(a), int(z)) for a, z in pairwise(bounds)]
    run_all([partial(kernel, pooled[p], rows, starts[p], weights[p], variables, skip) for p in parts])
    return pooled


@numba.njit(nogil=True, cache=True)
def _mean(pooled, rows, starts, weights, variables, skip):  # type: ignore[no-untyped-def]
    b, k = starts.shape
    _, length, s = pooled.shape
    total = np.empty(length, dtype=np.float32)
    count = np.empty(length, dtype=np.float32)
    for i in range(b):
        for j in range(s):
            row = rows[variables[j]]
            total[:] = 0
            count[:] = 0
            for m in range(k):
                if starts[i, m] < 0:
                    continue
                first = starts[i, m] + skip
                weight = weights[i, m]
                for step in range(length):
                    x = row[first + step]
                    if x == x:
                        total[step] += weight * x
                        count[step] += weight
            for step in range(length):
                pooled[i, step, j] = total[step] / count[step] if count[step] > 0 else 0.0


@numba.njit(nogil=True, cache=True)
def _median(pooled, rows, starts, weights, variables, skip):  # type: ignore[no-untyped-def]
    b, k = starts.shape
    _, length, s = pooled.shape
    found = np.empty(k, dtype=np.float32)
    for i in range(b):
        for j in range(s):
            row = rows[variables[j]]
            for step in range(length):
                count = 0
                for m in range(k):
                    if starts[i, m] < 0:
                        continue
                    x = row[starts[i, m] + skip + step]
                    if x == x:
                        place = count  # insertion keeps the few values sorted
                        while place > 0 and found[place - 1] > x:
                            found[place] = found[place - 1]
                            place -= 1
                        found[place] = x
                        count += 1
                if count == 0:
                    pooled[i, step, j] = 0.0
                elif count % 2:
                    pooled[i, step, j] = found[count // 2]
                else:
                    pooled[i, step, j] = 0.5 * (found[count // 2 - 1] + found[count // 2])


@numba.njit(nogil=True, cache=True)
def _deviation(pooled, rows, starts, weights, variables, skip):  # type: ignore[no-untyped-def]
    b, k = starts.shape
    _, length, s = pooled.shape
    for i in range(b):
        for j in range(s):
            row = rows[variables[j]]
            for step in range(length):
                count = 0
                total = 0.0
                squares = 0.0
                for m in range(k):
                    if starts[i, m] >= 0:
                        x = row[starts[i, m] + skip + step]
                        if x == x:
                            count += 1
                            total += x
                            squares += x * x
                if count < 3:
                    pooled[i, step, j] = 1.0
                else:
                    mean = total / count
                    pooled[i, step, j] = np.sqrt(max(squares / count - mean * mean, 0.0))
