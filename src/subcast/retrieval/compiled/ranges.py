"""Kernels of the query table: range queries on sorted columns, and their intersection."""

from __future__ import annotations

from typing import Any

import numpy as np

from subcast.retrieval.compiled.kernel import search_sorted
from subcast.retrieval.compiled.powers import compiled


@compiled
def _first_at_least(x: Any, order: Any, size: int, value: Any) -> int:
    """Return the first position in the sorted column whose value is at least `value`."""
    low, high = 0, size
    while low < high:
        middle = (low + high) // 2
        if x[order[middle]] < value:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def _first_above(x: Any, order: Any, size: int, value: Any) -> int:
    """Return the first position in the sorted column whose value is above `value`."""
    low, high = 0, size
    while low < high:
        middle = (low + high) // 2
        if x[order[middle]] <= value:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def range_bounds(data: Any, rows: Any, orders: Any, columns: Any, sizes: Any, q: Any, ranges: Any, bounds: Any) -> None:
    """Fill bounds [2, t, rows] with the first and end positions of each cell's range in its sorted column.

    One sorted column serves all steps of a row: the column of step p is the same series, p steps later. Cells
    without a reading get the positions (0, -1).
    """
    for p in range(q.shape[0]):
        for r in range(rows.shape[0]):
            value = q[p, r]
            if value != value:
                bounds[0, p, r], bounds[1, p, r] = 0, -1
                continue
            x, order = data[rows[r]], orders[columns[r]]
            bounds[0, p, r] = _first_at_least(x, order, sizes[columns[r]], value - ranges[r])
            bounds[1, p, r] = _first_above(x, order, sizes[columns[r]], value + ranges[r])


@compiled
def _fits(data: Any, rows: Any, q: Any, ranges: Any, start: int, cell_steps: Any, cell_rows: Any) -> bool:
    """Return whether the window that starts at `start` lies within the ranges of all given cells."""
    for c in range(cell_steps.shape[0]):
        p, r = cell_steps[c], cell_rows[c]
        x = data[rows[r], start + p]
        if not (q[p, r] - ranges[r] <= x <= q[p, r] + ranges[r]):
            return False
    return True


@compiled
def intersect(
    data: Any,
    rows: Any,
    orders: Any,
    columns: Any,
    q: Any,
    ranges: Any,
    bounds: Any,
    cell_steps: Any,
    cell_rows: Any,
    starts: Any,
) -> Any:
    """Return the candidates that lie within the ranges of all cells (cell_steps[c], cell_rows[c]), unordered.

    The function loops over the range of the first cell, which should be the shortest, and checks the other cells
    for each of its windows.
    """
    p, r = cell_steps[0], cell_rows[0]
    low, high = bounds[0, p, r], bounds[1, p, r]
    admitted = np.empty(high - low, np.int64)
    n_admitted = 0
    order = orders[columns[r]]
    last = data.shape[1] - q.shape[0]
    for position in range(low, high):
        start = order[position] - p
        if start < 0 or start > last:
            continue
        if not _fits(data, rows, q, ranges, start, cell_steps, cell_rows):
            continue
        index = search_sorted(starts, start)
        if index < starts.shape[0] and starts[index] == start:
            admitted[n_admitted] = index
            n_admitted += 1
    return admitted[:n_admitted]


@compiled
def tightness(data: Any, rows: Any, q: Any, ranges: Any, starts: Any, windows: Any, ratios: Any) -> None:
    """Fill `ratios` with the largest |difference| / range of each row over the given windows."""
    ratios[:] = 0.0
    for c in range(windows.shape[0]):
        start = starts[windows[c]]
        for p in range(q.shape[0]):
            for r in range(rows.shape[0]):
                if q[p, r] == q[p, r]:
                    ratios[r] = max(ratios[r], abs(data[rows[r], start + p] - q[p, r]) / ranges[r])
