"""Make a past forecast again from what was known then, to the bit."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from subcast.service.forecasting import Made, make
from subcast.service.runtime import Service
from subcast.service.stored import StoredForecast


class Replayed(NamedTuple):
    """A forecast that was made again; without numbers if it could not be."""

    made: Made | None
    answer: dict[str, Any]
    window: NDArray[Any] | None = None


def window_of(service: Service, connection: sa.Connection, forecast: StoredForecast) -> NDArray[Any]:
    """Return the readings that a forecast was made from, [t, n]; NaN for those that were not used."""
    times = service.grid.window(forecast.time, len(forecast.used))
    raw = service.feed_of(forecast.variables).window(connection, times, int(forecast.row.cutoff))
    return np.where(forecast.used, raw, np.nan)


def replay(service: Service, connection: sa.Connection, forecast: StoredForecast) -> Replayed:
    """Make a stored forecast again with the version of the wrapper and the readings of that time."""
    wrapper = service.versions.wrapper(forecast.row.version)
    if wrapper is None:
        return _impossible(
            f"the version of the wrapper that made it ({forecast.row.version[:12]}) was pruned, so these are the "
            "numbers that were stored"
        )
    window = window_of(service, connection, forecast)
    if (np.isnan(window) & forecast.used).any():
        return _impossible("the readings of that time were removed, so these are the numbers that were stored")
    times = service.grid.window(forecast.time, len(forecast.used))
    made = make(wrapper, service.grid, times, window, forecast.made.levels or None)
    made = made.scaled(float(forecast.row.factor), wrapper)
    same = made.same_numbers(forecast.made)
    sentence = "made again from what was known then, equal to the bit"
    if not same:
        largest = float(np.abs(made.mean.astype(np.float64) - forecast.made.mean).max())
        sentence = f"made again from what was known then; means differ by up to {largest:g}"
    return Replayed(made, {"possible": True, "identical": same, "sentence": sentence}, window)


def _impossible(sentence: str) -> Replayed:
    return Replayed(None, {"possible": False, "identical": None, "sentence": sentence})
