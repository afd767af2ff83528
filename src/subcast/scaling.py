"""Scaler: normalize readings to mean 0 and standard deviation 1, fitted on training data only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from subcast.axes import check_axes
from subcast.errors import InputError
from subcast.windows import Windows

_CHUNK = 4096


@dataclass(frozen=True, eq=False)
class Scaler:
    """Normalize readings by mean and standard deviation, per variable or the same for all variables.

    Fitted on the inputs of the training windows: a step that lies in twelve windows counts twelve times. Missing
    readings are ignored, and stay missing. A variable that is constant or has no reading is shifted but not scaled.

    Parameters
    ----------
    mean, scale
        [n], or [1] if they are the same for all variables

    Examples
    --------
    >>> import numpy as np
    >>> from subcast.series import Series
    >>> values = np.column_stack([np.arange(100.0), 1000 * np.arange(100.0)])
    >>> train, _, _ = Series(values).split(lookback=3, horizon=1)
    >>> scaler = Scaler.fit(train)
    >>> np.allclose(scaler.inverse(scaler.transform(values)), values, atol=0.01)
    True
    >>> Scaler.fit(train, per_variable=False).mean.shape
    (1,)
    """

    mean: NDArray[np.float64]
    scale: NDArray[np.float64]

    @classmethod
    def fit(cls, train: Windows, *, per_variable: bool | None = None) -> Scaler:
        """Compute mean and standard deviation of the training inputs.

        Parameters
        ----------
        train
            the training windows
        per_variable
            whether each variable has its own mean and scale; the protocol of the windows decides by default
        """
        if per_variable is None:
            per_variable = train.protocol.per_variable_scale
        weights = _window_counts(train)
        count, total = _weighted_sums(train.series.values, weights, None)
        if not per_variable:
            count, total = count.sum(keepdims=True), total.sum(keepdims=True)
        mean = np.divide(total, count, out=np.zeros_like(total), where=count > 0)
        _, squares = _weighted_sums(train.series.values, weights, mean)
        if not per_variable:
            squares = squares.sum(keepdims=True)
        variance = np.divide(squares, count, out=np.zeros_like(squares), where=count > 0)
        return cls(mean, _usable(np.sqrt(variance), mean))

    def transform(self, values: NDArray[np.floating[Any]], *, axis: int = -1) -> NDArray[np.float32]:
        """Normalize readings with the variables along `axis`; for inputs with features use `transform_inputs`."""
        mean, scale = self._along(values, axis)
        return ((values - mean) / scale).astype(np.float32)

    def transform_inputs(self, inputs: NDArray[np.floating[Any]]) -> NDArray[np.float32]:
        """Normalize the readings of inputs [b, t, n, f], the first feature; the time features are not changed."""
        check_axes("inputs", inputs, "btnf")
        normal = np.array(inputs, dtype=np.float32)
        normal[..., 0] = self.transform(inputs[..., 0])
        return normal

    def inverse(self, values: NDArray[np.floating[Any]], *, axis: int = -1) -> NDArray[np.float32]:
        """Convert normalized readings back to raw units."""
        mean, scale = self._along(values, axis)
        return (values * scale + mean).astype(np.float32)

    def select(self, variables: ArrayLike) -> Scaler:
        """Return the scaler of a subset of the variables, given by indices or a mask."""
        if self.mean.size == 1:
            return self
        indices = np.asarray(variables)
        return Scaler(self.mean[indices], self.scale[indices])

    def to_dict(self) -> dict[str, list[float]]:
        """Return mean and scale as plain lists for JSON."""
        return {"mean": self.mean.tolist(), "scale": self.scale.tolist()}

    @classmethod
    def from_dict(cls, stored: dict[str, Sequence[float]]) -> Scaler:
        """Create a scaler from the result of `to_dict`."""
        return cls(np.asarray(stored["mean"], dtype=np.float64), np.asarray(stored["scale"], dtype=np.float64))

    def _along(self, values: NDArray[np.floating[Any]], axis: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        if values.ndim > 3:
            raise InputError(
                f"values must be readings without a feature axis, [b, t, n] at most, got shape {values.shape}: "
                "use transform_inputs for [b, t, n, f]"
            )
        if self.mean.size == 1:
            return self.mean, self.scale
        if values.shape[axis] != self.mean.size:
            raise InputError(
                f"values must have the {self.mean.size} variables along axis {axis} that the scaler was fitted on, "
                f"got shape {values.shape}"
            )
        shape = [1] * values.ndim
        shape[axis] = self.mean.size
        return self.mean.reshape(shape), self.scale.reshape(shape)


def _window_counts(windows: Windows) -> NDArray[np.int64]:
    """Return in how many windows each step of the series is an input: [t]."""
    starts = np.asarray(windows.starts, dtype=np.int64)
    edges = np.bincount(starts, minlength=len(windows.series) + 1)
    edges[windows.lookback :] -= np.bincount(starts, minlength=len(windows.series) + 1)[: -windows.lookback]
    return np.cumsum(edges)[: len(windows.series)]


def _weighted_sums(
    values: NDArray[np.float32], weights: NDArray[np.int64], center: NDArray[np.float64] | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the sum of the weights of the readings, and their weighted sum (of squares about a center)."""
    n = values.shape[1]
    count, total = np.zeros(n), np.zeros(n)
    for first in range(0, values.shape[0], _CHUNK):
        block = values[first : first + _CHUNK].astype(np.float64)  # [chunk, n]
        weight = weights[first : first + _CHUNK, None] * ~np.isnan(block)
        block = np.nan_to_num(block) if center is None else np.nan_to_num(block - center) ** 2
        count += weight.sum(axis=0)
        total += (weight * block).sum(axis=0)
    return count, total


def _usable(deviation: NDArray[np.float64], mean: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the deviation, with 1 where it is only a rounding error."""
    return np.where(deviation > 1e-7 * np.maximum(np.abs(mean), 1e-30), deviation, 1.0)
