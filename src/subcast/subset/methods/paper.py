"""The published method (Chauhan et al., KDD 2022, section 5 and algorithm 1), in the order of its equations.

Equations 4 and 5   Retrieve: the m training windows X^NN nearest to the new window, comparing S alone.
Section 5.1         Complete: X^new_i is the new window, with the absent variables borrowed from neighbor i.
Algorithm 1         Forecast: Y^new_i = f(X^new_i), and Y^NN_i = f(X^NN_i) for the neighbor's own window.
Equation 7          Compare: D_F(Y^new_i, Y^NN_i), the distance of the two forecasts on S.
Equation 8          Weigh: w_i is the softmax of -D_F / tau (FDW).
Algorithm 1         Combine: the forecast is the sum of w_i Y^new_i.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from subcast.retrieval import Neighbors
from subcast.subset.arrived import Arrived
from subcast.subset.blend import blend_experts
from subcast.subset.completion import complete, model_inputs, weigh_by_distance
from subcast.subset.fitted import Fitted
from subcast.subset.methods.protocol import MethodForecast
from subcast.subset.settings import Settings
from subcast.weighting import forecast_distance, uniform, weigh


@dataclass(frozen=True, eq=False)
class PaperMethod:
    """The published method: one completed window and one forecast for each neighbor.

    Parameters
    ----------
    fitted
        the model f, the bank of training windows and what was learned from them
    settings
        m (`neighbors`), b (`exponent`), tau (`temperature`) and the weighting
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
        variables = self.fitted.order(present, absent)
        new_forecasts = self.forecast_each(arrived, present, neighbors, variables)  # [b, k, h, s]
        mean, weights = self.weighted_sum(new_forecasts, neighbors, present)
        if self.settings.uses_experts:  # not in the paper: the experts of the default method can be added
            pooled_weights = weigh_by_distance(neighbors, self.settings)
            completed = complete(self.fitted, self.settings, arrived, present, neighbors, pooled_weights)
            mean = blend_experts(completed, mean)
        return MethodForecast(mean, neighbors, weights)

    def forecast_each(
        self, arrived: Arrived, present: NDArray[np.int64], neighbors: Neighbors, wanted: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """Return Y^new_i of the wanted variables for each neighbor i, [b, k, h, s]."""
        new_forecasts = []
        for i in range(neighbors.index.shape[1]):
            neighbor = Neighbors(neighbors.index[:, i : i + 1], neighbors.distance[:, i : i + 1])
            completed = complete(
                self.fitted, self.settings, arrived, present, neighbor, weights=uniform(neighbor.distance)
            )
            new_window = model_inputs(completed, borrow_features=self.fitted.features_in_distance)  # X^new_i
            new_forecasts.append(self.fitted.run(new_window, wanted))
        return np.stack(new_forecasts, axis=1)

    def weighted_sum(
        self, each: NDArray[np.float32], neighbors: Neighbors, present: NDArray[np.int64]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Weigh the forecasts Y^new_i (equations 7 and 8) and return their weighted sum.

        Parameters
        ----------
        each
            [b, k, h, s], the forecasts from `forecast_each`; the variables in S come first
        neighbors
            the k nearest training windows
        present
            S, in increasing order

        Returns
        -------
        NDArray
            [b, h, s], the weighted sum
        NDArray
            [b, k], the weights
        """
        new_on_subset = each[..., : len(present)]
        evidence = ForecastEvidence(self.fitted, new_on_subset, neighbors, present, self.settings.temperature)
        weights = weigh(self.settings.weighting, evidence)  # [b, k]
        # A window without a reading has no neighbor. All of its completions are the same, so the plain mean is taken.
        no_neighbor = weights.sum(axis=1, keepdims=True) == 0
        used_weights = np.where(no_neighbor, 1 / weights.shape[1], weights)
        return np.einsum("bk,bkhs->bhs", used_weights, each).astype(np.float32), weights


@dataclass(frozen=True, eq=False)
class ForecastEvidence:
    """The distances that a weighting may use: on S, and between forecasts.

    Parameters
    ----------
    fitted
        the model, the bank and what was learned
    new
        [b, k, h, s], the forecasts Y^new_i of the variables in S
    neighbors
        the k nearest training windows
    present
        S, in increasing order
    temperature
        tau
    """

    fitted: Fitted
    new: NDArray[np.float32]
    neighbors: Neighbors
    present: NDArray[np.int64]
    temperature: float

    @property
    def distance(self) -> NDArray[np.float32]:
        """The distance of each neighbor on S (equation 4), [b, k]."""
        return self.neighbors.distance

    def forecast_distance(self) -> NDArray[np.float64]:
        """Return D_F(Y^new_i, Y^NN_i), [b, k] (equation 7); infinite where there is no neighbor."""
        neighbor_forecasts = self.fitted.forecasts_of_neighbors(self.neighbors)[..., self.present]  # [b, k, h, s]
        spread = self.fitted.normalizer.spread_of(self.present)
        return forecast_distance(self.new / spread, neighbor_forecasts / spread)
