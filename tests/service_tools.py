"""A tiny wrapper and its feed, for the tests of the service."""

from __future__ import annotations

import numpy as np

import subcast as sc
from subcast.subset.settings import Settings

NAMES = ("a", "b", "c", "d", "e", "f")
LOOKBACK, HORIZON = 6, 4
MINUTE = 60 * 10**9


def last_reading(inputs):
    """Forecast the last reading."""
    return np.repeat(inputs[:, -1:, :, 0], HORIZON, axis=1)


def make_series(n_steps=1500, seed=0, zone=None, start="2026-03-02", minutes=10, unit="km/h"):
    """Return waves of a day with noise, shared and own, of six sensors."""
    rng = np.random.default_rng(seed)
    times = np.datetime64(start, "ns") + np.arange(n_steps) * np.timedelta64(minutes, "m")
    phase = 2 * np.pi * np.arange(n_steps)[:, None] * minutes / 1440
    shared = np.cumsum(rng.normal(0, 0.2, (n_steps, 1)), axis=0) * 0.3
    values = 60 + 10 * np.sin(phase + np.arange(6) / 6) + shared + rng.normal(0, 0.5, (n_steps, 6))
    return sc.Series(values.astype(np.float32), NAMES, times, unit=unit, zone=zone)


def fit_wrapper(series, model=last_reading):
    """Fit a wrapper without tuning, in a tenth of a second."""
    train, val, _ = series.split(lookback=LOOKBACK, horizon=HORIZON)
    rows = ((0.5,) * HORIZON,) * 3
    settings = Settings(neighbors=5, blend={"specialist": rows}, blend_absent={"specialist": ((1.0,) * HORIZON,) * 3})
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return sc.SubsetForecaster(model, settings=settings, progress=False).fit(train, val)


def readings_of(series, begin, end, names=NAMES):
    """Return the readings of some steps as the service takes them."""
    frame = series.to_frame()
    return [
        {"sensor": name, "time": frame.index[step].isoformat(), "value": float(frame[name].iloc[step])}
        for step in range(begin, end)
        for name in names
    ]


def make_service(plant, **options):
    """Return a service whose engine does not run by itself: tests call `settle`."""
    from subcast.service.options import Options
    from subcast.service.runtime import Service

    return Service(Options(plant, **options), last_reading)


def send(service, rows, key=None):
    """Store readings as a request would, and return the answer."""
    from subcast.service.bodies import Columns

    columns = Columns(*([row[name] for row in rows] for name in ("sensor", "time", "value")))
    feed, intake = service.pair
    batch = intake.batch(columns, service.newest_allowed())
    return service.writer.submit(lambda connection: service.store(connection, feed, batch, key)).result(10)


def settle(service):
    """Let the engine do everything that is due."""
    for _ in range(10_000):
        if service.engine.work() > 0:
            return
    raise AssertionError("the engine does not come to rest")


def run_steps(service, series, begin, end, names=NAMES, at_once=False):
    """Send steps one by one and let each be processed."""
    if at_once:
        send(service, readings_of(series, begin, end, names))
        settle(service)
        return
    for step in range(begin, end):
        send(service, readings_of(series, step, step + 1, names))
        settle(service)


def rows_of(service, table):
    """Return all rows of a table."""
    import sqlalchemy as sa

    with service.database.read() as connection:
        return connection.execute(sa.select(table).order_by(table.primary_key.columns.values()[0])).all()
