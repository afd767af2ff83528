"""Range queries on sorted columns and their intersection, against plain loops."""

from __future__ import annotations

import numpy as np
import pytest

from subcast.retrieval.compiled import ranges as range_kernels
from twins import retrieval_twins as naive

ROWS = np.array([0, 2])
COLUMNS = np.array([1, 0])  # the sorted order of row 0 is stored second


def problem(seed=0):
    """Return data [rows, t] with ties and missing values, the sorted orders, and their lengths without NaN."""
    rng = np.random.default_rng(seed)
    data = rng.integers(0, 8, size=(3, 60)).astype(np.float32)
    data[2, [5, 30]] = np.nan
    orders = np.stack([np.argsort(data[row], kind="stable") for row in (2, 0)]).astype(np.int32)
    sizes = np.array([58, 60])
    q = rng.integers(0, 8, size=(3, 2)).astype(np.float32)
    q[1, 0] = np.nan
    return data, orders, sizes, q


def bounds_of(data, orders, sizes, q, ranges):
    bounds = np.empty((2, *q.shape), dtype=np.int64)
    range_kernels.range_bounds(data, ROWS, orders, COLUMNS, sizes, q, ranges, bounds)
    return bounds


@pytest.mark.parametrize("width", [0.0, 1.0, 2.5, 20.0])
def test_range_bounds_equal_a_loop(width):
    data, orders, sizes, q = problem()
    bounds = bounds_of(data, orders, sizes, q, np.full(2, width, dtype=np.float32))
    for p in range(3):
        for r, row in enumerate(ROWS):
            low, high = bounds[:, p, r]
            if np.isnan(q[p, r]):
                assert (low, high) == (0, -1)
                continue
            inside = {t for t in range(60) if abs(data[row, t] - q[p, r]) <= width}
            assert set(orders[COLUMNS[r]][low:high].tolist()) == inside


@pytest.mark.parametrize("width", [0.0, 1.0, 3.0, 20.0])
@pytest.mark.parametrize("scattered", [False, True])
def test_the_intersection_equals_the_twin(width, scattered):
    data, orders, sizes, q = problem()
    starts = np.arange(0, 58, 3) if scattered else np.arange(58)
    ranges = np.array([width, width + 1], dtype=np.float32)
    bounds = bounds_of(data, orders, sizes, q, ranges)
    cells = [(p, r) for p in range(3) for r in range(2) if not np.isnan(q[p, r])]
    cell_steps, cell_rows = np.array(cells).T
    admitted = range_kernels.intersect(
        data, ROWS, orders, COLUMNS, q, ranges, bounds, cell_steps, cell_rows, starts
    )  # fmt: skip
    expected = naive.candidates_in_ranges(data, ROWS, q, ranges, cells, starts.tolist())
    assert sorted(admitted.tolist()) == expected


def test_some_intersections_are_neither_empty_nor_everything():
    data, _, _, q = problem()
    cells = [(p, r) for p in range(3) for r in range(2) if not np.isnan(q[p, r])]
    sizes = [
        len(naive.candidates_in_ranges(data, ROWS, q, [width, width + 1], cells, list(range(58))))
        for width in (0.0, 1.0, 3.0, 20.0)
    ]
    assert sizes[0] < sizes[2] < sizes[3] < 58  # missing values are never within a range


def test_tightness_is_the_largest_difference_over_range_of_each_row():
    data, _, _, q = problem()
    starts, windows = np.arange(58), np.array([10, 40])
    ranges, ratios = np.array([2, 4], dtype=np.float32), np.empty(2, dtype=np.float32)
    range_kernels.tightness(data, ROWS, q, ranges, starts, windows, ratios)
    for r, row in enumerate(ROWS):
        differences = [
            abs(data[row, start + p] - q[p, r]) for start in (10, 40) for p in range(3) if not np.isnan(q[p, r])
        ]
        assert ratios[r] == max(differences) / ranges[r]
