"""Tests of means, medians and deviations of the neighbors' readings against loops."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from subcast.retrieval.pooling import pool_deviation, pool_mean, pool_median
from twins.subset_twins import middle


def loop_pool(rows, starts, weights, variables, skip, length, take):
    """[b][length][s]: `take` of the (weight, reading) pairs that are there, 0 without any."""
    pooled = np.zeros((len(starts), length, len(variables)))
    for b, places in enumerate(starts):
        for step in range(length):
            for column, variable in enumerate(variables):
                found = []
                for place, start in enumerate(places):
                    if start >= 0:
                        reading = float(rows[variable][start + skip + step])
                        if not math.isnan(reading):
                            found.append((float(weights[b][place]), reading))
                pooled[b, step, column] = take(found)
    return pooled


def weighted_mean(found):
    total = sum(weight for weight, _ in found)
    return sum(weight * reading for weight, reading in found) / total if total > 0 else 0.0


def plain_median(found):
    return middle([reading for _, reading in found]) if found else 0.0


def deviation(found):
    readings = [reading for _, reading in found]
    if len(readings) < 3:
        return 1.0
    mean = sum(readings) / len(readings)
    return math.sqrt(sum((x - mean) ** 2 for x in readings) / len(readings))


@st.composite
def cases(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, b, k = draw(st.integers(1, 4)), draw(st.integers(0, 4)), draw(st.integers(1, 7))
    skip, length = draw(st.integers(0, 3)), draw(st.integers(1, 4))
    rows = rng.normal(size=(n, 20)).astype(np.float32)
    rows[rng.random(rows.shape) < draw(st.sampled_from([0, 0.2, 0.9]))] = np.nan
    if draw(st.booleans()):
        rows = np.round(rows)  # ties
    starts = rng.integers(0, 20 - skip - length + 1, size=(b, k))
    starts[rng.random(starts.shape) < draw(st.sampled_from([0, 0.3, 1]))] = -1
    weights = rng.random((b, k)).astype(np.float32)
    weights[rng.random(weights.shape) < draw(st.sampled_from([0, 0.3]))] = 0
    variables = rng.permutation(n)[: draw(st.integers(1, n))]
    return rows, starts, weights, variables, skip, length


@settings(max_examples=60)
@given(cases())
def test_mean_against_loops(case):
    rows, starts, weights, variables, skip, length = case
    found = pool_mean(rows, starts, weights, variables, skip, length)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, loop_pool(*case, weighted_mean), atol=3e-6)


@settings(max_examples=60)
@given(cases())
def test_median_against_loops(case):
    rows, starts, _, variables, skip, length = case
    found = pool_median(rows, starts, variables, skip, length)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, loop_pool(*case, plain_median), atol=1e-6)


@settings(max_examples=60)
@given(cases())
def test_deviation_against_loops(case):
    rows, starts, _, variables, skip, length = case
    found = pool_deviation(rows, starts, variables, skip, length)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, loop_pool(*case, deviation), atol=2e-4)


@pytest.fixture
def many():
    """Enough work to be divided among processors."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(30, 900)).astype(np.float32)
    rows[rng.random(rows.shape) < 0.1] = np.nan
    return rows, rng.integers(-1, 880, size=(500, 20)), rng.random((500, 20)).astype(np.float32), np.arange(30)


def test_a_batch_gives_the_same_as_each_window_alone(many):
    rows, starts, weights, variables = many
    together = pool_mean(rows, starts, weights, variables, 2, 12)
    medians = pool_median(rows, starts, variables, 2, 12)
    apart = pool_deviation(rows, starts, variables, 2, 12)
    for window in (0, 1, 249, 250, 251, 499):
        one = slice(window, window + 1)
        np.testing.assert_array_equal(together[one], pool_mean(rows, starts[one], weights[one], variables, 2, 12))
        np.testing.assert_array_equal(medians[one], pool_median(rows, starts[one], variables, 2, 12))
        np.testing.assert_array_equal(apart[one], pool_deviation(rows, starts[one], variables, 2, 12))


def test_weights_need_not_sum_to_one():
    rows = np.array([[1, 2, 3, 4]], dtype=np.float32)
    starts, weights = np.array([[0, 2]]), np.array([[3, 1]], dtype=np.float32)
    np.testing.assert_allclose(pool_mean(rows, starts, weights, np.array([0]), 0, 2)[0, :, 0], [1.5, 2.5])


def test_without_neighbors_the_default_value_is_returned():
    rows = np.full((1, 5), np.nan, dtype=np.float32)
    starts, weights = np.array([[0, -1]]), np.ones((1, 2), dtype=np.float32)
    np.testing.assert_array_equal(pool_mean(rows, starts, weights, np.array([0]), 0, 3), np.zeros((1, 3, 1)))
    np.testing.assert_array_equal(pool_median(rows, starts, np.array([0]), 0, 3), np.zeros((1, 3, 1)))


def test_a_read_only_bank_is_accepted_and_not_changed(many):
    rows, starts, weights, variables = many
    rows.flags.writeable = False
    kept = rows.copy()
    pool_mean(rows, starts[:3], weights[:3], variables, 0, 4)
    pool_median(rows, starts[:3], variables, 0, 4)
    np.testing.assert_array_equal(rows, kept)
