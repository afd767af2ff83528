"""The two forecasting methods: `paper` is the published one, `pooled` is the default."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from subcast.retrieval import Neighbors
from subcast.subset.arrived import Arrived
from subcast.subset.fitted import Fitted
from subcast.subset.methods.paper import PaperMethod
from subcast.subset.methods.pooled import PooledMethod
from subcast.subset.settings import Settings

_WINDOWS_AT_ONCE = 256


class Method(Protocol):
    """A method that forecasts windows from the variables in S."""

    def forecast(
        self, arrived: Arrived, present: NDArray[np.int64], neighbors: Neighbors, *, absent: bool
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the forecast [b, h, s] and the weights of the neighbors [b, k].

        The variables of the forecast are S, followed by the absent variables if `absent` is True.
        """
        ...


@dataclass(frozen=True, eq=False)
class MethodForecast:
    """A forecast with the neighbors it is based on.

    Parameters
    ----------
    mean
        [b, h, s], raw units
    neighbors
        the nearest training windows
    weights
        [b, k], the weight of each neighbor
    """

    mean: NDArray[np.float32]
    neighbors: Neighbors
    weights: NDArray[np.float32]


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
    if neighbors is None:
        neighbors = fitted.retrieve(arrived, present, settings.neighbors, settings.exponent)
    method = make_method(fitted, settings)
    means, weights = [], []
    for first in range(0, len(arrived), _WINDOWS_AT_ONCE):
        batch = slice(first, first + _WINDOWS_AT_ONCE)
        batch_neighbors = Neighbors(neighbors.index[batch], neighbors.distance[batch])
        mean, batch_weights = method.forecast(arrived[batch], present, batch_neighbors, absent=absent)
        means.append(mean)
        weights.append(batch_weights)
    return MethodForecast(np.concatenate(means), neighbors, np.concatenate(weights))
