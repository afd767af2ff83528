"""Compiled loops over the rows of a node, against plain loops."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from subcast.boosting import histograms
from twins import boosting_twins as twins


def node(seed, count=40, features=3, bins=6):
    rng = np.random.default_rng(seed)
    numbers = rng.integers(0, bins, size=(count, features)).astype(np.uint8)
    numbers[rng.random(numbers.shape) < 0.15] = 255
    return rng, numbers, rng.normal(size=count).astype(np.float32)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(0, 5), st.booleans())
def test_rows_are_divided_in_their_order(seed, number, missing_left):
    rng, numbers, _ = node(seed)
    order = rng.permutation(40).astype(np.int32)
    expected = order.tolist()
    column = np.ascontiguousarray(numbers[:, 0])
    middle = histograms.divide_rows(order, 5, 35, column, number, int(missing_left), np.empty(40, dtype=np.int32))
    left = [r for r in expected[5:35] if (missing_left if column[r] == 255 else column[r] <= number)]
    right = [r for r in expected[5:35] if r not in left]
    assert order.tolist() == expected[:5] + left + right + expected[35:]
    assert middle == 5 + len(left)


@pytest.mark.parametrize("weighted", [False, True])
def test_histograms_against_loops(weighted):
    rng, numbers, gradients = node(1)
    curvatures = rng.uniform(size=40).astype(np.float32) if weighted else np.zeros(0, dtype=np.float32)
    rows = np.array([3, 7, 8, 21, 39], dtype=np.int32)
    found = np.full((3, 256, 3 if weighted else 2), 7.0)
    histograms.fill_histogram(found, numbers, rows, gradients, curvatures, 1, 3)
    expected = np.full(found.shape, 7.0)
    expected[1:] = 0
    for row in rows.tolist():
        for feature in (1, 2):
            amounts = [gradients[row], 1.0] + ([curvatures[row]] if weighted else [])
            for place, amount in enumerate(amounts):
                expected[feature, numbers[row, feature], place] += amount
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.booleans())
def test_the_best_split_against_loops(seed, leaf_rows, weighted):
    rng, numbers, gradients = node(seed)
    weight = rng.uniform(0.1, 2, size=40).astype(np.float32)
    curvatures = weight if weighted else np.zeros(0, dtype=np.float32)
    curves = weight.astype(float).tolist() if weighted else [1.0] * 40
    counts = np.full(3, 6)
    score = float(gradients.sum()) ** 2 / (sum(curves) + 1.0)
    totals = np.array([[gradients.sum(dtype=np.float64), sum(curves), 40, score]])
    best, histogram = np.zeros((2, 7)), np.empty((3, 256, 3 if weighted else 2))
    histograms.look_at(
        best, histogram, np.zeros((0, 256, histogram.shape[2])), numbers, np.arange(40, dtype=np.int32), gradients,
        curvatures, np.ones((1, 3), dtype=np.uint8), np.array([True]), counts, totals, leaf_rows, 1.0, 0, 3,
    )  # fmt: skip
    expected = twins.best_split(
        numbers.tolist(), list(range(40)), gradients.tolist(), curves, [6, 6, 6], leaf_rows, 1.0, score
    )
    if expected is None:
        assert best[0, histograms.GAIN] <= 1e-9
    else:
        assert best[0, histograms.GAIN] == pytest.approx(expected[0], rel=1e-5)
        left = [r for r in range(40) if r in set(expected[4])]
        assert best[0, histograms.GRADIENT] == pytest.approx(gradients[left].sum(), rel=1e-4, abs=1e-4)
        assert best[0, histograms.ROWS] == len(left)


def test_the_siblings_histogram_is_what_is_left_of_the_parents():
    _, numbers, gradients = node(4)
    none = np.zeros(0, dtype=np.float32)
    parent, small, large = (np.empty((3, 256, 2)) for _ in range(3))
    every = np.arange(40, dtype=np.int32)
    histograms.fill_histogram(parent, numbers, every, gradients, none, 0, 3)
    histograms.fill_histogram(large, numbers, every[10:], gradients, none, 0, 3)
    histograms.look_at(
        np.zeros((2, 7)), small, parent, numbers, every[:10], gradients, none, np.ones((2, 3), dtype=np.uint8),
        np.array([False, False]), np.full(3, 6), np.zeros((2, 4)), 1, 1.0, 0, 3,
    )  # fmt: skip
    np.testing.assert_allclose(parent, large, atol=1e-12)
