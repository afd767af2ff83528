"""What an expert offers."""

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
    """A way to forecast from a subset."""

    @property
    def name(self) -> str:
        """What settings and saved wrappers call it."""
        ...

    def fit(self, train: Windows, fitted: Fitted) -> None:
        """Learn from the training windows."""
        ...

    def forecast(self, done: Completed, variables: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the forecast of some variables, present or absent, [b, h, s], raw units."""
        ...

    def state(self) -> State:
        """Return what is kept on disk."""
        ...

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Return the expert that `state` described; nothing in it may be executed."""
        ...
