"""Means, medians and deviations of the neighbors' readings, computed from the bank's rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subcast.retrieval.compiled.powers import compiled
from subcast.retrieval.networks import median_network
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
    kernel = partial(_median, network=median_network(starts.shape[1]))
    return _pooled(kernel, rows, starts, np.ones(starts.shape, dtype=np.float32), variables, skip, length)


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


@compiled
def _mean(pooled: Any, rows: Any, starts: Any, weights: Any, variables: Any, skip: int) -> None:
    b, k = starts.shape
    _, length, s = pooled.shape
    total = np.empty(length, dtype=np.float32)
    count = np.empty(length, dtype=np.float32)
    none = np.float32(0)
    for i in range(b):
        for j in range(s):
            row = rows[variables[j]]
            total[:] = 0
            count[:] = 0
            for m in range(k):
                if starts[i, m] < 0:
                    continue
                readings = row[starts[i, m] + skip : starts[i, m] + skip + length]
                weight = weights[i, m]
                for step in range(length):
                    x = readings[step]
                    known = x == x
                    total[step] += weight * (x if known else none)
                    count[step] += weight if known else none
            for step in range(length):
                pooled[i, step, j] = total[step] / count[step] if count[step] > 0 else none


@compiled
def _median(pooled: Any, rows: Any, starts: Any, weights: Any, variables: Any, skip: int, network: Any) -> None:
    """Fill in medians: of all steps at once by a sorting network, one by one where a reading is missing."""
    b, k = starts.shape
    _, length, s = pooled.shape
    values = np.empty((k, length), dtype=np.float32)
    low, high = (k - 1) // 2, k // 2
    for i in range(b):
        for j in range(s):
            row = rows[variables[j]]
            if not _copy_all(values, row, starts[i], skip):
                for step in range(length):
                    pooled[i, step, j] = _median_of_known(row, starts[i], skip + step, values)
                continue
            for pair in range(len(network)):
                _put_in_order(values[network[pair, 0]], values[network[pair, 1]])
            for step in range(length):
                pooled[i, step, j] = values[high, step] if k % 2 else 0.5 * (values[low, step] + values[high, step])


@compiled
def _copy_all(values: Any, row: Any, starts: Any, skip: int) -> bool:
    """Copy the readings after each start into `values` [k, length]; return whether all of them are there."""
    length = values.shape[1]
    missing = 0
    for m in range(len(starts)):
        if starts[m] < 0:
            return False
        readings = row[starts[m] + skip : starts[m] + skip + length]
        own = values[m]
        for step in range(length):
            x = readings[step]
            own[step] = x
            missing += x != x
    return missing == 0


@compiled
def _put_in_order(first: Any, second: Any) -> None:
    """Put the smaller value of each pair into `first`, the larger one into `second`."""
    for step in range(len(first)):
        x, y = first[step], second[step]
        first[step] = x if x < y else y
        second[step] = y if x < y else x


@compiled
def _median_of_known(row: Any, starts: Any, ahead: int, space: Any) -> Any:
    """Return the median of the readings that are not missing; 0 without any."""
    count = 0
    ordered = space[:, 0]
    for m in range(len(starts)):
        if starts[m] < 0:
            continue
        x = row[starts[m] + ahead]
        if x == x:
            position = count  # insertion keeps the few values sorted
            while position > 0 and ordered[position - 1] > x:
                ordered[position] = ordered[position - 1]
                position -= 1
            ordered[position] = x
            count += 1
    if count == 0:
        return np.float32(0)
    if count % 2:
        return ordered[count // 2]
    return np.float32(0.5 * (ordered[count // 2 - 1] + ordered[count // 2]))


@compiled
def _deviation(pooled: Any, rows: Any, starts: Any, weights: Any, variables: Any, skip: int) -> None:
    b, k = starts.shape
    _, length, s = pooled.shape
    count, total, squares = np.empty(length), np.empty(length), np.empty(length)
    for i in range(b):
        for j in range(s):
            row = rows[variables[j]]
            count[:] = 0
            total[:] = 0
            squares[:] = 0
            for m in range(k):
                if starts[i, m] < 0:
                    continue
                readings = row[starts[i, m] + skip : starts[i, m] + skip + length]
                for step in range(length):
                    x = readings[step] if readings[step] == readings[step] else np.float32(0)
                    count[step] += 1.0 if readings[step] == readings[step] else 0.0
                    total[step] += x
                    squares[step] += x * x
            for step in range(length):
                mean = total[step] / max(count[step], 1.0)
                spread = np.sqrt(max(squares[step] / max(count[step], 1.0) - mean * mean, 0.0))
                pooled[i, step, j] = spread if count[step] >= 3 else 1.0
