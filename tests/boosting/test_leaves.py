"""Gradients, quantiles and sums of leaves, against plain loops."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from subcast.boosting import leaves
from twins import boosting_twins as twins

NUMBERS = st.lists(st.integers(-9, 9) | st.floats(-5, 5), min_size=1, max_size=40)


@given(NUMBERS, st.floats(0.01, 0.99))
def test_quantiles_against_a_sort(values, quantile):
    found = leaves.plain_quantile(np.array(values, dtype=np.float64), quantile)
    assert found == pytest.approx(twins.quantile_of(values, quantile), rel=1e-12, abs=1e-12)
    assert found == pytest.approx(np.quantile(values, quantile), rel=1e-9, abs=1e-9)


@given(NUMBERS, st.floats(0.01, 0.99), st.integers(0, 2**32 - 1))
def test_weighted_quantiles_against_a_sort(values, quantile, seed):
    weight = np.random.default_rng(seed).integers(0, 5, len(values)) + (np.arange(len(values)) == 0)
    found = leaves.weighted_quantile(np.array(values, dtype=np.float64), weight.astype(np.float64), quantile)
    assert found == twins.weighted_quantile_of(values, weight.tolist(), quantile)


def test_a_weighted_quantile_is_a_value_of_some_weight():
    assert leaves.weighted_quantile(np.array([1.0, 2.0, 3.0]), np.array([0.0, 1.0, 0.0]), 0.01) == 2.0
    assert leaves.weighted_quantile(np.array([3.0, 2.0, 1.0]), np.array([0.0, 1.0, 0.0]), 0.99) == 2.0


@pytest.mark.parametrize(("loss", "quantile"), [("squared", np.nan), ("absolute", 0.5), ("quantile", 0.8)])
@pytest.mark.parametrize("weighted", [False, True])
def test_gradients_against_loops(loss, quantile, weighted):
    rng = np.random.default_rng(0)
    target, sums, weight = (
        rng.integers(0, 3, 20).astype(float),
        rng.integers(0, 3, 20).astype(float),
        rng.uniform(size=20),
    )
    found = np.empty(20, dtype=np.float32)
    given_weight = weight.astype(np.float32) if weighted else np.zeros(0, dtype=np.float32)
    leaves.fill_gradients(found, target, sums, given_weight, quantile, loss == "absolute")
    expected = twins.gradients(target, sums, weight if weighted else np.ones(20), loss, quantile)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("weighted", [False, True])
def test_leaf_values_and_sums(weighted):
    rng = np.random.default_rng(2)
    order = rng.permutation(12).astype(np.int32)
    begins, ends = np.array([0, 5]), np.array([5, 12])
    target, sums = rng.normal(size=12), rng.normal(size=12)
    weight = rng.integers(1, 4, 12).astype(np.float32) if weighted else np.zeros(0, dtype=np.float32)
    values = np.empty(2)
    leaves.leaf_quantiles(values, order, begins, ends, target, sums, weight, 0.3)
    before = sums.copy()
    leaves.add_values(sums, order, begins, ends, values)
    for leaf, rows in enumerate((order[:5], order[5:])):
        left = (target - before)[rows].tolist()
        expected = (
            twins.weighted_quantile_of(left, weight[rows].tolist(), 0.3) if weighted else twins.quantile_of(left, 0.3)
        )
        assert values[leaf] == pytest.approx(expected)
        np.testing.assert_allclose(sums[rows], before[rows] + expected)
