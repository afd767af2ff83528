"""Weights of neighbors against loops over the paper's equations."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from subcast.errors import InputError
from subcast.weighting import by_distance, by_forecast, by_rank, forecast_distance, uniform
from subset.examples import assert_one_sentence
from twins.subset_twins import forecast_distance as loop_distance
from twins.subset_twins import rank_weights, softmax_weights, uniform_weights

near = st.floats(0, 50, allow_nan=False, width=32)
distances = st.lists(near, min_size=0, max_size=8).flatmap(
    lambda found: st.integers(0 if found else 1, 4).map(lambda none: sorted(found) + [math.inf] * none)
)
temperatures = st.sampled_from([1e-3, 0.01, 0.1, 1.0, 10.0, 1e6])


def assert_weights(found, twin):
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, twin, atol=2e-6)
    assert (found >= 0).all()


@given(distances)
def test_uniform_against_loops(row):
    assert_weights(uniform(row), uniform_weights(row) if math.isfinite(row[0]) else [0.0] * len(row))


@given(distances, temperatures)
def test_by_distance_against_loops(row, temperature):
    assert_weights(by_distance(row, temperature), softmax_weights(row, temperature))


@given(distances)
def test_by_rank_against_loops(row):
    assert_weights(by_rank(row), rank_weights(row) if math.isfinite(row[0]) else [0.0] * len(row))


@given(
    st.integers(1, 3), st.integers(1, 4), st.integers(1, 4), st.integers(1, 3), temperatures, st.integers(0, 2**32 - 1)
)
def test_by_forecast_against_loops(b, k, h, s, temperature, seed):
    rng = np.random.default_rng(seed)
    new, old = rng.normal(size=(2, b, k, h, s))
    apart = [[loop_distance(new[i, j], old[i, j]) for j in range(k)] for i in range(b)]
    np.testing.assert_allclose(forecast_distance(new, old), apart, rtol=1e-9)
    assert_weights(by_forecast(new, old, temperature), [softmax_weights(row, temperature) for row in apart])


@pytest.mark.parametrize("way", [uniform, by_distance, by_rank])
def test_sums_to_one_where_there_is_a_neighbor(way):
    rng = np.random.default_rng(3)
    distance = np.sort(rng.exponential(size=(5, 7, 9)), axis=-1)
    distance[2, 3, 4:] = np.inf
    distance[4, 1] = np.inf
    weights = way(distance)
    assert weights.shape == distance.shape
    total = weights.sum(axis=-1)
    assert total[4, 1] == 0
    total[4, 1] = 1
    np.testing.assert_allclose(total, 1, atol=1e-6)
    assert (weights[~np.isfinite(distance)] == 0).all()


@pytest.mark.parametrize("way", [uniform, by_distance])
def test_ties_weigh_alike(way):
    weights = way([0.25, 0.25, 0.25, 0.25])
    assert (weights == 0.25).all()


def test_ties_at_the_smallest_share_what_there_is():
    np.testing.assert_allclose(by_distance([0.1, 0.1, 5.0], 0.01), [0.5, 0.5, 0.0], atol=1e-7)


def test_nearer_never_weighs_less():
    distance = np.sort(np.random.default_rng(0).exponential(size=(20, 6)), axis=1)
    for weights in (by_distance(distance), by_rank(distance)):
        assert (np.diff(weights, axis=1) <= 0).all()
        assert (weights[:, 0] > weights[:, -1]).all()


@pytest.mark.parametrize("far", [1e3, 1e30])
def test_a_cold_softmax_takes_the_nearest_and_does_not_overflow(far):
    with np.errstate(all="raise", under="ignore"):
        np.testing.assert_array_equal(by_distance([far, far * 1.5, far * 2], 1e-6), [1, 0, 0])


def test_a_hot_softmax_is_uniform():
    np.testing.assert_allclose(by_distance([0.0, 1.0, 7.0], 1e9), [1 / 3] * 3, atol=1e-6)


def test_large_equal_distances_do_not_vanish():
    np.testing.assert_allclose(by_distance([5000.0, 5000.0], 0.01), [0.5, 0.5])


def test_all_infinite_gives_no_weights():
    nobody = [[math.inf] * 3]
    for way in (uniform, by_distance, by_rank):
        np.testing.assert_array_equal(way(nobody), [[0, 0, 0]])


def test_a_later_step_counts_less():
    new = np.zeros((1, 3, 4, 2))
    old = np.zeros_like(new)
    for place, q in enumerate((0, 1, 3)):
        old[0, place, q, 0] = 1.0
    np.testing.assert_allclose(forecast_distance(new, old), [[1 / 8, 1 / 16, 1 / 32]])


def test_a_neighbor_without_a_forecast_has_no_weight():
    new, old = np.zeros((1, 3, 2, 1)), np.zeros((1, 3, 2, 1))
    old[0, 1] = np.nan
    np.testing.assert_allclose(by_forecast(new, old), [[0.5, 0.0, 0.5]])


def test_inputs_stay_as_they_are():
    distance = np.array([[0.1, 0.4, np.inf]])
    new, old = np.ones((1, 2, 2, 1)), np.zeros((1, 2, 2, 1))
    kept = distance.copy(), new.copy(), old.copy()
    by_distance(distance), uniform(distance), by_rank(distance), by_forecast(new, old)
    for now, then in zip((distance, new, old), kept, strict=True):
        np.testing.assert_array_equal(now, then)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: by_distance([0.1], 0.0), ("temperature", "0.0")),
        (lambda: by_distance([0.1], -1), ("temperature", "-1")),
        (lambda: by_distance([0.1], math.nan), ("temperature", "nan")),
        (lambda: uniform(0.3), ("distance", "single number")),
        (lambda: by_rank([0.1, math.nan]), ("distance", "NaN")),
        (lambda: by_distance([0.1, math.nan]), ("distance", "NaN")),
        (lambda: forecast_distance(np.zeros((2, 3)), np.zeros((2, 3))), ("new", "(2, 3)")),
        (lambda: by_forecast(np.zeros((1, 2, 3, 1)), np.zeros((1, 2, 3, 2))), ("neighbors", "(1, 2, 3, 2)")),
        (lambda: by_forecast(np.zeros((1, 2, 3, 1)), np.zeros((1, 2, 3, 1)), 0), ("temperature", "0")),
    ],
)
def test_bad_input_in_one_sentence(call, words):
    with pytest.raises(InputError) as error:
        call()
    assert_one_sentence(error, *words)
