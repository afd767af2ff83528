"""Errors of forecasts: masked MAE and RMSE by horizon step, and the gap to the oracle.

Every mean is over points (window x step x variable that counts), never over batches. A target that is NaN never
counts; with `zeros_missing`, the paper's protocol, a target of exactly 0 does not count either.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from subcast.axes import check_axes
from subcast.errors import InputError

if TYPE_CHECKING:
    from typing import Self

METRICS = ("mae", "rmse")
_CHUNK = 1 << 20  # points worked on at a time, so that float64 differences stay small beside the forecasts


@dataclass(frozen=True)
class ErrorSums:
    """Sums of errors for each horizon step; adding those of two batches gives those of both.

    Attributes
    ----------
    absolute, squared
        sums of |forecast - target| and of its square, float64 [h]
    count
        how many points were counted, [h]

    Examples
    --------
    >>> forecast = np.array([[[1.0], [2.0]], [[3.0], [4.0]]])  # 2 windows, 2 steps, 1 variable
    >>> target = np.array([[[0.0], [2.0]], [[3.0], [np.nan]]])
    >>> sums = ErrorSums.nothing(horizon=2)
    >>> for window in range(2):
    ...     sums += ErrorSums.of(forecast[[window]], target[[window]])
    >>> sums.mae_by_step, sums.mae == ErrorSums.of(forecast, target).mae
    (array([0.5, 0. ]), True)
    """

    absolute: NDArray[np.float64]
    squared: NDArray[np.float64]
    count: NDArray[np.int64]

    @classmethod
    def nothing(cls, horizon: int) -> Self:
        """Return the sums before any batch."""
        return cls(np.zeros(horizon), np.zeros(horizon), np.zeros(horizon, dtype=np.int64))

    @classmethod
    def of(
        cls,
        forecast: ArrayLike,
        target: ArrayLike,
        mask: ArrayLike | None = None,
        *,
        zeros_missing: bool = False,
    ) -> Self:
        """Sum the errors of a batch.

        Parameters
        ----------
        forecast
            [b, h, s], finite wherever the target counts
        target
            [b, h, s], NaN where it is missing
        mask
            True where a target counts (if it is not missing), [b, h, s]; by default everywhere
        zeros_missing
            whether a target of 0 is missing too, as in the paper's protocol
        """
        total: Self | None = None
        for difference, counts in _differences(forecast, target, mask, zeros_missing):
            sums = (np.abs(difference), difference**2, counts)
            batch = cls(*(values.sum(axis=(0, 2)) for values in sums))
            total = batch if total is None else total + batch
        return cls.nothing(np.shape(forecast)[1]) if total is None else total

    def __add__(self, other: Self) -> Self:
        if len(self.count) != len(other.count):
            raise InputError(f"error sums of {len(self.count)} and of {len(other.count)} horizon steps cannot be added")
        return type(self)(self.absolute + other.absolute, self.squared + other.squared, self.count + other.count)

    def at(self, step: int) -> Self:
        """Return the sums of one horizon step alone, counted from 1: at(12) is the paper's."""
        if isinstance(step, bool) or not isinstance(step, (int, np.integer)) or not 1 <= step <= len(self.count):
            raise InputError(f"step must be between 1 and the horizon of {len(self.count)}, got {step!r}")
        index = slice(step - 1, step)
        return type(self)(self.absolute[index], self.squared[index], self.count[index])

    @property
    def mae(self) -> float:
        """Mean absolute error over all points; NaN when none counted."""
        return float(_mean(self.absolute.sum(), self.count.sum()))

    @property
    def rmse(self) -> float:
        """Root of the mean squared error over all points; NaN when none counted."""
        return float(np.sqrt(_mean(self.squared.sum(), self.count.sum())))

    @property
    def mae_by_step(self) -> NDArray[np.float64]:
        """Mean absolute error of each horizon step, [h]."""
        return _mean(self.absolute, self.count)

    @property
    def rmse_by_step(self) -> NDArray[np.float64]:
        """Root of the mean squared error of each horizon step, [h]."""
        return np.asarray(np.sqrt(_mean(self.squared, self.count)))


def mae(
    forecast: ArrayLike,
    target: ArrayLike,
    mask: ArrayLike | None = None,
    *,
    step: int | None = None,
    zeros_missing: bool = False,
) -> float:
    """Return the mean absolute error over the points that count, of all steps or of one (from 1).

    `forecast`, `target`, `mask` and `zeros_missing` as in :meth:`ErrorSums.of`.

    >>> mae([[[1.0, 2.0], [5.0, 5.0]]], [[[0.0, 2.0], [1.0, np.nan]]])
    1.6666666666666667
    >>> mae([[[1.0, 2.0], [5.0, 5.0]]], [[[0.0, 2.0], [1.0, np.nan]]], step=2)
    4.0
    """
    sums = ErrorSums.of(forecast, target, mask, zeros_missing=zeros_missing)
    return sums.mae if step is None else sums.at(step).mae


def rmse(
    forecast: ArrayLike,
    target: ArrayLike,
    mask: ArrayLike | None = None,
    *,
    step: int | None = None,
    zeros_missing: bool = False,
) -> float:
    """Return the root of the mean squared error over the points that count, of all steps or of one (from 1).

    `forecast`, `target`, `mask` and `zeros_missing` as in :meth:`ErrorSums.of`.

    >>> rmse([[[1.0, 2.0], [5.0, 5.0]]], [[[0.0, 2.0], [2.0, np.nan]]], step=2)
    3.0
    """
    sums = ErrorSums.of(forecast, target, mask, zeros_missing=zeros_missing)
    return sums.rmse if step is None else sums.at(step).rmse


def mae_by_step(
    forecast: ArrayLike, target: ArrayLike, mask: ArrayLike | None = None, *, zeros_missing: bool = False
) -> NDArray[np.float64]:
    """Return the mean absolute error of each horizon step, [b, h, s] -> [h].

    >>> mae_by_step([[[1.0, 2.0], [5.0, 5.0]]], [[[0.0, 2.0], [1.0, np.nan]]], zeros_missing=True)
    array([0., 4.])
    """
    return ErrorSums.of(forecast, target, mask, zeros_missing=zeros_missing).mae_by_step


def rmse_by_step(
    forecast: ArrayLike, target: ArrayLike, mask: ArrayLike | None = None, *, zeros_missing: bool = False
) -> NDArray[np.float64]:
    """Return the root of the mean squared error of each horizon step, [b, h, s] -> [h].

    >>> rmse_by_step([[[3.0, 4.0]]], [[[0.0, 0.0]]]).round(3)
    array([3.536])
    """
    return ErrorSums.of(forecast, target, mask, zeros_missing=zeros_missing).rmse_by_step


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums of errors: three arrays of one shape.

    Attributes
    ----------
    absolute, squared
        sums of absolute and of squared errors
    count
        number of targets in each sum
    """

    absolute: NDArray[np.float64]
    squared: NDArray[np.float64]
    count: NDArray[np.int64]

    def errors(self, metric: str) -> NDArray[np.float64]:
        """Return the MAE or the RMSE of each element, NaN where no target counted.

        >>> Sums(np.array([6.0, 0.0]), np.array([12.0, 0.0]), np.array([3, 0])).errors("rmse")
        array([ 2., nan])
        """
        if metric not in METRICS:
            raise InputError(f"metric must be mae or rmse, got {metric!r}")
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = (self.absolute if metric == "mae" else self.squared) / self.count
        return np.asarray(mean if metric == "mae" else np.sqrt(mean))

    def map(self, change: Callable[[NDArray[Any]], NDArray[Any]]) -> Sums:
        """Return the sums with each of the three arrays changed in the same way."""
        return Sums(change(self.absolute), change(self.squared), change(self.count))

    @classmethod
    def concatenate(cls, sums: Iterable[Sums]) -> Sums:
        """Join sums along their first axis."""
        arrays = [(each.absolute, each.squared, each.count) for each in sums]
        return cls(*(np.concatenate(columns) for columns in zip(*arrays, strict=True)))


def sum_by_window(
    forecast: ArrayLike, target: ArrayLike, mask: ArrayLike | None = None, *, zeros_missing: bool = False
) -> Sums:
    """Return the sums of errors of each window and horizon step, [b, h, s] -> [b, h].

    `forecast`, `target`, `mask` and `zeros_missing` as in :meth:`ErrorSums.of`.

    >>> sum_by_window([[[1.0, 2.0], [5.0, 5.0]]], [[[0.0, 4.0], [1.0, np.nan]]]).absolute
    array([[3., 4.]])
    """
    empty = np.zeros((0, np.shape(forecast)[1]))
    batches = [Sums(empty, empty, empty.astype(np.int64))]
    for difference, counts in _differences(forecast, target, mask, zeros_missing):
        sums = np.abs(difference).sum(axis=2), (difference**2).sum(axis=2), counts.sum(axis=2)
        batches.append(Sums(*sums))
    return Sums.concatenate(batches)


def gap(error: float, oracle: float) -> float:
    """Return how much worse than the oracle, in per cent: 100 (E - E_oracle) / E_oracle.

    >>> round(gap(3.5, 3.43), 2)
    2.04
    """
    if not oracle > 0:
        raise InputError(f"oracle must be an error above 0 for a gap to be a share of it, got {oracle}")
    return 100.0 * (error - oracle) / oracle


def _checked(
    forecast: ArrayLike, target: ArrayLike, mask: ArrayLike | None
) -> tuple[NDArray[np.generic], NDArray[np.generic], NDArray[np.bool_] | None]:
    forecasts, targets = np.asarray(forecast), np.asarray(target)
    check_axes("forecast", forecasts, "bhs")
    for argument, given in (("target", targets), ("mask", None if mask is None else np.asarray(mask))):
        if given is not None and given.shape != forecasts.shape:
            raise InputError(
                f"{argument} must have the forecast's shape {forecasts.shape} [b, h, s], got {given.shape}"
            )
    if mask is None:
        return forecasts, targets, None
    counts = np.asarray(mask)
    if counts.dtype != bool:
        raise InputError(f"mask must be boolean, True where a target counts, got values of type {counts.dtype}")
    return forecasts, targets, counts


def _differences(
    forecast: ArrayLike, target: ArrayLike, mask: ArrayLike | None, zeros_missing: bool
) -> Iterator[tuple[NDArray[np.float64], NDArray[np.bool_]]]:
    """Yield forecast - target (0 where no target counts) and which targets count, some windows at a time, [b, h, s]."""
    forecasts, targets, allowed = _checked(forecast, target, mask)
    windows, horizon, variables = forecasts.shape
    rows = max(1, _CHUNK // max(1, horizon * variables))
    for first in range(0, windows, rows):
        batch = slice(first, first + rows)
        truth = targets[batch].astype(np.float64)
        counts = ~np.isnan(truth)
        if allowed is not None:
            counts &= allowed[batch]
        if zeros_missing:
            counts &= truth != 0
        predicted = forecasts[batch].astype(np.float64)
        _refuse_infinite("forecast", predicted, counts, first)
        _refuse_infinite("target", truth, counts, first)
        difference = np.zeros_like(truth)
        np.subtract(predicted, truth, out=difference, where=counts)  # [b, h, s]
        yield difference, counts


def _refuse_infinite(argument: str, values: NDArray[np.float64], counts: NDArray[np.bool_], first_window: int) -> None:
    wrong = counts & ~np.isfinite(values)
    if wrong.any():
        window, step, variable = np.argwhere(wrong)[0].tolist()
        raise InputError(
            f"{argument} must be finite wherever a target counts, got {values[window, step, variable]} "
            f"in window {window + first_window}, step {step + 1}, variable {variable}"
        )


def _mean(total: ArrayLike, count: ArrayLike) -> NDArray[np.float64]:
    sums, number = np.asarray(total, dtype=np.float64), np.asarray(count)
    mean = np.full(sums.shape, np.nan)
    np.divide(sums, number, out=mean, where=number > 0)
    return mean
