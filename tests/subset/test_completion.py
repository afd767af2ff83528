"""Tests of completion: filled readings, readings that arrived, and absent variables."""

import numpy as np
import pytest

import subcast as sc
from subcast.errors import InputError
from subcast.subset.completion import DistanceEvidence, complete, fill_holes, model_inputs, weigh_by_distance
from subset.examples import HORIZON, LOOKBACK, mixing, waves

PRESENT = np.array([0, 3])


@pytest.fixture(scope="module")
def parts():
    return waves(steps=400, features=("time_of_day",)).split(LOOKBACK, HORIZON)


def completed(parts, **changes):
    settings = sc.Settings(**changes)
    robust = sc.SubsetForecaster(mixing, settings=settings, progress=False).fit(parts.train)
    fitted = robust.fitted_
    arrived = fitted.arrive(parts.test[:5])
    neighbors = fitted.retrieve(arrived, PRESENT, settings.neighbors, settings.exponent)
    return complete(fitted, settings, arrived, PRESENT, neighbors, weigh_by_distance(neighbors, settings))


def test_missing_readings_are_filled_as_computed_by_hand():
    readings = np.array([[[1.0], [np.nan], [5.0], [np.nan]]], dtype=np.float32)
    course = np.array([[[0.0], [1.0], [2.0], [7.0]]], dtype=np.float32)
    # offsets 1 and 3 around the first hole give 2 in between; the last hole keeps the last offset
    np.testing.assert_allclose(fill_holes(readings, course).ravel(), [1.0, 3.0, 5.0, 10.0])


def test_a_variable_without_a_reading_follows_the_neighbors():
    readings = np.full((1, 3, 1), np.nan, dtype=np.float32)
    course = np.arange(3, dtype=np.float32).reshape(1, 3, 1)
    np.testing.assert_array_equal(fill_holes(readings, course), course)


def test_readings_without_nan_are_not_copied():
    readings = np.ones((2, 3, 1), dtype=np.float32)
    assert fill_holes(readings, 0 * readings) is readings


def test_readings_that_arrived_reach_the_model_unchanged(parts):
    inputs = model_inputs(completed(parts, correction=1.0))
    np.testing.assert_array_equal(inputs[:, :, PRESENT, 0], parts.test[:5].readings[:, :, PRESENT])
    np.testing.assert_array_equal(inputs[:, :, 1, 1], parts.test[:5].features[:, :, 0])


def test_absent_variables_get_the_readings_of_a_single_neighbor(parts):
    changes = {"daily_profile": False, "time_of_day_weight": 0.0, "features_in_distance": True}
    done = completed(parts, neighbors=1, correction=0.0, **changes)
    starts = done.fitted.starts_of(done.neighbors)[:, 0]
    inputs = model_inputs(done, borrow_features=True)
    series = parts.train.series
    for window, start in enumerate(starts):
        lent = series.values[start : start + LOOKBACK]
        np.testing.assert_allclose(inputs[window, :, 1, 0], lent[:, 1], rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(inputs[window, :, 1, 1], series.features[start : start + LOOKBACK, 0], atol=1e-6)


def test_weights_without_forecasts(parts):
    with pytest.raises(InputError, match="set pool=False"):
        DistanceEvidence(np.zeros((1, 2), dtype=np.float32), 0.1).forecast_distance()
