"""Tests of the specialist: the neighbors' futures and a regression on S, without the model."""

from dataclasses import replace

import numpy as np
import pytest

import subcast as sc
from subcast.subset.completion import complete, weigh_by_distance
from subcast.subset.experts import Specialist
from subset.examples import HORIZON, LOOKBACK, waves

PRESENT = np.array([0, 3])
PLAIN = sc.Settings(
    neighbors=5, daily_profile=False, time_of_day_weight=0.0, regression_share=0.0, blend=((1.0,) * HORIZON,) * 3
)


def never(x):
    return np.zeros((len(x), HORIZON, x.shape[2]))


@pytest.fixture(scope="module")
def parts():
    return waves(steps=400).split(LOOKBACK, HORIZON)


def done_with(parts, settings):
    fitted = sc.SubsetForecaster(never, settings=settings, progress=False).fit(parts.train).fitted_
    arrived = fitted.arrive(parts.test[:4])
    neighbors = fitted.retrieve(arrived, PRESENT, settings.neighbors, settings.exponent)
    return complete(fitted, settings, arrived, PRESENT, neighbors, weigh_by_distance(neighbors, settings))


@pytest.mark.parametrize("center", ["median", "mean"])
@pytest.mark.parametrize("variables", [[0, 3], [1, 2, 4, 5]], ids=["present", "absent"])
def test_without_a_regression_it_is_the_center_of_the_futures(parts, center, variables):
    done = done_with(parts, replace(PLAIN, center=center))
    forecast = Specialist().forecast(done, np.array(variables))
    values = parts.train.series.values
    for window, starts in enumerate(done.fitted.starts_of(done.neighbors)):
        futures = np.stack([values[s + LOOKBACK : s + LOOKBACK + HORIZON][:, variables] for s in starts])
        expected = np.median(futures, axis=0) if center == "median" else futures.mean(axis=0)
        np.testing.assert_allclose(forecast[window], expected, rtol=1e-3, atol=1e-3)


def test_the_regression_adds_its_share(parts):
    none, half, whole = (
        Specialist().forecast(done_with(parts, replace(PLAIN, regression_share=share)), PRESENT)
        for share in (0.0, 0.5, 1.0)
    )
    np.testing.assert_allclose(half, (none + whole) / 2, rtol=1e-3, atol=1e-3)
    assert not np.allclose(none, whole)
