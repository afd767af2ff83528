"""Tiny fitted wrappers on generated data, for targets that forecast."""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np
from numpy.typing import NDArray

import subcast as sc
from subcast.errors import FitWarning

LOOKBACK, HORIZON = 6, 3
NAMES = ("alder", "birch", "cedar", "elm")
STEPS = 260
RATES = {"hourly": np.timedelta64(1, "h"), "daily": np.timedelta64(1, "D"), "features": np.timedelta64(15, "m")}
"""The step of each wrapper that has times; `plain` has none."""


def bending(x: NDArray[np.float32]) -> NDArray[np.float64]:
    """Forecast by mixing the last readings with those of other variables and with the time features: [b, h, n]."""
    readings = np.asarray(x[..., 0], dtype=np.float64)  # [b, t, n]
    last, mean = readings[:, -1], readings.mean(axis=1)
    bend = np.tanh(0.3 * (np.roll(last, 1, axis=1) - np.roll(mean, -1, axis=1)))
    extra = 0.0 if x.shape[3] == 1 else np.asarray(x[:, -1, :, 1], dtype=np.float64)
    return np.stack([0.7 * last + 0.3 * mean + step * bend + extra for step in range(1, HORIZON + 1)], axis=1)


def make_series(kind: str) -> sc.Series:
    """Return waves with a common walk, [260, 4]: hourly, daily, with time features, or without times."""
    rng = np.random.default_rng(sorted((*RATES, "plain")).index(kind))
    steps = np.arange(STEPS)
    waves = 3 * np.sin(2 * np.pi * steps[:, None] / 24 + rng.uniform(0, 6, len(NAMES)))
    values = waves + np.cumsum(rng.normal(0, 0.3, STEPS))[:, None] + rng.normal(0, 0.2, waves.shape) + 20
    if kind == "plain":
        return sc.Series(values.astype(np.float32), NAMES)
    times = np.datetime64("2024-03-20", "ns") + steps * RATES[kind]
    features = ("time_of_day",) if kind == "features" else ()
    rate = {"hourly": "h", "daily": "D", "features": "15min"}[kind]
    return sc.Series(values.astype(np.float32), NAMES, times, freq=rate, time_features=features)


@cache
def make_wrapper(kind: str) -> tuple[sc.SubsetForecaster, sc.Series]:
    """Return a fitted wrapper, and the series it was fitted on."""
    series = make_series(kind)
    train, val, _ = series.split(LOOKBACK, HORIZON, shares=(0.6, 0.3, 0.1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)  # it is no good model
        return sc.SubsetForecaster(bending, progress=False, effort=0.1).fit(train, val), series
