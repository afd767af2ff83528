"""Measure what one step of screening costs, with 60 and with 207 sensors.

    python benchmarks/screening_speed.py        # ten seconds; writes results/screening-speed.json

Steps are timed twice: with all sensors well, and with a set of silent sensors that changes at every step, for which the
matrices of the cross-check have to be reduced anew.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import records

from subcast import SubsetForecaster
from subcast.screening import Screener
from subcast.series import Series
from subcast.subset.settings import Settings

STEPS, LOOKBACK, HORIZON = 2_500, 12, 12
TIMED = 200
SIZES = (60, 207)


def made_series(n: int) -> Series:
    """Return waves of a day with shared and own noise, every five minutes."""
    rng = np.random.default_rng(0)
    times = np.datetime64("2026-01-01", "ns") + np.arange(STEPS) * np.timedelta64(5, "m")
    day = 2 * np.pi * np.arange(STEPS)[:, None] / 288
    shared = rng.normal(size=(STEPS, 8)) @ rng.normal(size=(8, n))
    values = 50 + 10 * np.sin(day + np.arange(n) / n) + shared + rng.normal(size=(STEPS, n))
    return Series(values.astype(np.float32), tuple(f"s{place}" for place in range(n)), times)


def last_reading(inputs: Any) -> Any:
    """Forecast the last reading."""
    return np.repeat(inputs[:, -1:, :, 0], HORIZON, axis=1)


def timed(screener: Screener, rows: Any, times: Any) -> dict[str, float]:
    """Return median and 99th percentile of the time of a step in milliseconds, after a few steps."""
    feed, seconds = screener.start(), []
    for row, moment in zip(rows, times, strict=True):
        started = time.perf_counter()
        feed.push(row, moment)
        seconds.append(time.perf_counter() - started)
    kept = seconds[20:]
    return {"median_ms": 1000 * float(np.median(kept)), "p99_ms": 1000 * float(np.quantile(kept, 0.99))}


def measure(n: int) -> dict[str, Any]:
    """Return the times of one size."""
    series = made_series(n)
    train, _, test = series.split(LOOKBACK, HORIZON)
    rows_of_blend = {"specialist": ((1.0,) * HORIZON,) * 3}
    settings = Settings(neighbors=5, blend=rows_of_blend, blend_absent=rows_of_blend)
    robust = SubsetForecaster(last_reading, settings=settings, progress=False).fit(train)
    started = time.perf_counter()
    screener = Screener.fit(robust, train)
    fitted = time.perf_counter() - started
    rows, times = test.series.values[:TIMED].astype(float), np.asarray(test.series.times)[:TIMED]
    silent = rows.copy()
    silent[np.random.default_rng(1).random(rows.shape) < 0.1] = np.nan
    return {
        "fit_seconds": fitted,
        "all_well": timed(screener, rows, times),
        "another_tenth_silent_each_step": timed(screener, silent, times),
    }


def main() -> None:
    """Measure all sizes and write the record."""
    figures = {f"{n}_sensors": measure(n) for n in SIZES}
    print(figures)
    records.write_record("screening-speed", figures, packages=("numpy",), steps_of_training=STEPS)


if __name__ == "__main__":
    main()
