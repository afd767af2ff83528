"""Means, medians and deviations of the neighbors' readings, computed from the bank's rows."""

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
    """Return the weighted mean of the neighbors' readings without NaN; 0 where none has a reading.

    Parameters
    ----------
    rows
        [n, t], the bank's readings
    starts
        [b, k], the first steps of the neighbors; below 0 for none
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
    """Return the median of the neighbors' readings without NaN; 0 where there is none. Arguments as in `pool_mean`."""
    return _pooled(_median, rows, starts, np.ones(starts.shape, dtype=np.float32), variables, skip, length)


def pool_deviation(
    rows: NDArray[np.float32], starts: NDArray[np.int64], variables: NDArray[np.int64], skip: int, length: int
) -> NDArray[np.float32]:
    """Return the standard deviation of the neighbors' readings; 1 with fewer than three. As in `pool_mean`."""
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
    batches = [slice(int(a), int(z)) for a, z in pairwise(bounds)]
    run_all([partial(kernel, pooled[i], rows, starts[i], weights[i], variables, skip) for i in batches])
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
    ordered = np.empty(k, dtype=np.float32)
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
                        position = count  # insertion keeps the few values sorted
                        while position > 0 and ordered[position - 1] > x:
                            ordered[position] = ordered[position - 1]
                            position -= 1
                        ordered[position] = x
                        count += 1
                if count == 0:
                    pooled[i, step, j] = 0.0
                elif count % 2:
                    pooled[i, step, j] = ordered[count // 2]
                else:
                    pooled[i, step, j] = 0.5 * (ordered[count // 2 - 1] + ordered[count // 2])


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
