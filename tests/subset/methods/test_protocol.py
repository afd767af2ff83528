"""Forecasts of several batches are joined as if they had been one."""

import numpy as np

import subcast as sc
from subcast.retrieval import Neighbors
from subcast.subset.methods import forecast_windows, make_method
from subcast.subset.methods.protocol import MethodForecast
from subset.examples import HORIZON, LOOKBACK, mixing, waves


def batch(count, first):
    index = np.full((count, 2), first, dtype=np.int64)
    return MethodForecast(
        np.full((count, 3, 1), first, dtype=np.float32), Neighbors(index, index.astype(np.float32)), index / 2
    )


def test_batches_are_joined_in_order():
    joined = MethodForecast.join([batch(2, 5), batch(1, 7)])
    assert joined.mean[:, 0, 0].tolist() == [5, 5, 7]
    assert joined.neighbors.index[:, 0].tolist() == [5, 5, 7]
    assert joined.weights.shape == (3, 2)


def test_many_windows_are_forecast_as_in_one_batch(monkeypatch):
    parts = waves(steps=400).split(LOOKBACK, HORIZON)
    present = np.array([0, 3])
    for settings in (sc.Settings(), sc.Settings.paper()):
        fitted = sc.SubsetForecaster(mixing, settings=settings, progress=False).fit(parts.train).fitted_
        arrived = fitted.arrive(parts.test[:20])
        whole = make_method(fitted, settings).forecast(arrived, present)
        with monkeypatch.context() as patch:
            patch.setattr("subcast.subset.methods._WINDOWS_AT_ONCE", 7)
            batches = forecast_windows(fitted, settings, arrived, present)
        np.testing.assert_array_equal(batches.neighbors.index, whole.neighbors.index)
        np.testing.assert_allclose(batches.mean, whole.mean, rtol=1e-5)
