"""The regression on S alone, in deviations from the usual value: no neighbors, no pass of the model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from subcast.storage.state import State
from subcast.subset.completion import Completed
from subcast.windows import Windows

if TYPE_CHECKING:
    from subcast.subset.fitted import Fitted


class Linear:
    """A ridge regression of the future on the readings of S; without an unusual reading it is the usual value."""

    name = "linear"

    def fit(self, train: Windows, fitted: Fitted) -> None:
        """Do nothing: the moments are already fitted."""

    def forecast(self, done: Completed, variables: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the forecast of S or of the absent variables, [b, h, s]."""
        fitted = done.fitted
        slots = fitted.slots(done.arrived, fitted.horizon, fitted.lookback)
        return fitted.normalizer.restore(done.deviation_ahead(variables), slots, variables)

    def state(self) -> State:
        """Return an empty state: the wrapper saves the moments."""
        return State()

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Return the expert."""
        return cls()
