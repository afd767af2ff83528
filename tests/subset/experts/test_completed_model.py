"""Tests of the model expert: one pass on the completed window, for the wanted variables only."""

import numpy as np
import pytest

import subcast as sc
from subcast.subset.completion import complete, model_inputs, weigh_by_distance
from subcast.subset.experts import CompletedModel
from subset.examples import HORIZON, LOOKBACK, Counting, mixing, waves

PRESENT = np.array([0, 3])


@pytest.fixture(scope="module")
def done():
    parts = waves(steps=400).split(LOOKBACK, HORIZON)
    robust = sc.SubsetForecaster(Counting(), settings=sc.Settings(follow_levels=False), progress=False).fit(parts.train)
    fitted, settings = robust.fitted_, robust.settings_
    arrived = fitted.arrive(parts.test[:5])
    neighbors = fitted.retrieve(arrived, PRESENT, settings.neighbors, settings.exponent)
    return complete(fitted, settings, arrived, PRESENT, neighbors, weigh_by_distance(neighbors, settings))


def test_it_is_the_model_on_the_completed_window(done):
    counter = done.fitted.model.run
    before = counter.windows
    forecast = CompletedModel().forecast(done, np.array([4, 1]))
    assert counter.windows - before == 5  # one pass for each window
    np.testing.assert_allclose(forecast, mixing(model_inputs(done))[:, :, [4, 1]], rtol=1e-5)


def test_its_state_is_empty():
    expert = CompletedModel()
    assert expert.state().arrays == {}
    assert isinstance(CompletedModel.from_state(expert.state()), CompletedModel)


def moved_case(present):
    """A window of which one variable is far above its training, and what the model gets and returns."""
    steps = 1200
    values = np.stack([0.05 * np.arange(steps) + np.sin(np.arange(steps) + place) for place in range(4)], axis=1)
    parts = sc.Series(values).split(LOOKBACK, HORIZON)
    robust = sc.SubsetForecaster(Counting(), settings=sc.Settings(), progress=False).fit(parts.train)
    fitted, settings = robust.fitted_, robust.settings_
    window = np.array(parts.train.readings[-1:])
    window[:, :, 0] += 40.0
    arrived = type(fitted.arrive(parts.train[:1]))(window, None, np.zeros(1, dtype=np.int64))
    neighbors = fitted.retrieve(arrived, present, settings.neighbors, settings.exponent)
    return complete(fitted, settings, arrived, present, neighbors, weigh_by_distance(neighbors, settings))


def test_a_variable_beyond_its_training_is_moved_back_and_its_forecast_forward():
    done = moved_case(np.array([0, 1]))
    offset = float(done.moved.arrived.offsets[0, 0])
    assert 35 < offset < 45
    inputs = model_inputs(done.moved)
    np.testing.assert_allclose(inputs[0, :, 0, 0], done.arrived.values[0, :, 0] - offset, rtol=1e-4)
    expected = mixing(inputs)[:, :, [0, 1]]
    expected[:, :, 0] += offset
    np.testing.assert_allclose(CompletedModel().forecast(done, np.array([0, 1])), expected, rtol=1e-4)


def test_with_all_variables_nothing_is_moved():
    done = moved_case(np.arange(4))
    window = done.arrived.values[..., None]
    np.testing.assert_allclose(CompletedModel().forecast(done, np.arange(4)), mixing(window), rtol=1e-4)
