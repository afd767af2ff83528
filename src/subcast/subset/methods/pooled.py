"""The default method: one completed window, one pass of the model, blended with the other experts.

1. Retrieve: the m training windows nearest to the new window, comparing S alone.
2. Complete: the weighted mean of the neighbors fills in the absent variables; a ridge regression on S corrects it.
3. Forecast: the model, which is the first expert, runs once on the completed window.
4. Blend: the forecasts of the other experts are mixed in, with shares that depend on the step ahead and on |S| / N.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from subcast.retrieval import Neighbors
from subcast.subset.arrived import Arrived
from subcast.subset.blend import blend_experts
from subcast.subset.completion import complete, weigh_by_distance
from subcast.subset.fitted import Fitted
from subcast.subset.methods.protocol import MethodForecast
from subcast.subset.settings import Settings


@dataclass(frozen=True, eq=False)
class PooledMethod:
    """The default method: one completed window and one pass of the model.

    Parameters
    ----------
    fitted
        the model, the bank of training windows and what was learned from them
    settings
        how windows are completed and experts are blended
    """

    fitted: Fitted
    settings: Settings

    def forecast(
        self, arrived: Arrived, present: NDArray[np.int64], neighbors: Neighbors | None = None, *, absent: bool = False
    ) -> MethodForecast:
        """Return the forecast, the neighbors and their weights; neighbors that are known already are not searched.

        The variables of the forecast are S, followed by the absent variables if `absent` is True.
        """
        if neighbors is None:
            neighbors = self.fitted.retrieve(arrived, present, self.settings.neighbors, self.settings.exponent)
        weights = weigh_by_distance(neighbors, self.settings)
        completed = complete(self.fitted, self.settings, arrived, present, neighbors, weights)
        order = self.fitted.order(present, absent)
        if self._needs_model(len(present) / self.fitted.n, absent):
            first_forecast = next(iter(self.fitted.experts.values())).forecast(completed, order)
        else:
            first_forecast = np.zeros((len(arrived), self.fitted.horizon, len(order)), dtype=np.float32)
        return MethodForecast(blend_experts(completed, first_forecast), neighbors, weights, completed)

    def _needs_model(self, present_share: float, absent: bool) -> bool:
        """Return whether the first expert has any part in the forecast."""
        blends = [self.settings.blend_of(absent=kind) for kind in ((False, True) if absent else (False,))]
        return any((blend.rest(present_share) > 0).any() for blend in blends)
