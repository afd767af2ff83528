"""The specialist for S: the neighbors' futures plus a ridge regression on S, without a pass of the model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from subcast.storage.state import State
from subcast.subset.completion import Completed
from subcast.windows import Windows

if TYPE_CHECKING:
    from subcast.subset.fitted import Fitted


class Specialist:
    """The median or mean of the neighbors' futures, corrected by a regression on their differences from S."""

    name = "specialist"

    def fit(self, train: Windows, fitted: Fitted) -> None:
        """Do nothing: the bank and the moments are already fitted."""

    def forecast(self, done: Completed, variables: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the forecast of S or of the absent variables, [b, h, s]."""
        fitted, settings, regression = done.fitted, done.settings, done.regression
        normal = fitted.bank.pool_futures(
            done.neighbors.index, done.weights, variables, fitted.horizon, settings.center
        )
        if settings.regression_share > 0 and regression is not None and done.solved is not None:
            normal = normal + np.float32(settings.regression_share) * done.difference_ahead(variables)
        slots = fitted.slots(done.arrived, fitted.horizon, fitted.lookback)
        return fitted.normalizer.restore(normal, slots, variables)

    def state(self) -> State:
        """Return an empty state: the wrapper saves the bank and the moments."""
        return State()

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Return the expert."""
        return cls()
