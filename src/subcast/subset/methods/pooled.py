"""The default method: one completed window, one pass of the model, blended with the other experts.

1. Retrieve the m nearest training windows, comparing S alone (by the caller).
2. Weigh them, and average them into one completion; a ridge regression on S corrects it.
3. Forecast: the model on the completed window, and the other experts.
4. Blend the experts by step and by how many variables are present.
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
    """The default method, with given settings."""

    fitted: Fitted
    settings: Settings

    def forecast(
        self, arrived: Arrived, present: NDArray[np.int64], neighbors: Neighbors, *, absent: bool
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the forecast of S, then on request of the other variables, [b, h, s], and the weights [b, k]."""
        weights = weigh_by_distance(neighbors, self.settings)
        done = complete(self.fitted, self.settings, arrived, present, neighbors, weights)
        first = next(iter(self.fitted.experts.values())).forecast(done, self.fitted.order(present, absent))
        return blend_experts(done, first), weights


def blend_experts(done: Completed, first: NDArray[np.float32]) -> NDArray[np.float32]:
    """Blend the first expert's forecast of S (and perhaps of the absent variables after it) with the others'."""
    fitted, settings, s = done.fitted, done.settings, len(done.present)
    blended = []
    for absent, mean in ((False, first[:, :, :s]), (True, first[:, :, s:])):
        if mean.shape[2]:
            variables = fitted.others(done.present) if absent else done.present
            others = {name: partial(expert.forecast, done, variables) for name, expert in fitted.experts.items()}
            blended.append(settings.blend_of(absent=absent).combine(mean, others, s / fitted.n))
    return np.concatenate(blended, axis=2)
