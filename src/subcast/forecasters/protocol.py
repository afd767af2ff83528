"""The protocol of a forecaster, and the abilities that a class may declare."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from subcast.storage.state import State


@dataclass(frozen=True)
class Abilities:
    """What a forecaster can do besides forecasting complete windows.

    Parameters
    ----------
    partial
        it has `forecast_partial`, which runs it with some variables absent (the paper's Partial setting)
    missing
        it takes NaN where a reading is missing
    storable
        it has `state`, so that a wrapper can be saved together with it
    """

    partial: bool = False
    missing: bool = False
    storable: bool = False


@runtime_checkable
class Forecaster(Protocol):
    """A trained model as a function of windows, in the units of the data.

    `subcast.adapters.adapt` turns a model of any supported library into one.
    """

    @property
    def lookback(self) -> int:
        """Number of steps in a window."""
        ...

    @property
    def horizon(self) -> int:
        """Number of steps ahead that are forecast."""
        ...

    @property
    def variables(self) -> tuple[str, ...]:
        """Names of the variables in the model's order; () if they are unknown."""
        ...

    def __call__(self, inputs: NDArray[Any], wanted: NDArray[np.int64] | None = None) -> NDArray[np.float32]:
        """Forecast windows [b, t, n, f]: [b, h, n], or [b, h, s] for the wanted variables only."""
        ...


@runtime_checkable
class AbleForecaster(Forecaster, Protocol):
    """A forecaster that declares its abilities; methods of other abilities are never called."""

    @property
    def abilities(self) -> Abilities:
        """What it can do besides forecasting complete windows."""
        ...

    def forecast_partial(
        self, inputs: NDArray[Any], present: NDArray[np.int64], wanted: NDArray[np.int64] | None = None
    ) -> NDArray[np.float32]:
        """Forecast with only some variables present (needs the ability `partial`)."""
        ...

    def state(self) -> State:
        """Return the state to save (needs the ability `storable`); `facts["kind"]` names the reader."""
        ...
