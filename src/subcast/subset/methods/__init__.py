"""The two forecasting methods: `paper` is the published one, `pooled` is the default."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from subcast.retrieval import Neighbors
from subcast.subset.arrived import Arrived
from subcast.subset.fitted import Fitted
from subcast.subset.methods.paper import PaperMethod
from subcast.subset.methods.pooled import PooledMethod
from subcast.subset.methods.protocol import Method, MethodForecast
from subcast.subset.settings import Settings

_WINDOWS_AT_ONCE = 256


def make_method(fitted: Fitted, settings: Settings) -> Method:
    """Return the method that the settings ask for."""
    return PooledMethod(fitted, settings) if settings.pool else PaperMethod(fitted, settings)


def forecast_windows(
    fitted: Fitted,
    settings: Settings,
    arrived: Arrived,
    present: NDArray[np.int64],
    *,
    absent: bool = False,
    neighbors: Neighbors | None = None,
) -> MethodForecast:
    """Forecast any number of windows, in batches.

    Parameters
    ----------
    fitted, settings
        the fitted model and bank, and the settings of the method
    arrived, present
        the windows, and S in increasing order
    absent
        whether to forecast the absent variables too
    neighbors
        the nearest training windows if they are known already; retrieved by default

    Returns
    -------
    MethodForecast
    """
    if not len(arrived):
        if neighbors is None:
            neighbors = Neighbors(np.zeros((0, 0), dtype=np.int64), np.zeros((0, 0), dtype=np.float32))
        mean = np.zeros((0, fitted.horizon, len(fitted.order(present, absent))), dtype=np.float32)
        return MethodForecast(mean, neighbors, neighbors.distance)
    method = make_method(fitted, settings)
    batches = []
    for first in range(0, len(arrived), _WINDOWS_AT_ONCE):
        batch = slice(first, first + _WINDOWS_AT_ONCE)
        known = None if neighbors is None else Neighbors(neighbors.index[batch], neighbors.distance[batch])
        batches.append(method.forecast(arrived[batch], present, known, absent=absent))
    return MethodForecast.join(batches)
