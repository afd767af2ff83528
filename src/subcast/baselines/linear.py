"""A linear forecaster that needs no other variables: trend and remainder, each mapped to the steps to come.

The form of DLinear (Zeng, Chen, Zhang and Xu, Are Transformers Effective for Time Series Forecasting?, AAAI 2023),
solved in closed form instead of by gradient descent.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from subcast.axes import check_whole
from subcast.baselines.base import Shape, check_positive, check_train, without_holes
from subcast.errors import InputError
from subcast.scaling import Scaler
from subcast.windows import Windows

LOSSES = ("squared", "absolute")
_LEAST_RESIDUAL = 1e-2  # in normalised units: smaller residuals count as this, so that no weight is boundless


@dataclass(frozen=True, eq=False)
class LinearForecaster:
    """Forecast each variable from its own last readings alone.

    The window is divided into a trend (moving average, the ends repeated) and the remainder; a linear map from both
    to the steps to come, with an intercept, is fitted for each variable, or one for all (`shared`), by ridge
    regression on normalised readings. A target that does not count is left out; holes in the inputs are filled along
    the steps.

    `loss="absolute"` fits the least absolute error, which MAE measures, by iteratively reweighted least squares: each
    round solves the ridge regression with weights 1 / |residual of the round before|.

    Cost: T n (2 t)^2 products, times h when targets are missing or the loss is absolute, times `rounds` for that.

    Parameters
    ----------
    shape
        of the training windows
    scaler
        of each variable
    smoothing
        [t, t], the moving average
    coefficients
        [n, 2 t + 1, h]; the last row is the intercept

    Examples
    --------
    >>> from subcast.series import Series
    >>> wave = np.sin(np.arange(400)[:, None] / 3 + np.arange(3))
    >>> train, _, test = Series(wave).split(lookback=6, horizon=3)
    >>> forecast = LinearForecaster.fit(train)(test, np.array([0, 2]))
    >>> bool(np.abs(forecast - test.targets[:, :, [0, 2]]).max() < 0.02)
    True
    """

    shape: Shape
    scaler: Scaler
    smoothing: NDArray[np.float64]
    coefficients: NDArray[np.float64]

    @classmethod
    def fit(
        cls,
        train: Windows,
        *,
        shared: bool = False,
        loss: str = "squared",
        kernel: int = 5,
        ridge: float = 1e-4,
        rounds: int = 10,
    ) -> LinearForecaster:
        """Solve for the maps.

        Parameters
        ----------
        train
            the training windows
        shared
            one map for all variables, instead of one for each
        loss
            "squared" or "absolute"
        kernel
            steps in the moving average, odd
        ridge
            lambda, relative to the weight of the training windows that count; the intercept is free
        rounds
            of reweighting, for the absolute loss
        """
        check_train(train)
        check_positive("ridge", ridge)
        check_whole("rounds", rounds)
        if loss not in LOSSES:
            raise InputError(f"loss must be one of {', '.join(LOSSES)}, got {loss!r}")
        if check_whole("kernel", kernel) % 2 == 0:
            raise InputError(f"kernel must be odd, so that the average lies about its step, got {kernel}")
        scaler = Scaler.fit(train, per_variable=True)
        smoothing = moving_average(train.lookback, kernel)
        problem = _Problem(train, scaler, smoothing, ridge)
        coefficients = problem.solve(shared, rounds if loss == "absolute" else 0)
        return cls(Shape.of(train), scaler, smoothing, coefficients)

    def __call__(self, windows: Windows, present: NDArray[np.int64]) -> NDArray[np.float32]:
        """Forecast S: [b, h, s], raw units."""
        chosen = self.shape.check(windows, present)
        scaler = self.scaler.select(chosen)
        x = without_holes(scaler.transform(windows.readings[:, :, chosen]))  # [b, t, s]
        parts = _parts(np.moveaxis(x, -1, 0), self.smoothing)  # [s, b, 2 t + 1]
        normal = parts @ self.coefficients[chosen]  # [s, b, h]
        return scaler.inverse(np.moveaxis(normal, 0, -1))  # [b, h, s]


@dataclass(frozen=True, eq=False)
class _Problem:
    """The regressions to solve: inputs and targets of each variable in turn."""

    train: Windows
    scaler: Scaler
    smoothing: NDArray[np.float64]
    ridge: float

    def solve(self, shared: bool, rounds: int) -> NDArray[np.float64]:
        """Coefficients [n, 2 t + 1, h], after some rounds of reweighting."""
        n = self.train.series.n_variables
        if not shared:
            return np.stack([self._reweighted([variable], rounds) for variable in range(n)])
        return np.broadcast_to(self._reweighted(list(range(n)), rounds), (n, *self._size)).copy()

    @property
    def _size(self) -> tuple[int, int]:
        return 2 * self.train.lookback + 1, self.train.horizon

    def _reweighted(self, variables: list[int], rounds: int) -> NDArray[np.float64]:
        """One map for some variables, [2 t + 1, h]."""
        found = self._round(variables, None)
        for _ in range(rounds):
            found = self._round(variables, found)
        return found

    def _round(self, variables: list[int], before: NDArray[np.float64] | None) -> NDArray[np.float64]:
        d, h = self._size
        gram, cross, weight = np.zeros((h, d, d)), np.zeros((h, d)), np.zeros(h)
        for variable in variables:
            x, y, known = self._of(variable)
            w = known.astype(np.float64)  # [b, h]
            if before is not None:
                w /= np.maximum(np.abs(y - x @ before), _LEAST_RESIDUAL)
            if before is None and known.all():
                gram += x.T @ x
            else:
                for step in range(h):
                    gram[step] += (x * w[:, step, None]).T @ x
            cross += (w * y).T @ x
            weight += w.sum(axis=0)
        penalty = np.full(d, self.ridge)
        penalty[-1] = 1e-12  # the intercept is free, but a step without targets must be solvable
        gram += np.maximum(weight, 1.0)[:, None, None] * np.diag(penalty)
        return np.asarray(np.linalg.solve(gram, cross[..., None])[..., 0].T, dtype=np.float64)  # [2 t + 1, h]

    def _of(self, variable: int) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
        """Inputs [b, 2 t + 1], targets [b, h] (0 where none counts) and which count, normalised."""
        scaler = self.scaler.select([variable])
        x = without_holes(scaler.transform(self.train.readings[:, :, [variable]]))[:, :, 0]  # [b, t]
        y = scaler.transform(self.train.targets[:, :, [variable]])[:, :, 0].astype(np.float64)
        return _parts(x, self.smoothing), np.nan_to_num(y), ~np.isnan(y)


def _parts(x: NDArray[np.float64], smoothing: NDArray[np.float64]) -> NDArray[np.float64]:
    """Trend, remainder and 1: [..., 2 t + 1] of [..., t]."""
    trend = x @ smoothing.T
    return np.concatenate([trend, x - trend, np.ones((*x.shape[:-1], 1))], axis=-1)


def moving_average(length: int, kernel: int) -> NDArray[np.float64]:
    """The matrix that averages `kernel` steps about each of `length` steps, the end steps repeated.

    >>> (moving_average(3, 3) * 3).round().astype(int)
    array([[2, 1, 0],
           [1, 1, 1],
           [0, 1, 2]])
    """
    matrix = np.zeros((length, length))
    for step in range(length):
        for beside in range(-(kernel // 2), kernel // 2 + 1):
            matrix[step, min(max(step + beside, 0), length - 1)] += 1 / kernel
    return matrix
