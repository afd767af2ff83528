"""What the baselines share: the imputer protocol, a model after an imputer, and filling of missing readings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from subcast.adapters import adapt
from subcast.axes import variable_indices
from subcast.errors import InputError
from subcast.evaluation import Method
from subcast.windows import Windows


class Imputer(Protocol):
    """Fills in the absent variables of windows."""

    def complete(self, windows: Windows, present: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the windows as inputs of a model, [b, t, n, f], raw units.

        Readings of `present` stay as they are; their missing readings and all readings of the other variables are
        filled in. Time features stay as they are.
        """
        ...


@dataclass(frozen=True)
class Shape:
    """Sizes of the windows that a baseline was fitted on; windows to forecast must have the same.

    >>> from subcast.series import Series
    >>> train = Series(np.zeros((10, 3))).windows(lookback=3, horizon=2)
    >>> Shape.of(train)
    Shape(n=3, lookback=3, horizon=2, n_features=1)
    """

    n: int
    lookback: int
    horizon: int
    n_features: int

    @classmethod
    def of(cls, windows: Windows) -> Shape:
        """Return the sizes of the axes n, t, h and f."""
        return cls(windows.series.n_variables, windows.lookback, windows.horizon, windows.series.n_features)

    def check(self, windows: Windows, present: ArrayLike) -> NDArray[np.int64]:
        """Return S as indices; raise if the windows have other sizes or S is not valid."""
        if not isinstance(windows, Windows):
            raise InputError(f"windows must be Windows, as Series.split gives them, got {type(windows).__name__}")
        shape = Shape.of(windows)
        if shape != self:
            raise InputError(
                f"windows must be cut as the training windows were ({_shape_text(self)}), got {_shape_text(shape)}"
            )
        return variable_indices(present, self.n, windows.series.variables, "present")


def _shape_text(shape: Shape) -> str:
    return f"{shape.lookback} + {shape.horizon} steps of {shape.n} variables with {shape.n_features - 1} time features"


def imputed(model: Callable[[NDArray[np.float32]], Any], imputer: Imputer) -> Method:
    """Return the method that fills in the absent variables and then runs the model (table 9).

    Parameters
    ----------
    model
        [b, t, n, f] -> [b, h, n], raw units; a model with `predict(inputs, wanted=)` forecasts S only
    imputer
        fills in the absent variables

    Examples
    --------
    >>> from subcast.baselines import RidgeImputer
    >>> from subcast.series import Series
    >>> train = Series(np.random.default_rng(0).normal(size=(60, 4))).windows(lookback=3, horizon=2)
    >>> method = imputed(lambda x: np.repeat(x[:, -1:, :, 0], 2, axis=1), RidgeImputer.fit(train))
    >>> method(train[:5], np.array([0, 2])).shape
    (5, 2, 2)
    """
    if not callable(model):
        raise InputError(f"model must be a function of windows [b, t, n, f], got {type(model).__name__}")

    def method(windows: Windows, present: NDArray[np.int64]) -> NDArray[np.float32]:
        inputs = imputer.complete(windows, present)
        indices = variable_indices(present, windows.series.n_variables, windows.series.variables, "present")
        forecaster = adapt(
            model,
            lookback=windows.lookback,
            horizon=windows.horizon,
            variables=windows.series.variables,
            n_features=windows.series.n_features,
        )
        return forecaster(inputs, indices)  # [b, h, s]

    return method


def completed(windows: Windows, present: NDArray[np.int64], estimate: NDArray[np.floating[Any]]) -> NDArray[np.float32]:
    """Return the windows with `estimate` [b, t, n] (raw) wherever S has no reading, [b, t, n, f]."""
    inputs = windows.batch().inputs
    unknown = np.ones(estimate.shape, dtype=bool)
    unknown[:, :, present] = np.isnan(inputs[:, :, present, 0])
    inputs[..., 0] = np.where(unknown, estimate, inputs[..., 0])
    return inputs


def without_holes(normal: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    """Return normalized readings with missing ones filled in along the steps, [..., t, s].

    Filled linearly between known readings, with the nearest reading at the edges, and with 0 (the mean) where a
    variable has no reading at all.

    >>> without_holes(np.array([[[np.nan], [1.0], [np.nan], [2.0]]])).ravel()
    array([1. , 1. , 1.5, 2. ])
    """
    filled = np.array(normal, dtype=np.float64)
    columns = np.moveaxis(filled, -2, -1)  # [..., s, t], a view of filled
    holes = np.isnan(columns)
    steps = np.arange(columns.shape[-1])
    for position in np.argwhere(holes.any(axis=-1)):
        column, missing = columns[tuple(position)], holes[tuple(position)]
        column[missing] = 0.0 if missing.all() else np.interp(steps[missing], steps[~missing], column[~missing])
    return filled


def training_steps(train: Windows) -> NDArray[np.int64]:
    """Return the steps that are in the inputs of a training window, in order."""
    starts = np.asarray(train.starts, dtype=np.int64)
    return np.unique(starts[:, None] + np.arange(train.lookback))


def check_train(train: Windows) -> None:
    """Raise unless there are training windows to fit on."""
    if not isinstance(train, Windows):
        raise InputError(f"train must be Windows, as Series.split gives them, got {type(train).__name__}")
    if not len(train):
        raise InputError("train has no window: give at least one to fit on")


def check_positive(argument: str, value: float) -> float:
    """Return the value as a float; raise unless it is a number above 0.

    >>> check_positive("ridge", -1)
    Traceback (most recent call last):
        ...
    subcast.errors.InputError: ridge must be a number above 0, got -1
    """
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not 0 < value < np.inf:
        raise InputError(f"{argument} must be a number above 0, got {value!r}")
    return float(value)
