"""Slow twins of the searches: plain Python loops in double precision that share nothing with the package."""

from __future__ import annotations

import math


def is_missing(value):
    return value != value


def compare(query, candidate, exponent):
    """Sum |difference|^b and count the cells of two windows [t][s][f]; a cell without a reading is left out."""
    total, n_cells = 0.0, 0
    for query_step, candidate_step in zip(query, candidate, strict=True):
        for query_cell, candidate_cell in zip(query_step, candidate_step, strict=True):
            if is_missing(query_cell[0]) or is_missing(candidate_cell[0]):
                continue
            for q, c in zip(query_cell, candidate_cell, strict=True):
                if not is_missing(q) and not is_missing(c):
                    total += abs(float(q) - float(c)) ** exponent
                    n_cells += 1
    return total, n_cells


def cells_of_query(query):
    return sum(
        1 for step in query for cell in step if not is_missing(cell[0]) for value in cell if not is_missing(value)
    )


def candidate_window(values, start, lookback, variables):
    return [[list(values[start + p][v]) for v in variables] for p in range(lookback)]


def distances(values, lookback, starts, query, variables, exponent, min_overlap=0.5):
    """Return the distance to every candidate (values [t][n][f], query [t][n][f]), infinite if it does not qualify."""
    selected = [[list(step[v]) for v in variables] for step in query]
    needed = max(1, math.ceil(min_overlap * cells_of_query(selected) - 1e-9))
    result = []
    for start in starts:
        total, n_cells = compare(selected, candidate_window(values, start, lookback, variables), exponent)
        result.append(total / n_cells if n_cells >= needed else math.inf)
    return result


def nearest(values, lookback, starts, query, variables, k, exponent, min_overlap=0.5, excluded=()):
    """Return (distance, index) of the k nearest, ties ordered by index; fewer if fewer qualify."""
    return k_nearest(distances(values, lookback, starts, query, variables, exponent, min_overlap), starts, k, excluded)


def k_nearest(every, starts, k, excluded=()):
    """Return (distance, index) of the k smallest finite distances, ties ordered by index."""
    pairs = [
        (distance, index)
        for index, distance in enumerate(every)
        if distance < math.inf and starts[index] not in excluded
    ]
    return sorted(pairs)[:k]


def rank(every, index):
    """Return the rank, from 1, of a candidate among all distances."""
    return 1 + sum(1 for j, d in enumerate(every) if (d, j) < (every[index], index))


def all_starts(lengths, lookback):
    starts, begin = [], 0
    for length in lengths:
        starts += range(begin, begin + length - lookback + 1)
        begin += length
    return starts


def excluded_starts(at, exclude, lengths):
    """Return the starts fewer than `exclude` steps from `at`, within the series that contains `at`."""
    begin = 0
    for length in lengths:
        if begin <= at < begin + length:
            return [start for start in range(begin, begin + length) if abs(start - at) < exclude]
        begin += length
    return []


def step_distances(data, rows, begin, width, query, n_readings, n_own, exponent):
    """Return sums and counts of one query step against the steps `begin` ... of data [rows][t].

    A shared row (from `n_own` on) counts once for each reading that both the query and the data have.
    """
    totals, counts = [], []
    for t in range(begin, begin + width):
        total, count, readings = 0.0, 0, 0
        for r, row in enumerate(rows):
            q, x = float(query[r]), float(data[row][t])
            if is_missing(q) or is_missing(x):
                continue
            readings += r < n_readings
            weight = readings if r >= n_own else 1
            total += weight * abs(x - q) ** exponent
            count += weight
        totals.append(total)
        counts.append(count)
    return totals, counts


def window_distances(data, rows, starts, query, n_readings, n_own, exponent):
    """Return the mean distance of one query [t][rows] to the windows of data [rows][t] that begin at `starts`."""
    result = []
    for start in starts:
        total, count = 0.0, 0
        for p, step in enumerate(query):
            totals, counts = step_distances(data, rows, start + p, 1, step, n_readings, n_own, exponent)
            total += totals[0]
            count += counts[0]
        result.append(total / count if count else math.inf)
    return result


def candidates_in_ranges(data, rows, query, ranges, cells, starts):
    """Return the indices of the windows whose readings lie within `ranges` of the query at all `cells` (step, row)."""
    return [
        index
        for index, start in enumerate(starts)
        if all(abs(data[rows[r]][start + p] - query[p][r]) <= ranges[r] for p, r in cells)
    ]


def assert_same(index, distance, twin, every, tolerance=2e-5):
    """Compare one row of a result with the twin's; candidates closer together than rounding may swap."""
    k = len(index)
    assert len({i for i in index if i >= 0}) == sum(1 for i in index if i >= 0), "a candidate was returned twice"
    for j in range(k):
        if j >= len(twin):
            assert index[j] == -1
            assert distance[j] == math.inf
            continue
        expected, expected_index = twin[j]
        assert abs(distance[j] - expected) <= tolerance * (abs(expected) + 1e-6), (j, distance, twin)
        actual = every[index[j]]
        assert abs(actual - expected) <= tolerance * (abs(expected) + 1e-6), (j, index, twin)
        close = [d for d in every if abs(d - expected) <= tolerance * (abs(expected) + 1e-6)]
        if len(close) == 1:
            assert index[j] == expected_index
    for a in range(k - 1):
        assert distance[a] <= distance[a + 1]
        if distance[a] == distance[a + 1] and index[a + 1] >= 0:
            assert index[a] < index[a + 1]
