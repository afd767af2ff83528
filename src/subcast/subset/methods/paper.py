"""The published method (Chauhan et al., KDD 2022, section 4), in the order of its equations.

(3), (4)  retrieve: the m training windows nearest to the new one, comparing S alone (by the caller)
(5)       complete: each neighbor lends the readings of the variables that are absent
          forecast: the model runs on every completed window
(6), (7)  weight: softmax of the distance between the forecasts of the completed window and of the neighbor (FDW)
          sum: the weighted mean of the forecasts
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from subcast.retrieval import Neighbors
from subcast.subset.arrived import Arrived
from subcast.subset.completion import complete, model_inputs, weigh_by_distance
from subcast.subset.fitted import Fitted
from subcast.subset.methods.pooled import blend_experts
from subcast.subset.settings import Settings
from subcast.weighting import forecast_distance, get_weighting, uniform


@dataclass(frozen=True, eq=False)
class PaperMethod:
    """The published method, with given settings."""

    fitted: Fitted
    settings: Settings

    def forecast(
        self, arrived: Arrived, present: NDArray[np.int64], neighbors: Neighbors, *, absent: bool
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the forecast of S, then on request of the other variables, [b, h, s], and the weights [b, k]."""
        each = self.forecast_each(arrived, present, neighbors, self.fitted.order(present, absent))
        mean, weights = self.weighted_sum(each, neighbors, present)
        if self.settings.uses_experts:  # not published: the experts of the default method can be added
            pooled_weights = weigh_by_distance(neighbors, self.settings)
            done = complete(self.fitted, self.settings, arrived, present, neighbors, pooled_weights)
            mean = blend_experts(done, mean)
        return mean, weights

    def forecast_each(
        self, arrived: Arrived, present: NDArray[np.int64], neighbors: Neighbors, wanted: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """Complete the windows from each neighbor alone (equation 5) and forecast them, [b, k, h, s]."""
        forecasts = []
        for place in range(neighbors.index.shape[1]):
            one = Neighbors(neighbors.index[:, place : place + 1], neighbors.distance[:, place : place + 1])
            done = complete(self.fitted, self.settings, arrived, present, one, uniform(one.distance))
            inputs = model_inputs(done, borrow_features=self.fitted.features_in_distance)
            forecasts.append(self.fitted.run(inputs, wanted))
        return np.stack(forecasts, axis=1)

    def weighted_sum(
        self, each: NDArray[np.float32], neighbors: Neighbors, present: NDArray[np.int64]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Weigh the forecasts [b, k, h, s] (S first; equations 6 and 7) and sum them: [b, h, s], and weights [b, k]."""
        new = each[..., : len(present)]
        evidence = ForecastEvidence(self.fitted, new, neighbors, present, self.settings.temperature)
        weights = get_weighting(self.settings.weighting).weigh(evidence)
        # Without a reading there is no neighbor: every completion is the usual window, and so is its forecast.
        none = weights.sum(axis=1, keepdims=True) == 0
        mean = np.einsum("bk,bkhs->bhs", np.where(none, 1 / weights.shape[1], weights), each).astype(np.float32)
        return mean, weights


@dataclass(frozen=True, eq=False)
class ForecastEvidence:
    """What a weighting may look at: distances on S, and in forecast space."""

    fitted: Fitted
    new: NDArray[np.float32]  # [b, k, h, s]: the forecast of the window completed by each neighbor
    neighbors: Neighbors
    present: NDArray[np.int64]
    temperature: float

    @property
    def distance(self) -> NDArray[np.float32]:
        """[b, k], on S."""
        return self.neighbors.distance

    def forecast_distance(self) -> NDArray[np.float64]:
        """Return [b, k], between each completed window's forecast and the neighbor's own (equation 6)."""
        own = self.fitted.forecasts_of_neighbors(self.neighbors)[..., self.present]  # [b, k, h, s]
        spread = self.fitted.normalizer.spread_of(self.present)
        distance = forecast_distance(self.new / spread, own / spread)
        return np.where(np.isnan(distance), np.inf, distance)
