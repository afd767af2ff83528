"""Small data that the tests of the baselines share."""

from __future__ import annotations

import re

import numpy as np

from subcast.series import Series

LOOKBACK, HORIZON = 5, 3
PRESENT = np.array([0, 2, 5])


def factors(steps=420, n=7, seed=3, noise=0.3):
    """Readings [t, n] that a few hidden courses explain, with levels and sizes of their own."""
    rng = np.random.default_rng(seed)
    hidden = np.cumsum(rng.normal(size=(steps, 3)), axis=0) * 0.3
    hidden += np.sin(np.arange(steps)[:, None] * 2 * np.pi / 24 + np.arange(3))
    values = hidden @ rng.normal(size=(3, n)) + noise * rng.normal(size=(steps, n))
    return (values * rng.uniform(0.5, 2, size=n) + rng.uniform(3, 9, size=n)).astype(np.float32)


def hourly(values, features=()):
    times = np.datetime64("2021-03-01") + np.arange(len(values)) * np.timedelta64(1, "h")
    return Series(values, times=times.astype("datetime64[ns]"), time_features=tuple(features))


def with_holes(values, share=0.05, seed=8):
    return np.where(np.random.default_rng(seed).random(values.shape) < share, np.nan, values).astype(np.float32)


def parts(*, holes=0.0, features=(), protocol="default", steps=420, n=7):
    values = factors(steps, n)
    return hourly(with_holes(values, holes) if holes else values, features).split(LOOKBACK, HORIZON, protocol=protocol)


def sentence(words):
    """A pattern that matches these words anywhere in a message."""
    return re.escape(words)
