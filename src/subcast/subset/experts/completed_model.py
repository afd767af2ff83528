"""The wrapped model on the completed window."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from subcast.storage.state import State
from subcast.subset.completion import Completed, model_inputs
from subcast.windows import Windows

if TYPE_CHECKING:
    from subcast.subset.fitted import Fitted


class CompletedModel:
    """The model, run once on the window completed from the neighbors."""

    name = "model"

    def fit(self, train: Windows, fitted: Fitted) -> None:
        """Do nothing: the model is already trained."""

    def forecast(self, done: Completed, variables: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the model's forecast of the completed windows, [b, h, s]."""
        return done.fitted.run(model_inputs(done), variables)

    def state(self) -> State:
        """Return an empty state: the wrapper saves the model."""
        return State()

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Return the expert."""
        return cls()
