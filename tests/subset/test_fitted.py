"""Tests of the fitted parts: training windows as model inputs, paths, and forecasts of neighbors."""

import numpy as np
import pytest

import subcast as sc
from subcast.retrieval import Neighbors
from subset.examples import HORIZON, LOOKBACK, Counting, mixing, waves


@pytest.fixture(scope="module")
def parts():
    return waves(steps=400, features=("time_of_day",)).split(LOOKBACK, HORIZON)


@pytest.fixture
def fitted(parts):
    return sc.SubsetForecaster(Counting(), settings=sc.Settings(), progress=False).fit(parts.train).fitted_


def test_training_windows_as_the_model_takes_them(fitted, parts):
    index = np.array([0, 7, 31])
    expected = parts.train.batch(index).inputs
    np.testing.assert_allclose(fitted.candidate_inputs(index), expected, rtol=1e-4, atol=1e-4)


def test_paths_are_the_readings_of_the_training_series(fitted, parts):
    index, variables = np.array([3, 12]), np.array([5, 1])
    paths = fitted.paths_of(index, variables)
    starts = np.asarray(parts.train.starts)[index]
    for row, start in enumerate(starts):
        expected = parts.train.series.values[start : start + LOOKBACK + HORIZON][:, variables]
        np.testing.assert_allclose(paths[row], expected, rtol=1e-4, atol=1e-4)


def test_forecasts_of_neighbors_are_computed_once(fitted):
    neighbors = Neighbors(np.array([[4, 9], [9, -1]]), np.zeros((2, 2), dtype=np.float32))
    model = fitted.model.run
    before = model.windows
    first = fitted.forecasts_of_neighbors(neighbors)
    assert model.windows - before == 2
    np.testing.assert_array_equal(fitted.forecasts_of_neighbors(neighbors), first)
    assert model.windows - before == 2
    np.testing.assert_array_equal(first[0, 1], first[1, 0])
    assert np.isnan(first[1, 1]).all()
    np.testing.assert_allclose(first[0, 0], mixing(fitted.candidate_inputs(np.array([4])))[0], rtol=1e-5)


def test_order_of_a_forecast(fitted):
    present = np.array([1, 4])
    assert fitted.order(present, False).tolist() == [1, 4]
    assert fitted.order(present, True).tolist() == [1, 4, 0, 2, 3, 5]


def test_plain_forecasts_fill_missing_readings_with_the_center(fitted, parts):
    arrived = fitted.arrive(parts.test[:2])
    values = arrived.values.copy()
    values[0, 2, 3] = np.nan
    holed = type(arrived)(values, arrived.features, arrived.slots)
    usual = fitted.normalizer.restore(np.zeros_like(values), fitted.slots(holed, LOOKBACK))
    filled = values.copy()
    filled[0, 2, 3] = usual[0, 2, 3]
    expected = mixing(fitted.with_features(filled, arrived.features))
    np.testing.assert_allclose(fitted.plain_forecast(holed), expected, rtol=1e-5)
