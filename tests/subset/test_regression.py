"""Tests of the regression on S against an explicit one, and of the cache of regressions."""

from dataclasses import replace

import numpy as np
import pytest

from subcast.errors import DataError
from subcast.retrieval.moments import LagMoments
from subcast.subset.regression import Regression, RegressionCache, make_regression
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


@pytest.mark.parametrize("present", [[0], [1, 3], [0, 2, 3], [0, 1, 2, 3]], ids=str)
def test_plan_against_an_explicit_regression(present):
    z = noise(t=150)
    lookback, horizon = 4, 3
    absent = [i for i in range(4) if i not in present]
    plan = make_regression(LagMoments.fit(z, lookback + horizon), np.array(present), 4, lookback, horizon, RIDGE)
    differences = np.random.default_rng(1).normal(size=(5, lookback, len(present))).astype(np.float32)
    solved = plan.solve(differences)
    flat = differences.reshape(5, -1)

    def twin(targets):
        return flat @ twins.regression(z, present, range(lookback), RIDGE, targets) if targets else np.zeros((5, 0))

    inputs = twin([(p, i) for p in range(lookback) for i in absent]).reshape(5, lookback, len(absent))
    future = twin([(lookback + q, i) for q in range(horizon) for i in present]).reshape(5, horizon, len(present))
    hidden = twin([(lookback + q, i) for q in range(horizon) for i in absent]).reshape(5, horizon, len(absent))
    np.testing.assert_allclose(plan.inputs(solved), inputs, atol=2e-3)
    np.testing.assert_allclose(plan.future(solved, plan.present), future, atol=2e-3)
    np.testing.assert_allclose(plan.future(solved, plan.absent), hidden, atol=2e-3)
    np.testing.assert_array_equal(
        plan.future(solved, plan.present), plan.future(solved, plan.present)
    )  # from what is kept, the same


def test_plan_is_close_to_least_squares_on_the_stretches_themselves():
    z = noise(t=6000, seed=5)
    present, lookback, horizon = [0, 2], 4, 2
    plan = make_regression(LagMoments.fit(z, lookback + horizon), np.array(present), 4, lookback, horizon, 0.0)
    rows = [z[t : t + lookback][:, present].ravel() for t in range(len(z) - lookback - horizon)]
    ahead = [z[t + lookback : t + lookback + horizon][:, present].ravel() for t in range(len(rows))]
    answer, *_ = np.linalg.lstsq(np.array(rows, dtype=float), np.array(ahead, dtype=float), rcond=None)
    some = np.array(rows[::500], dtype=np.float32)
    found = plan.future(plan.solve(some.reshape(len(some), lookback, 2)), plan.present)
    np.testing.assert_allclose(found.reshape(len(some), -1), some @ answer, atol=0.05)
    assert np.abs(some @ answer).max() > 0.5  # there is something to forecast


def test_a_regression_on_segments_against_an_explicit_one():
    z, present, lookback = noise(t=150), [0, 1, 3], 12
    moments = LagMoments.fit(z, lookback + 2)
    plan = make_regression(moments, np.array(present), 4, lookback, 2, RIDGE, most_cells=18)
    assert plan.segments.lengths == (4, 4, 1, 1, 1, 1)
    spread = np.zeros((6, lookback))  # from steps to segment means
    for number, (first, length) in enumerate(zip(plan.segments.first, plan.segments.lengths, strict=True)):
        spread[number, first : first + length] = 1 / length
    means = np.kron(spread, np.eye(3))
    every = np.arange(lookback)
    gram = means @ moments.gram(np.array(present), every) @ means.T + (RIDGE + 1e-5) * np.eye(18)
    cross = means @ moments.cross(np.array(present), every, np.array(present), lookback + np.arange(2))
    differences = np.random.default_rng(1).normal(size=(2, lookback, 3)).astype(np.float32)
    wanted = differences.reshape(2, -1) @ means.T @ np.linalg.solve(gram, cross)
    found = plan.future(plan.solve(differences), plan.present).reshape(2, -1)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)


def test_a_larger_ridge_gives_smaller_predictions():
    moments = LagMoments.fit(noise(t=300), 6)
    differences = np.ones((1, 4, 2), dtype=np.float32)
    sizes = []
    for ridge in (0.01, 1.0, 100.0, 1e6):
        plan = make_regression(moments, np.array([0, 2]), 4, 4, 2, ridge)
        sizes.append(float(np.abs(plan.future(plan.solve(differences), plan.present)).sum()))
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] < 1e-3


@pytest.mark.parametrize("steps", [10, 20, 40])
def test_short_training_data_give_a_regression_too(steps):
    z = np.random.default_rng(steps).normal(size=(steps, 6)).cumsum(axis=0)
    z = ((z - z.mean(axis=0)) / z.std(axis=0)).astype(np.float32)
    plan = make_regression(LagMoments.fit(z, 9), np.array([0, 1, 2, 3]), 6, 6, 3, 0.01)
    assert np.isfinite(plan.factor).all()


def test_the_same_s_is_taken_from_the_cache():
    cache = RegressionCache(LagMoments.fit(noise(), 6), 4, 4, 2)
    first = cache.get(np.array([0, 2]), 0.1)
    assert cache.get(np.array([0, 2]), 0.1) is first
    assert cache.get(np.array([0, 3]), 0.1) is not first
    assert cache.get(np.array([0, 2]), 0.2) is not first
    assert len(cache) == 3
    assert isinstance(first, Regression)


def test_the_least_recently_used_regression_is_dropped_first():
    moments = LagMoments.fit(noise(), 6)
    size = make_regression(moments, np.array([0]), 4, 4, 2, 0.1).nbytes
    cache = RegressionCache(moments, 4, 4, 2, cached_bytes=2 * size)
    a, b = cache.get(np.array([0]), 0.1), cache.get(np.array([1]), 0.1)
    assert cache.get(np.array([0]), 0.1) is a  # used again, so that 1 is the one to go
    cache.get(np.array([2]), 0.1)
    assert len(cache) == 2
    assert cache.get(np.array([0]), 0.1) is a
    assert cache.get(np.array([1]), 0.1) is not b
    cache.clear()
    assert len(cache) == 0


def test_moments_that_are_not_those_of_any_readings():
    moments = LagMoments.fit(np.random.default_rng(0).normal(size=(50, 3)).astype(np.float32), lags=5)
    damaged = replace(moments, whole=-moments.whole)
    with pytest.raises(DataError, match="has no solution, because the moments of the wrapper are not those of any"):
        make_regression(damaged, np.array([0, 2]), 3, 3, 2, ridge=0.1)


# Most variables are present


@pytest.mark.parametrize("most_cells", [12, 99])
def test_a_large_s_is_read_from_the_moments_of_all_variables(most_cells):
    z = noise(n=8)
    dense, present = LagMoments.fit(z, 22), np.arange(3)
    differences = np.random.default_rng(1).normal(size=(6, 20, 3)).astype(np.float32)
    found = {}
    for n in (8, 20):  # 3 of 20 variables are few: those of S are copied
        plan = make_regression(dense, present, n, 20, 2, 0.1, most_cells)
        assert (plan.rows is plan.present) == (n == 8)
        found[n] = plan.future(plan.solve(differences), present)
        one = plan.future(plan.solve(differences[:1]), present)
        np.testing.assert_allclose(one, found[n][:1], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found[8], found[20], rtol=1e-5, atol=1e-6)
