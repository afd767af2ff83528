"""Small plants under screening that several tests share."""

from __future__ import annotations

import numpy as np

import subcast as sc
from subcast.screening import Screener
from subcast.series import Series

LOOKBACK, HORIZON = 6, 3
DAY = 24


def plant(n=6, days=60, seed=0, hours=True):
    """Hourly readings of sensors that follow a common daily wave, common weather and noise of their own."""
    rng = np.random.default_rng(seed)
    steps = days * DAY
    time = np.arange(steps)
    weather = np.zeros(steps)
    for step in range(1, steps):
        weather[step] = 0.95 * weather[step - 1] + rng.normal()
    wave = np.sin(2 * np.pi * time / DAY)
    values = 20 + 5 * wave[:, None] + weather[:, None] * rng.uniform(0.8, 1.2, n) + 0.3 * rng.normal(size=(steps, n))
    times = np.datetime64("2024-03-01") + time * np.timedelta64(1, "h") if hours else None
    return Series(values, tuple(f"s{i}" for i in range(n)), times, freq="h" if hours else None, name="plant")


def last_reading(x):
    return np.repeat(x[:, -1:, :, 0], HORIZON, axis=1)


def fitted(series):
    """A screener of a series, and the part of the series after its training."""
    train, _, test = series.split(LOOKBACK, HORIZON)
    robust = sc.SubsetForecaster(last_reading, progress=False).fit(train)
    return Screener.fit(robust, train), test.series


def stepwise(screener, series, values=None):
    """All steps of a series pushed one by one."""
    feed = screener.start()
    rows = series.values if values is None else values
    return feed, [feed.push(row, None if series.times is None else series.times[i]) for i, row in enumerate(rows)]
