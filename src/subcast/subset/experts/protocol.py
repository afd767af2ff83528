"""The protocol of an expert."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from subcast.storage.state import State
from subcast.windows import Windows

if TYPE_CHECKING:
    from subcast.subset.completion import Completed
    from subcast.subset.fitted import Fitted


@runtime_checkable
class Expert(Protocol):
    """A forecaster that uses the completed windows of a subset."""

    @property
    def name(self) -> str:
        """The name of the expert in settings and in saved wrappers."""
        ...

    def fit(self, train: Windows, fitted: Fitted) -> None:
        """Learn from the training windows."""
        ...

    def forecast(self, done: Completed, variables: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the forecast of `variables`, present or absent, [b, h, s], in raw units.

        `done` holds the completed windows.
        """
        ...

    def state(self) -> State:
        """Return the state to save."""
        ...

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Return the expert saved in `state`; must not execute anything from it."""
        ...
