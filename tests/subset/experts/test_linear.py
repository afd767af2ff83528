"""The regression on S alone: against loops, without the model and without neighbors."""

from dataclasses import replace

import numpy as np
import pytest

import subcast as sc
from subcast.errors import InputError
from subcast.subset.completion import complete, weigh_by_distance
from subcast.subset.experts import Linear
from subset.examples import HORIZON, LOOKBACK, Counting, hours_of, waves
from twins import subset_twins

PRESENT = np.array([0, 2])
SETTINGS = sc.Settings(neighbors=5, ridge=0.2, blend={"linear": ((1.0,) * HORIZON,) * 3})


@pytest.fixture(scope="module")
def parts():
    return waves(n=4, steps=400).split(LOOKBACK, HORIZON)


@pytest.fixture(scope="module")
def robust(parts):
    return sc.SubsetForecaster(Counting(), settings=SETTINGS, progress=False).fit(parts.train)


def done_with(robust, windows, settings=SETTINGS, present=PRESENT):
    fitted = robust.fitted_
    arrived = fitted.arrive(windows)
    neighbors = fitted.retrieve(arrived, present, settings.neighbors, settings.exponent)
    return complete(fitted, settings, arrived, present, neighbors, weigh_by_distance(neighbors, settings))


@pytest.mark.parametrize("variables", [[0, 2], [1, 3]], ids=["present", "absent"])
def test_it_is_the_ridge_regression_in_deviations_from_the_usual_value(parts, robust, variables):
    windows = parts.test[:3]
    forecast = Linear().forecast(done_with(robust, windows), np.array(variables))
    normalizer, hours = robust.fitted_.normalizer, hours_of(parts.train.series)
    normal = (parts.train.series.values - normalizer.center[hours]) / normalizer.spread[hours]
    cells = [(LOOKBACK + q, i) for q in range(HORIZON) for i in variables]
    weights = subset_twins.regression(normal, PRESENT, range(LOOKBACK), 0.2 + 1e-5, cells)
    hours = hours_of(parts.test.series)
    for number in range(3):
        past = [hours[number + step] for step in range(LOOKBACK)]
        readings = (windows.readings[number] - normalizer.center[past]) / normalizer.spread[past]
        ahead = (readings[:, PRESENT].reshape(-1) @ weights).reshape(HORIZON, len(variables))
        for q in range(HORIZON):
            hour = hours[number + LOOKBACK + q]
            expected = normalizer.center[hour, variables] + normalizer.spread[hour, variables] * ahead[q]
            np.testing.assert_allclose(forecast[number, q], expected, rtol=1e-3, atol=1e-3)


def test_usual_readings_give_the_usual_value(parts, robust):
    done = done_with(robust, parts.test[:2])
    usual = replace(done, readings=np.zeros_like(done.readings))
    slots = robust.fitted_.slots(done.arrived, HORIZON, LOOKBACK)
    forecast = Linear().forecast(usual, PRESENT)
    np.testing.assert_allclose(forecast, robust.fitted_.normalizer.center[:, PRESENT][slots % 24], rtol=1e-5)


def test_the_model_is_not_run(parts, robust):
    counter = robust.fitted_.model.run
    before = counter.windows
    mean = robust.predict_many(parts.test[:4], PRESENT).mean
    assert counter.windows == before
    np.testing.assert_allclose(mean, Linear().forecast(done_with(robust, parts.test[:4]), PRESENT), rtol=1e-5)


def test_without_moments_it_says_what_to_do(parts, robust):
    done = done_with(robust, parts.test[:2])
    without = replace(done, regression=None)
    with pytest.raises(InputError, match="needs moments"):
        Linear().forecast(without, PRESENT)


def test_its_state_is_empty():
    assert Linear().state().arrays == {}
    assert isinstance(Linear.from_state(Linear().state()), Linear)
