"""Errors of forecasts: masked MAE and RMSE by horizon step, and the gap to the oracle.

Every mean is over points (window x step x variable that counts), never over batches. A target that is NaN never
counts; with `zeros_missing`, the paper's protocol, a target of exactly 0 does not count either.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from subcast.axes import check_axes
from subcast.errors import InputError

if TYPE_CHECKING:
    from typing import Self

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
        predicted, wanted, counts = _checked(forecast, target, mask)
        windows, horizon, variables = predicted.shape
        rows = max(1, _CHUNK // max(1, horizon * variables))
        total = cls.nothing(horizon)
        for first in range(0, windows, rows):
            part = slice(first, first + rows)
            chosen = None if counts is None else counts[part]
            total += cls(*_sums(predicted[part], wanted[part], chosen, zeros_missing, first))
        return total

    def __add__(self, other: Self) -> Self:
        if len(self.count) != len(other.count):
            raise InputError(f"error sums of {len(self.count)} and of {len(other.count)} horizon steps cannot be added")
        return type(self)(self.absolute + other.absolute, self.squared + other.squared, self.count + other.count)

    def at(self, step: int) -> Self:
        """Return the sums of one horizon step alone, counted from 1: at(12) is the paper's."""
        if isinstance(step, bool) or not isinstance(step, (int, np.integer)) or not 1 <= step <= len(self.count):
            raise InputError(f"step must be between 1 and the horizon of {len(self.count)}, got {step!r}")
        place = slice(step - 1, step)
        return type(self)(self.absolute[place], self.squared[place], self.count[place])

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


def gap(error: float, oracle: float) -> float:
    """Return how much worse than the oracle, in per cent: 100 (E - E_oracle) / E_oracle.

    >>> round(gap(3.5, 3.43), 2)
    2.04
    """
    if not oracle > 0:
        raise InputError(f"oracle must be an error above 0 for a gap to be a share of it, got {oracle}")
    return 100.0 * (error - oracle) / oracle


@dataclass(frozen=True)
class Gap:
    """A gap to the oracle in per cent, with a bootstrap interval over draws of S.

    `lower` and `upper` are NaN when there was a single draw, which says nothing about the spread.
    """

    gap: float
    lower: float
    upper: float
    level: float
    draws: int

    def __str__(self) -> str:
        """Return e.g. '2.1 % (1.4 to 2.9)'.

        >>> str(Gap(2.14, 1.42, 2.88, 0.95, 100))
        '2.1 % (1.4 to 2.9)'
        """
        interval = f" ({self.lower:.1f} to {self.upper:.1f})" if self.lower == self.lower else ""
        return f"{self.gap:.1f} %{interval}"


def paired_gap(
    errors: ArrayLike, oracle_errors: ArrayLike, level: float = 0.95, resamples: int = 2000, seed: int = 0
) -> Gap:
    """Return the gap of mean errors with its interval, resampling draws of S in pairs.

    The error depends on which variables S holds far more than on the method, so method and oracle are resampled
    together: a draw brings both of its errors or neither. The interval is that of the percentiles.

    Parameters
    ----------
    errors, oracle_errors
        mean error of each draw of S, in the same order, [draws]
    level
        how often such an interval should hold the truth, between 0 and 1
    resamples
        how many times the draws are resampled
    seed
        0 or above

    Examples
    --------
    >>> oracle = np.linspace(2.0, 4.0, 20)
    >>> print(paired_gap(oracle + 0.06, oracle))
    2.0 % (1.8 to 2.2)
    """
    ours, theirs = _checked_errors(errors, oracle_errors)
    if not 0 < level < 1:
        raise InputError(f"level must be between 0 and 1, such as 0.95, got {level}")
    if resamples < 1:
        raise InputError(f"resamples must be at least 1, got {resamples}")
    draws = len(ours)
    middle = gap(float(ours.mean()), float(theirs.mean()))
    if draws == 1:
        return Gap(middle, float("nan"), float("nan"), level, draws)
    drawn = np.random.default_rng(seed).integers(draws, size=(resamples, draws))
    base = theirs[drawn].mean(axis=1)  # [resamples]
    gaps = 100.0 * (ours[drawn].mean(axis=1) - base) / base
    lower, upper = np.quantile(gaps, [(1 - level) / 2, (1 + level) / 2])
    return Gap(middle, float(lower), float(upper), level, draws)


def _checked_errors(errors: ArrayLike, oracle_errors: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    ours = np.asarray(errors, dtype=np.float64)
    theirs = np.asarray(oracle_errors, dtype=np.float64)
    if ours.ndim != 1 or ours.shape != theirs.shape or ours.size == 0:
        raise InputError(
            "errors and oracle_errors must be flat and hold one error for each draw of S, in the same order, "
            f"got shapes {ours.shape} and {theirs.shape}"
        )
    for argument, given in (("errors", ours), ("oracle_errors", theirs)):
        wrong = np.flatnonzero(~np.isfinite(given))
        if wrong.size:
            raise InputError(f"{argument} must be finite, got {given[wrong[0]]} for draw {wrong[0]}")
    if (theirs <= 0).any():
        raise InputError(
            "oracle_errors must be above 0 for a gap to be a share of them, "
            f"got {theirs.min()} for draw {int(theirs.argmin())}"
        )
    return ours, theirs


def _checked(
    forecast: ArrayLike, target: ArrayLike, mask: ArrayLike | None
) -> tuple[NDArray[np.generic], NDArray[np.generic], NDArray[np.bool_] | None]:
    predicted, wanted = np.asarray(forecast), np.asarray(target)
    check_axes("forecast", predicted, "bhs")
    for argument, given in (("target", wanted), ("mask", None if mask is None else np.asarray(mask))):
        if given is not None and given.shape != predicted.shape:
            raise InputError(
                f"{argument} must have the forecast's shape {predicted.shape} [b, h, s], got {given.shape}"
            )
    if mask is None:
        return predicted, wanted, None
    counts = np.asarray(mask)
    if counts.dtype != bool:
        raise InputError(f"mask must be boolean, True where a target counts, got values of type {counts.dtype}")
    return predicted, wanted, counts


def _sums(
    predicted: NDArray[np.generic],
    wanted: NDArray[np.generic],
    mask: NDArray[np.bool_] | None,
    zeros_missing: bool,
    first_window: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    truth = wanted.astype(np.float64)
    counts = ~np.isnan(truth)
    if mask is not None:
        counts &= mask
    if zeros_missing:
        counts &= truth != 0
    guess = predicted.astype(np.float64)
    _refuse_infinite("forecast", guess, counts, first_window)
    _refuse_infinite("target", truth, counts, first_window)
    difference = np.zeros_like(truth)
    np.subtract(guess, truth, out=difference, where=counts)  # [b, h, s]
    return np.abs(difference).sum(axis=(0, 2)), (difference**2).sum(axis=(0, 2)), counts.sum(axis=(0, 2))


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
