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
    robust = sc.SubsetForecaster(Counting(), settings=sc.Settings(), progress=False).fit(parts.train)
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
