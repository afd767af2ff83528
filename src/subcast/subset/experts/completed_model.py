"""The wrapped model on the completed window."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from subcast.storage.state import State
from subcast.subset.completion import Completed, model_inputs
from subcast.subset.wandering import moved_part
from subcast.windows import Windows

if TYPE_CHECKING:
    from subcast.subset.fitted import Fitted


class CompletedModel:
    """The model, run once on the window completed from the neighbors.

    Variables that left the levels of the training are moved back to them, and their forecasts forward again. The more
    variables are present, the less they are moved: with all of them the model sees the window as it arrived.
    """

    name = "model"

    def fit(self, train: Windows, fitted: Fitted) -> None:
        """Do nothing: the model is already trained."""

    def forecast(self, done: Completed, variables: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the model's forecast of the completed windows, [b, h, s]."""
        inputs, offsets = model_inputs(done.moved), done.moved.arrived.offsets
        if offsets is None:
            return done.fitted.run(inputs, variables)
        moved = np.float32(moved_part(len(done.present) / done.fitted.n)) * offsets
        inputs[:, :, done.present, 0] += (offsets - moved)[:, None, done.present]
        return done.fitted.run(inputs, variables) + moved[:, None, variables]

    def state(self) -> State:
        """Return an empty state: the wrapper saves the model."""
        return State()

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Return the expert."""
        return cls()
