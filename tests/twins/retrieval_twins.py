"""Slow twins of the searches: plain Python loops in double precision, sharing nothing with the package."""

from __future__ import annotations

import math


def is_missing(value):
    return value != value


def compare(query, candidate, exponent):
    """Sum |difference|^b and count the cells of two windows [t][s][f]; a missing reading takes its cell with it."""
    total, cells = 0.0, 0
    for query_step, candidate_step in zip(query, candidate, strict=True):
        for query_cell, candidate_cell in zip(query_step, candidate_step, strict=True):
            if is_missing(query_cell[0]) or is_missing(candidate_cell[0]):
                continue
            for q, c in zip(query_cell, candidate_cell, strict=True):
                if not is_missing(q) and not is_missing(c):
                    total += abs(float(q) - float(c)) ** exponent
                    cells += 1
    return total, cells


def cells_of_query(query):
    return sum(
        1 for step in query for cell in step if not is_missing(cell[0]) for value in cell if not is_missing(value)
    )


def candidate_window(values, start, lookback, variables):
    return [[list(values[start + p][v]) for v in variables] for p in range(lookback)]


def distances(values, lookback, starts, query, variables, exponent, min_overlap=0.5):
    """Return the distance of every candidate (values [t][n][f], query [t][n][f]), infinite for no candidate."""
    asked = [[list(step[v]) for v in variables] for step in query]
    needed = max(1, math.ceil(min_overlap * cells_of_query(asked) - 1e-9))
    found = []
    for start in starts:
        total, cells = compare(asked, candidate_window(values, start, lookback, variables), exponent)
        found.append(total / cells if cells >= needed else math.inf)
    return found


def nearest(values, lookback, starts, query, variables, k, exponent, min_overlap=0.5, barred=()):
    """Return (distance, index) of the k nearest, ties to the lower index; fewer if fewer qualify."""
    every = distances(values, lookback, starts, query, variables, exponent, min_overlap)
    pairs = [
        (distance, index) for index, distance in enumerate(every) if distance < math.inf and starts[index] not in barred
    ]
    return sorted(pairs)[:k]


def rank(every, index):
    """Return the place, from 1, of a candidate among all distances."""
    return 1 + sum(1 for j, d in enumerate(every) if (d, j) < (every[index], index))


def all_starts(lengths, lookback):
    starts, begin = [], 0
    for length in lengths:
        starts += range(begin, begin + length - lookback + 1)
        begin += length
    return starts


def assert_same(index, distance, twin, every, tolerance=2e-5):
    """Check one row of an answer against the twin's, allowing candidates nearer than rounding to swap."""
    k = len(index)
    assert len({i for i in index if i >= 0}) == sum(1 for i in index if i >= 0), "a candidate came twice"
    for place in range(k):
        if place >= len(twin):
            assert index[place] == -1
            assert distance[place] == math.inf
            continue
        wanted, wanted_index = twin[place]
        assert abs(distance[place] - wanted) <= tolerance * (abs(wanted) + 1e-6), (place, distance, twin)
        got = every[index[place]]
        assert abs(got - wanted) <= tolerance * (abs(wanted) + 1e-6), (place, index, twin)
        near = [d for d in every if abs(d - wanted) <= tolerance * (abs(wanted) + 1e-6)]
        if len(near) == 1:
            assert index[place] == wanted_index
    for a in range(k - 1):
        assert distance[a] <= distance[a + 1]
        if distance[a] == distance[a + 1] and index[a + 1] >= 0:
            assert index[a] < index[a + 1]
