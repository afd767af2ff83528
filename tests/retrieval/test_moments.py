"""Moments and the regressions made of them against loops over time."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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


@pytest.mark.parametrize("holes", [0.0, 0.3])
def test_blocks_against_loops(holes):
    z = noise(holes=holes)
    moments = LagMoments.fit(z, 5)
    assert moments.lags == 5
    for lag in range(-4, 5):
        block = moments.block(lag, [2, 0], [1, 3, 2])
        twin = [[twins.lag_covariance(z, lag, i, j) for j in (1, 3, 2)] for i in (2, 0)]
        np.testing.assert_allclose(block, twin, atol=1e-5)


def test_looking_back_is_looking_forward_from_the_other_side():
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


def test_low_rank_is_the_dense_one_on_data_of_that_rank():
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


def test_readings_stay_as_they_are():
    z = noise(holes=0.2)
    kept = z.copy()
    LagMoments.fit(z, 4)
    np.testing.assert_array_equal(z, kept)


# Plans


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


def test_more_ridge_leans_less():
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


def test_the_same_s_is_solved_once():
    cache = RegressionCache(LagMoments.fit(noise(), 6), 4, 4, 2)
    first = cache.get(np.array([0, 2]), 0.1)
    assert cache.get(np.array([0, 2]), 0.1) is first
    assert cache.get(np.array([0, 3]), 0.1) is not first
    assert cache.get(np.array([0, 2]), 0.2) is not first
    assert len(cache) == 3
    assert isinstance(first, Regression)


def test_the_least_used_is_forgotten_first():
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
