"""The compiled part of the query table: range queries on sorted columns, and their intersection."""

from __future__ import annotations

from typing import Any

import numpy as np

from subcast.retrieval.compiled.kernel import place_of
from subcast.retrieval.compiled.powers import compiled


@compiled
def _first_at_least(x: Any, order: Any, size: int, value: Any) -> int:
    """Return the first place of the sorted column that holds at least `value`."""
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
    """Return the first place of the sorted column that holds more than `value`."""
    low, high = 0, size
    while low < high:
        middle = (low + high) // 2
        if x[order[middle]] <= value:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def range_places(data: Any, rows: Any, orders: Any, columns: Any, sizes: Any, q: Any, ranges: Any, places: Any) -> None:
    """Fill places [2, t, rows] with where each sub-query's range begins and ends in its sorted column.

    A column is kept once for all steps: that of step p is the same series, p steps later. Sub-queries without a
    reading get the range (0, -1).
    """
    for p in range(q.shape[0]):
        for r in range(rows.shape[0]):
            value = q[p, r]
            if value != value:
                places[0, p, r], places[1, p, r] = 0, -1
                continue
            x, order = data[rows[r]], orders[columns[r]]
            places[0, p, r] = _first_at_least(x, order, sizes[columns[r]], value - ranges[r])
            places[1, p, r] = _first_above(x, order, sizes[columns[r]], value + ranges[r])


@compiled
def _fits(data: Any, rows: Any, q: Any, ranges: Any, start: int, steps: Any, members: Any) -> bool:
    """Return whether the window at `start` lies within the ranges of the given cells."""
    for c in range(steps.shape[0]):
        p, r = steps[c], members[c]
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
    places: Any,
    steps: Any,
    members: Any,
    starts: Any,
) -> Any:
    """Return the candidates that every sub-query (steps[c], members[c]) admits, in no order.

    The first sub-query, which should be the one that admits the fewest, is walked; the others are looked up.
    """
    p, r = steps[0], members[0]
    low, high = places[0, p, r], places[1, p, r]
    found = np.empty(high - low, np.int64)
    n_found = 0
    order = orders[columns[r]]
    last = data.shape[1] - q.shape[0]
    for place in range(low, high):
        start = order[place] - p
        if start < 0 or start > last:
            continue
        if not _fits(data, rows, q, ranges, start, steps, members):
            continue
        index = place_of(starts, start)
        if index < starts.shape[0] and starts[index] == start:
            found[n_found] = index
            n_found += 1
    return found[:n_found]


@compiled
def tightness(data: Any, rows: Any, q: Any, ranges: Any, starts: Any, found: Any, tight: Any) -> None:
    """Fill `tight` with the greatest |difference| / range of each row over the windows found."""
    tight[:] = 0.0
    for c in range(found.shape[0]):
        start = starts[found[c]]
        for p in range(q.shape[0]):
            for r in range(rows.shape[0]):
                if q[p, r] == q[p, r]:
                    tight[r] = max(tight[r], abs(data[rows[r], start + p] - q[p, r]) / ranges[r])
