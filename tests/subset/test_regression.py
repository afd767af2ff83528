"""Tests of the regression on S against an explicit one, and of the cache of regressions."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from subcast.errors import DataError
from subcast.retrieval.moments import LagMoments
from subcast.subset.regression import Regression, RegressionCache, make_regression, thinned_steps
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


def test_a_thinned_plan_against_an_explicit_regression():
    z, present = noise(t=150), [0, 1, 3]
    plan = make_regression(LagMoments.fit(z, 8), np.array(present), 4, 6, 2, RIDGE, most_cells=9)
    assert plan.steps.tolist() == [1, 3, 5]
    differences = np.random.default_rng(1).normal(size=(2, 6, 3)).astype(np.float32)
    twin = twins.regression(z, present, [1, 3, 5], RIDGE, [(6 + q, i) for q in range(2) for i in present])
    wanted = differences[:, [1, 3, 5]].reshape(2, -1) @ twin
    np.testing.assert_allclose(plan.future(plan.solve(differences), plan.present).reshape(2, -1), wanted, atol=2e-3)


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
    assert np.isfinite(plan.inverse).all()


@settings(max_examples=80)
@given(st.integers(1, 60), st.integers(1, 80))
def test_thinned_steps(lookback, most):
    steps = thinned_steps(lookback, most).tolist()
    assert len(steps) == min(lookback, most)
    assert steps[-1] == lookback - 1
    assert steps[0] >= 0
    apart = np.diff([-1, *steps])
    assert apart.min() >= 1
    assert apart.max() - apart.min() <= 1


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
