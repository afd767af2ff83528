"""One forecast of all sensors from a window of the feed, whatever arrived: a pure function of what it is given."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subcast.errors import InputError
from subcast.forecast import Forecast
from subcast.service.grid import Grid
from subcast.subset.adaptive import widened
from subcast.subset.conformal import checked_levels
from subcast.subset.forecaster import SubsetForecaster
from subcast.tables.zones import wall_clock

Array = NDArray[np.float32]
LADDER = (0.1, 0.3, 0.5, 0.7, 0.9)
"""Levels whose bounds are the quantiles 5 %, 15 %, ..., 95 %: their mean distance from the forecast is the mean error
that validation led to expect."""
USUAL = "nothing usable arrived: this is the usual value at that time, with its usual spread"


@dataclass(frozen=True, eq=False)
class Made:
    """A forecast of all n sensors, in their order.

    Parameters
    ----------
    mean, bounds
        [h, n] and [levels, 2, h, n]; no bounds without intervals (levels is 0 then)
    expected_error
        [h, n], the mean absolute error that validation led to expect; empty without intervals
    observed
        [n], share of the readings of the window that were used
    levels, quality, expected_gap, observed_share, notes
        as in `subcast.Forecast`
    neighbors
        starts, times in nanoseconds, weights and distances of the past windows it is based on
    """

    mean: Array
    bounds: Array
    expected_error: Array
    observed: Array
    levels: tuple[float, ...]
    quality: str
    expected_gap: float | None
    observed_share: float
    notes: tuple[str, ...]
    neighbors: dict[str, list[Any]]

    def same_numbers(self, other: Made) -> bool:
        """Return whether all numbers are equal to the bit."""
        pairs = ((self.mean, other.mean), (self.bounds, other.bounds), (self.expected_error, other.expected_error))
        return all(one.tobytes() == two.tobytes() for one, two in pairs)

    def scaled(self, factor: float, wrapper: SubsetForecaster) -> Made:
        """Return the forecast with intervals `factor` times as wide, within the limits of each sensor."""
        bounds = widened(self.mean, self.bounds, factor)
        limits = wrapper.limits_
        if limits is None:
            return Made(**{**self.__dict__, "bounds": bounds})
        mean = np.clip(self.mean, limits.low, limits.high)
        return Made(**{**self.__dict__, "mean": mean, "bounds": np.clip(bounds, limits.low, limits.high)})


def make(
    wrapper: SubsetForecaster,
    grid: Grid,
    times: NDArray[np.int64],
    window: NDArray[Any],
    levels: Sequence[float] | None = None,
) -> Made:
    """Forecast all sensors from the readings [t, n] at steps [t], NaN where there is none or it is not believed.

    When nothing at all arrived, or the wrapper refuses the window, it is the usual value, with quality "poor".
    """
    wanted = checked_levels(wrapper.levels if levels is None else levels)
    with np.errstate(over="ignore"):
        readings = np.asarray(window).astype(np.float32)
    readings[~np.isfinite(readings)] = np.nan
    if np.isnan(readings).all():
        return _usual(wrapper, grid, int(times[-1]), wanted, (USUAL,))
    has_intervals = wrapper.calibration_ is not None
    asked = tuple(dict.fromkeys((*wanted, *LADDER))) if has_intervals else ()
    try:
        forecast = wrapper.predict(readings, times=grid.index(times), absent=True, levels=asked)
    except InputError as error:
        return _usual(wrapper, grid, int(times[-1]), wanted, (USUAL, f"the wrapper refused the window: {error}"))
    return _arranged(forecast, wrapper, wanted if has_intervals else ())


def _arranged(forecast: Forecast, wrapper: SubsetForecaster, wanted: tuple[float, ...]) -> Made:
    """Return a forecast in the order of the wrapper's sensors."""
    places = {name: place for place, name in enumerate(forecast.variables)}
    order = np.array([places[name] for name in wrapper.variables])
    mean = np.ascontiguousarray(forecast.mean[:, order], dtype=np.float32)
    bounds = np.zeros((0, 2, *mean.shape), dtype=np.float32)
    expected = np.zeros((0, 0), dtype=np.float32)
    if wanted and forecast.bounds is not None:
        by_level = dict(zip(forecast.levels, forecast.bounds[..., order], strict=True))
        bounds = np.stack([by_level[level] for level in wanted]).astype(np.float32)
        ladder = np.stack([by_level[level] for level in LADDER])
        expected = np.abs(ladder - mean).mean(axis=(0, 1), dtype=np.float64).astype(np.float32)
    times = forecast.neighbor_times
    known = forecast.neighbor_index >= 0
    return Made(
        mean,
        bounds,
        expected,
        np.asarray(forecast.observed[order], dtype=np.float32),
        wanted,
        forecast.quality,
        None if forecast.expected_gap is None else float(forecast.expected_gap),
        float(np.asarray(forecast.observed_share)),
        forecast.notes,
        {
            "start": forecast.neighbor_index[known].tolist(),
            "end": [] if times is None else times[known].astype("datetime64[ns]").view(np.int64).tolist(),
            "weight": forecast.weights[known].astype(float).tolist(),
            "distance": forecast.neighbor_distance[known].astype(float).tolist(),
        },
    )


def _usual(wrapper: SubsetForecaster, grid: Grid, last: int, levels: tuple[float, ...], notes: tuple[str, ...]) -> Made:
    """Return the usual values at the steps ahead, with their usual spread."""
    normalizer, n = wrapper.fitted_.normalizer, len(wrapper.variables)
    ahead = wall_clock(grid.ahead(last, wrapper.horizon).view("datetime64[ns]"), grid.zone)
    slots = np.zeros(wrapper.horizon, dtype=np.int64)
    if normalizer.cycle.length > 1:
        slots = normalizer.cycle.positions(ahead)
    mean, spread = normalizer.usual_at(slots), normalizer.spread_at(slots, np.arange(n))
    if wrapper.calibration_ is None:
        levels = ()
    bounds = np.zeros((len(levels), 2, wrapper.horizon, n), dtype=np.float32)
    for place, level in enumerate(levels):
        width = np.float32(_quantile(level)) * spread
        bounds[place] = np.stack([mean - width, mean + width])
    expected = 0.8 * spread if levels else np.zeros((0, 0), dtype=np.float32)
    return Made(
        mean, bounds, expected.astype(np.float32), np.zeros(n, dtype=np.float32), levels, "poor", None, 0.0, notes,
        {"start": [], "end": [], "weight": [], "distance": []},
    )  # fmt: skip


def _quantile(level: float) -> float:
    """Return how many spreads from its mean a normal variable lies with this probability."""
    return NormalDist().inv_cdf((1 + level) / 2)


def facts_of(made: Made, lookback: int) -> str:
    """Return what a stored forecast has no column for, as JSON."""
    stored = {"levels": made.levels, "notes": made.notes, "neighbors": made.neighbors, "lookback": lookback}
    return json.dumps(stored)
