"""What a forecasting method offers, and what it returns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from subcast.retrieval import Neighbors
from subcast.subset.arrived import Arrived
from subcast.subset.completion import Completed


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
    completed
        the completed windows that the forecast was made from; None if they were not kept
    """

    mean: NDArray[np.float32]
    neighbors: Neighbors
    weights: NDArray[np.float32]
    completed: Completed | None = None

    @classmethod
    def join(cls, batches: Sequence[MethodForecast]) -> MethodForecast:
        """Return the forecasts of several batches of windows as one; only those of a single batch keep its windows."""
        if len(batches) == 1:
            return batches[0]
        index = np.concatenate([batch.neighbors.index for batch in batches])
        distance = np.concatenate([batch.neighbors.distance for batch in batches])
        weights = np.concatenate([batch.weights for batch in batches])
        return cls(np.concatenate([batch.mean for batch in batches]), Neighbors(index, distance), weights)


class Method(Protocol):
    """A method that forecasts windows from the variables in S."""

    def forecast(
        self, arrived: Arrived, present: NDArray[np.int64], neighbors: Neighbors | None = None, *, absent: bool = False
    ) -> MethodForecast:
        """Return the forecast, the neighbors and their weights; neighbors that are known already are not searched.

        The variables of the forecast are S, followed by the absent variables if `absent` is True.
        """
        ...
