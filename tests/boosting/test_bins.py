"""Bins: they are scikit-learn's, and the numbers are those of a plain count of edges."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from subcast.boosting.bins import Bins
from twins.boosting_twins import bin_number


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 900), st.integers(1, 400), st.integers(2, 255), st.integers(0, 2**32 - 1))
def test_numbers_against_loops(count, different, most, seed):
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, different, size=(count, 2)).astype(np.float32) / 7
    rows[rng.random(rows.shape) < 0.2] = np.nan
    bins = Bins.of(rows, most)
    numbers = bins.numbers(rows)
    assert numbers.dtype == np.uint8
    for feature, edges in enumerate(bins.edges):
        assert len(edges) < most
        assert (np.diff(edges) > 0).all()
        expected = [bin_number(value, edges.tolist()) for value in rows[:, feature].tolist()]
        assert numbers[:, feature].tolist() == expected
        known = {value for value in rows[:, feature].tolist() if value == value}
        if len(known) <= most:  # each value has its own bin
            assert len(set(expected) - {255}) == len(known)


@pytest.mark.parametrize("different", [40, 5000])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_edges_are_those_of_scikit_learn(different, kind):
    from sklearn.ensemble._hist_gradient_boosting.binning import _BinMapper

    rng = np.random.default_rng(1)
    rows = rng.integers(0, different, size=(3301, 2)).astype(kind) / 3
    rows[rng.choice(3301, 300, replace=False)] = np.nan  # leaves a prime number: no quantile lies exactly at a row
    mapper = _BinMapper(n_bins=256, random_state=0).fit(rows.astype(np.float64))
    bins = Bins.of(rows)
    for own, expected in zip(bins.edges, mapper.bin_thresholds_, strict=True):
        np.testing.assert_allclose(own, expected, rtol=1e-6)
    expected = mapper.transform(rows.astype(np.float64))
    np.testing.assert_array_equal(bins.numbers(rows), expected)


def test_bins_hold_about_the_same_number_of_rows():
    rows = np.random.default_rng(0).normal(size=(300_000, 1)).astype(np.float32)
    numbers = np.bincount(Bins.of(rows).numbers(rows)[:, 0], minlength=256)
    assert numbers[255] == 0
    assert numbers[:255].min() > 0.8 * 300_000 / 255


def test_infinite_and_constant_and_missing_columns():
    rows = np.array([[np.inf, 2.0, np.nan], [-np.inf, 2.0, np.nan], [0.0, 2.0, np.nan]])
    bins = Bins.of(rows)
    assert np.isfinite(bins.edges[0]).all()
    assert bins.numbers(rows).tolist() == [[2, 0, 255], [0, 0, 255], [1, 0, 255]]
    assert bins.threshold(1, 0) == np.inf
    assert bins.threshold(0, 0) == bins.edges[0][0]
