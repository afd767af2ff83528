"""Tests of moments and regressions against loops over time."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from subcast.retrieval.moments import LagMoments, MomentSums
from twins import subset_twins as twins

RIDGE = 0.2


def noise(t=60, n=4, seed=0, holes=0.0):
    """Variables that follow each other, a step apart."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(t, n))
    for step in range(1, t):
        z[step] = 0.5 * z[step - 1] + 0.3 * np.roll(z[step - 1], 1) + 0.5 * z[step]
    z[rng.random(z.shape) < holes] = np.nan
    return z.astype(np.float32)


@pytest.mark.parametrize("holes", [0.0, 0.3])
def test_blocks_against_loops(holes):
    z = noise(holes=holes)
    moments = LagMoments.fit(z, 5)
    assert moments.lags == 5
    for lag in range(-4, 5):
        block = moments.block(lag, [2, 0], [1, 3, 2])
        twin = [[twins.lag_covariance(z, lag, i, j) for j in (1, 3, 2)] for i in (2, 0)]
        np.testing.assert_allclose(block, twin, atol=1e-5)


def test_a_negative_lag_is_the_transpose_of_the_positive_lag():
    moments = LagMoments.fit(noise(), 4)
    np.testing.assert_array_equal(moments.block(-3, [0, 1], [2]), moments.block(3, [2], [0, 1]).T)


@pytest.mark.parametrize("steps", [[0, 1, 2, 3], [1, 3], [3]])
def test_gram_and_cross_against_loops(steps):
    z = noise()
    moments = LagMoments.fit(z, 8)
    present, others, times = [1, 3], [0, 2], [0, 4, 6]
    cells = [(step, i) for step in steps for i in present]
    wanted = [(time, j) for time in times for j in others]
    gram = [[twins.lag_covariance(z, b[0] - a[0], a[1], b[1]) for b in cells] for a in cells]
    cross = [[twins.lag_covariance(z, b[0] - a[0], a[1], b[1]) for b in wanted] for a in cells]
    np.testing.assert_allclose(moments.gram(np.array(present), np.array(steps)), gram, atol=1e-5)
    np.testing.assert_allclose(
        moments.cross(np.array(present), np.array(steps), np.array(others), np.array(times)), cross, atol=1e-5
    )


def test_gram_is_symmetric_to_the_bit():
    moments = LagMoments.fit(noise(n=6), 6)
    gram = moments.gram(np.array([0, 2, 5]), np.arange(6))
    np.testing.assert_array_equal(gram, gram.T)


def factor_data(t=1500, n=12, rank=3, own=0.0, seed=2):
    rng = np.random.default_rng(seed)
    factors = np.zeros((t, rank))
    for step in range(1, t):
        factors[step] = 0.8 * factors[step - 1] + rng.normal(size=rank)
    rest = np.zeros((t, n))
    for step in range(1, t):
        rest[step] = 0.5 * rest[step - 1] + own * rng.normal(size=n)
    return (factors @ rng.normal(size=(rank, n)) + rest).astype(np.float32)


def test_low_rank_moments_equal_dense_ones_on_data_of_that_rank():
    z = factor_data()
    dense, few = LagMoments.fit(z, 5), LagMoments.fit(z, 5, dense_limit=4, rank=3)
    assert few.whole.size == 0
    assert few.loadings.shape == (12, 3)
    scale = float(np.abs(dense.whole).max())
    for lag in range(-4, 5):
        a, b = dense.block(lag, np.arange(12), np.arange(12)), few.block(lag, np.arange(12), np.arange(12))
        np.testing.assert_allclose(b / scale, a / scale, atol=1e-4)


def test_low_rank_keeps_each_variable_s_own_variance():
    z = factor_data(t=4000, own=1.5)
    dense, few = LagMoments.fit(z, 4), LagMoments.fit(z, 4, dense_limit=4, rank=3)
    scale = float(np.abs(dense.whole).max())
    for lag in range(4):
        a, b = dense.block(lag, np.arange(12), np.arange(12)), few.block(lag, np.arange(12), np.arange(12))
        np.testing.assert_allclose(np.diag(b) / scale, np.diag(a) / scale, atol=0.02)
        np.testing.assert_allclose(b / scale, a / scale, atol=0.1)
    np.testing.assert_allclose(few.loadings.T @ few.loadings, np.eye(3), atol=1e-4)


def test_low_rank_takes_any_rows_and_columns():
    few = LagMoments.fit(factor_data(t=500, own=1.0), 4, dense_limit=4, rank=3)
    whole = few.block(2, np.arange(12), np.arange(12))
    rows, columns = [7, 1, 4], [4, 0, 7, 11]
    np.testing.assert_allclose(few.block(2, rows, columns), whole[np.ix_(rows, columns)], atol=1e-6)


def test_fit_does_not_change_the_readings():
    z = noise(holes=0.2)
    kept = z.copy()
    LagMoments.fit(z, 4)
    np.testing.assert_array_equal(z, kept)


# Parts that are added up


@given(st.lists(st.integers(1, 30), min_size=1, max_size=5), st.integers(1, 8))
def test_sums_of_parts_are_those_of_the_whole(sizes, lags):
    """Each part is followed by the steps of the next that its products reach into."""
    z = np.random.default_rng(sum(sizes)).normal(size=(sum(sizes), 3))
    z[::7, 1] = np.nan
    whole = MomentSums.of(z, lags)
    bounds = np.concatenate([[0], np.cumsum(sizes)])
    parts = [MomentSums.of(z[a : b + lags - 1], lags, own_steps=b - a) for a, b in pairwise(bounds)]
    merged = sum(parts[1:], parts[0])
    assert merged.steps == whole.steps == len(z)
    np.testing.assert_allclose(merged.totals, whole.totals, rtol=0, atol=1e-12)
    again = sum(parts[1:], parts[0])
    np.testing.assert_array_equal(merged.totals, again.totals)


def test_merged_moments_are_those_of_the_whole():
    z = noise(t=200)
    merged = MomentSums.of(z[:83], 5, own_steps=79) + MomentSums.of(z[79:], 5)
    np.testing.assert_allclose(merged.moments().whole, LagMoments.fit(z, 5).whole, atol=1e-6)
    expected = sum(float(a) * float(b) for a, b in zip(z[:-2, 0], z[2:, 1], strict=True)) / len(z)
    assert abs(float(merged.totals[2, 0, 1]) / len(z) - expected) < 1e-12


@pytest.mark.parametrize("dense_limit", [99, 2])
@pytest.mark.parametrize("length", [1, 4, 16])
def test_moments_of_means_against_sums(dense_limit, length):
    z = np.random.default_rng(0).normal(size=(200, 5)).cumsum(axis=0).astype(np.float32)
    moments = LagMoments.fit(z, 30, dense_limit=dense_limit, rank=3)
    averaged = moments.averaged(length)
    rows, columns = np.array([0, 3]), np.array([1, 3, 4])
    for lag in range(length - 15, 30):  # at the smallest ones, readings before the steps of the mean
        expected = np.mean([moments.block(lag - step, rows, columns) for step in range(length)], axis=0)
        np.testing.assert_allclose(averaged.block(lag, rows, columns), expected, rtol=1e-4, atol=1e-3)
    found = averaged.lagged(rows, columns, length - 15, 29)
    expected = np.stack([averaged.block(lag, rows, columns) for lag in range(length - 15, 30)])
    np.testing.assert_array_equal(found, expected)
    assert moments.averaged(length) is averaged
