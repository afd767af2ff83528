"""Small data and models that several tests of the wrapper share."""

from __future__ import annotations

import re
from contextlib import contextmanager
from unittest import mock

import numpy as np

import subcast as sc
from subcast.series import Series
from subcast.subset.completion import complete, weigh_by_distance
from subcast.subset.experts import boosted, own_trees

LOOKBACK, HORIZON = 6, 3


def mixing(x):
    """A deterministic forecaster that bends and mixes variables, and looks at their time features: [b, h, n]."""
    x = np.asarray(x, dtype=np.float64)
    readings = x[..., 0]  # [b, t, n]
    n = readings.shape[2]
    last, before = readings[:, -1], readings.mean(axis=1)  # [b, n]
    place = np.arange(n)
    steps = []
    for q in range(1, HORIZON + 1):
        others = np.roll(last, 1, axis=1) - np.roll(before, -2, axis=1)
        y = 0.6 * last + 0.3 * before + np.tanh(0.5 * others) * q + 0.1 * place
        if x.shape[3] > 1:
            y = y + np.roll(x[:, -1, :, 1], 1, axis=1) * (1 + place) + 0.5 * x[:, 0, :, 1]
        steps.append(y)
    return np.stack(steps, axis=1)


def last_reading(x):
    return np.repeat(x[:, -1:, :, 0], HORIZON, axis=1)


def learn(train):
    """A good forecaster that uses every variable: linear least squares on the training windows, a little ridged."""
    batch = train.batch()
    x = batch.inputs[..., 0].reshape(len(train), -1).astype(np.float64)  # [b, t * n]
    y = batch.targets.reshape(len(train), -1).astype(np.float64)
    center, target = x.mean(axis=0), y.mean(axis=0)
    gram = (x - center).T @ (x - center) + 3.0 * np.eye(x.shape[1])
    weights = np.linalg.solve(gram, (x - center).T @ (y - target))
    shape = batch.targets.shape[1:]

    def model(windows):
        flat = windows[..., 0].reshape(len(windows), -1).astype(np.float64)
        return (np.einsum("bi,io->bo", flat - center, weights) + target).reshape(-1, *shape)

    return model


class Counting:
    """A model that counts the windows it is run on."""

    def __init__(self, model=mixing):
        self.model, self.windows = model, 0

    def __call__(self, x):
        self.windows += len(x)
        return self.model(x)


def waves(n=6, steps=420, seed=0, hours=True, features=()):
    """Waves over the day with a common random walk and noise of their own; an hour a step, or no times."""
    rng = np.random.default_rng(seed)
    time = np.arange(steps)
    common = np.cumsum(rng.normal(size=steps)) * 0.3
    phase, height = rng.uniform(0, 2 * np.pi, n), rng.uniform(1, 4, n)
    values = height * np.sin(2 * np.pi * time[:, None] / 24 + phase) + common[:, None] * rng.uniform(0.5, 1.5, n)
    values += 0.4 * rng.normal(size=(steps, n)) + 10 * np.arange(n)
    names = tuple(f"wave-{i}" for i in range(n))
    times = np.datetime64("2024-03-01T05:00") + time * np.timedelta64(1, "h") if hours else None
    return Series(values, names, times, freq="h" if hours else None, time_features=features, name="waves")


def walk(n=6, steps=600, seed=1):
    """A random walk with common factors, without times."""
    rng = np.random.default_rng(seed)
    common = np.cumsum(rng.normal(size=(steps, 2)), axis=0) @ rng.normal(size=(2, n))
    return Series(0.97 * common + 0.5 * rng.normal(size=(steps, n)), name="walk")


def hours_of(series):
    """The slot of the day of each step of an hourly series, by hand."""
    return [int(str(moment)[11:13]) for moment in series.times]


def hidden(windows, present):
    """A copy of windows [..., n] with NaN for the variables that are not there."""
    copy = np.array(windows, dtype=np.float32)
    copy[..., [i for i in range(copy.shape[-1]) if i not in present]] = np.nan
    return copy


def assert_one_sentence(error, *words):
    """One sentence for a user: no line break, no full stop followed by more, and the words that matter in it."""
    message = str(error.value if hasattr(error, "value") else error)
    assert message, "the error says nothing"
    assert "\n" not in message, message
    assert not re.search(r"[.!?] [A-Z]", message), message
    for word in words:
        assert str(word) in message, (word, message)


def done_with(fitted, windows, present):
    """Windows as they arrive with S, completed from five neighbors: what experts forecast from."""
    settings = sc.Settings(neighbors=5)
    arrived = fitted.arrive(windows)
    neighbors = fitted.retrieve(arrived, present, settings.neighbors, settings.exponent)
    return complete(fitted, settings, arrived, present, neighbors, weigh_by_distance(neighbors, settings))


@contextmanager
def few_trees(count=8):
    """A context in which boosted experts train that many trees, which takes a tenth of a second."""
    with mock.patch.object(boosted, "_TREES", count), mock.patch.object(own_trees, "_TREES", count):
        yield
