"""Tests that wrappers can be pickled for worker processes, and that threads are independent."""

import pickle
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest

import subcast as sc
from subcast.evaluation import oracle, partial_inputs, wrapped
from subset.examples import HORIZON, LOOKBACK, mixing, waves

BLEND = ((0.3, 0.4, 0.5),) * 3


@pytest.fixture(scope="module")
def parts():
    return waves(steps=1500, features=("time_of_day",)).split(LOOKBACK, HORIZON)


@pytest.fixture(scope="module", params=["default", "paper"])
def robust(parts, request):
    if request.param == "paper":
        return sc.SubsetForecaster.paper(mixing, progress=False).fit(parts.train)
    return sc.SubsetForecaster(mixing, settings=sc.Settings(blend=BLEND), progress=False).fit(parts.train, parts.val)


def forecast_mean(robust, values, present):
    return robust.predict_many(values, present).mean


def windows_of(parts):
    return parts.test[:6].batch().inputs


def test_a_pickled_wrapper_forecasts_the_same(robust, parts):
    robust.predict_many(parts.test[:3], [0, 3])  # so that caches and scratch files are in use
    copy = pickle.loads(pickle.dumps(robust))
    np.testing.assert_array_equal(
        forecast_mean(copy, windows_of(parts), [0, 3]), forecast_mean(robust, windows_of(parts), [0, 3])
    )


def test_another_process_forecasts_the_same(robust, parts):
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        theirs = pool.submit(forecast_mean, robust, windows_of(parts), [0, 3]).result()
    np.testing.assert_array_equal(theirs, forecast_mean(robust, windows_of(parts), [0, 3]))


def test_a_forecast_is_pickled_with_its_paths(robust, parts):
    frame = parts.test.series.to_frame().iloc[:LOOKBACK, [0, 3]]
    forecast = robust.predict(frame)
    copy = pickle.loads(pickle.dumps(forecast))
    np.testing.assert_array_equal(copy.paths(), forecast.paths())
    assert len(pickle.dumps(forecast)) < robust.fitted_.bank.data.nbytes / 2  # the bank does not go along


@pytest.mark.parametrize("adapter", ["callable", "sklearn", "torch"])
def test_adapted_models_can_be_pickled(adapter, parts):
    from sklearn.linear_model import Ridge
    from torch import nn

    from subcast import adapters

    sizes = {"lookback": LOOKBACK, "horizon": HORIZON}
    models = {
        "callable": lambda: adapters.from_callable(mixing, **sizes),
        "sklearn": lambda: adapters.from_sklearn(Ridge().fit(*adapters.flatten(parts.train)), n_features=2, **sizes),
        "torch": lambda: adapters.from_torch(
            nn.Sequential(nn.Flatten(1), nn.Linear(72, 18), nn.Unflatten(1, (3, 6))), **sizes
        ),
    }
    model = models[adapter]()
    copy = pickle.loads(pickle.dumps(model))
    x = windows_of(parts)
    np.testing.assert_array_equal(copy(x), model(x))


def test_methods_of_an_evaluation_can_be_pickled(robust, parts):
    for make in (oracle, partial_inputs, wrapped):
        method = make(robust)
        copy = pickle.loads(pickle.dumps(method))
        present = np.array([0, 3])
        np.testing.assert_array_equal(copy(parts.test[:3], present), method(parts.test[:3], present))


def test_a_stream_can_be_pickled_and_goes_on(robust, parts):
    frame = parts.test.series.to_frame().iloc[:12, [0, 3]]
    feed = robust.stream(frame.iloc[:10])
    copy = pickle.loads(pickle.dumps(feed))
    for time, row in frame.iloc[10:].iterrows():
        np.testing.assert_array_equal(copy.push(row, time).mean, feed.push(row, time).mean)


def feed_through(robust, rows, times):
    feed = robust.stream()
    forecasts = [feed.push(row, time) for row, time in zip(rows, times, strict=True)]
    return [forecast.mean for forecast in forecasts if forecast is not None]


def test_two_streams_in_two_threads_equal_the_serial_results(robust, parts):
    """The feeds lose other sensors at other times."""
    series = parts.test.series
    feeds = []
    for lost in ((0, 4), (2,)):
        rows = series.values[:30].copy()
        rows[10:, lost] = np.nan
        feeds.append((rows, series.times[:30]))
    serial = [feed_through(robust, *feed) for feed in feeds]
    with ThreadPoolExecutor(2) as pool:
        for _ in range(3):
            together = list(pool.map(lambda feed: feed_through(robust, *feed), feeds))
            for ours, theirs in zip(together, serial, strict=True):
                np.testing.assert_array_equal(np.stack([m[:, :1] for m in ours]), np.stack([m[:, :1] for m in theirs]))
                assert all(np.array_equal(a, b) for a, b in zip(ours, theirs, strict=True))
