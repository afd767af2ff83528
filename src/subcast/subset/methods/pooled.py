"""The default method: one completed window, one pass of the model, blended with the other experts.

1. Retrieve: the caller finds the m training windows nearest to the new window, comparing S alone.
2. Complete: the weighted mean of the neighbors fills in the absent variables; a ridge regression on S corrects it.
3. Forecast: the model, which is the first expert, runs once on the completed window.
4. Blend: the forecasts of the other experts are mixed in, with shares that depend on the step ahead and on |S| / N.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from subcast.retrieval import Neighbors
from subcast.subset.arrived import Arrived
from subcast.subset.completion import Completed, complete, weigh_by_distance
from subcast.subset.fitted import Fitted
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
        self, arrived: Arrived, present: NDArray[np.int64], neighbors: Neighbors, *, absent: bool
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the forecast [b, h, s] and the weights of the neighbors [b, k].

        The variables of the forecast are S, followed by the absent variables if `absent` is True.
        """
        weights = weigh_by_distance(neighbors, self.settings)
        completed = complete(self.fitted, self.settings, arrived, present, neighbors, weights)
        first_expert = next(iter(self.fitted.experts.values()))
        first_forecast = first_expert.forecast(completed, self.fitted.order(present, absent))
        return blend_experts(completed, first_forecast), weights


def blend_experts(done: Completed, first: NDArray[np.float32]) -> NDArray[np.float32]:
    """Blend the first expert's forecast with those of the other experts.

    Parameters
    ----------
    done
        the completed windows
    first
        [b, h, s], the first expert's forecast of S, followed by that of the absent variables if they are wanted

    Returns
    -------
    NDArray
        [b, h, s], the blended forecast of the same variables
    """
    fitted, settings, n_present = done.fitted, done.settings, len(done.present)
    blended = []
    for absent, first_forecast in ((False, first[:, :, :n_present]), (True, first[:, :, n_present:])):
        if first_forecast.shape[2]:  # the absent variables are not always wanted
            variables = fitted.others(done.present) if absent else done.present
            forecasts = {name: partial(expert.forecast, done, variables) for name, expert in fitted.experts.items()}
            blend = settings.blend_of(absent=absent)
            blended.append(blend.combine(first_forecast, forecasts, n_present / fitted.n))
    return np.concatenate(blended, axis=2)
