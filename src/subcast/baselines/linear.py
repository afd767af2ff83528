"""A linear forecaster of each variable from its own past: trend and remainder, each mapped to the future steps.

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
_LEAST_RESIDUAL = 1e-2  # in normalized units: smaller residuals count as this, so that no weight is boundless


@dataclass(frozen=True, eq=False)
class LinearForecaster:
    """Forecast each variable from its own last readings only.

    The window is divided into a trend (moving average, the ends repeated) and the remainder; a linear map from both
    to the future steps, with an intercept, is fitted for each variable, or one for all (`shared`), by ridge
    regression on normalized readings. A target that does not count is left out; missing inputs are filled in along
    the steps.

    `loss="absolute"` fits the least absolute error, which MAE measures, by iteratively reweighted least squares: each
    round solves the ridge regression with weights 1 / |residual of the round before|.

    Cost: T n t^2 h products, times `rounds` for the absolute loss.

    Parameters
    ----------
    shape
        of the training windows
    scaler
        of each variable
    coefficients
        [n, t + 1, h], of the readings (trend and remainder put together); the last row is the intercept

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
        """Fit the maps.

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
            number of rounds of reweighting, for the absolute loss
        """
        check_train(train)
        check_positive("ridge", ridge)
        check_whole("rounds", rounds)
        if loss not in LOSSES:
            raise InputError(f"loss must be one of {', '.join(LOSSES)}, got {loss!r}")
        if check_whole("kernel", kernel) % 2 == 0:
            raise InputError(f"kernel must be odd, so that the average is centered on its step, got {kernel}")
        scaler = Scaler.fit(train, per_variable=True)
        problem = _Problem(train, scaler, _penalty(train.lookback, kernel, ridge))
        return cls(Shape.of(train), scaler, problem.solve(shared, rounds if loss == "absolute" else 0))

    def __call__(self, windows: Windows, present: NDArray[np.int64]) -> NDArray[np.float32]:
        """Forecast S: [b, h, s], raw units."""
        present = self.shape.check(windows, present)
        scaler = self.scaler.select(present)
        x = without_holes(scaler.transform(windows.readings[:, :, present]))  # [b, t, s]
        normal = _with_one(np.moveaxis(x, -1, 0)) @ self.coefficients[present]  # [s, b, h]
        return scaler.inverse(np.moveaxis(normal, 0, -1))  # [b, h, s]


@dataclass(frozen=True, eq=False)
class _Problem:
    """The regressions to solve: inputs and targets of each variable in turn.

    Trend and remainder are B x, with B = [A; I - A] and A the moving average. Of all maps u with u B = w, the one that
    ridge regression takes has |u|^2 = w (B'B)^-1 w'; so w is solved for directly, with that penalty, at a quarter of
    the products.
    """

    train: Windows
    scaler: Scaler
    penalty: NDArray[np.float64]  # [t + 1, t + 1]

    def solve(self, shared: bool, rounds: int) -> NDArray[np.float64]:
        """Return coefficients [n, t + 1, h], after `rounds` rounds of reweighting."""
        n = self.train.series.n_variables
        groups = [list(range(n))] if shared else [[variable] for variable in range(n)]
        coefficients = np.stack([self._solve(group, rounds) for group in groups])
        return np.broadcast_to(coefficients, (n, *coefficients.shape[1:]))

    def _solve(self, variables: list[int], rounds: int) -> NDArray[np.float64]:
        """Return one map for a group of variables, [t + 1, h]."""
        coefficients = self._round(variables, None)
        for _ in range(rounds):
            coefficients = self._round(variables, coefficients)
        return coefficients

    def _round(self, variables: list[int], before: NDArray[np.float64] | None) -> NDArray[np.float64]:
        d, h = len(self.penalty), self.train.horizon
        gram, cross, total = np.zeros((h, d, d)), np.zeros((h, d)), np.zeros(h)
        for variable in variables:
            x, y, known = self._of(variable)
            weight = known.astype(np.float64)  # [b, h]
            if before is not None:
                weight /= np.maximum(np.abs(y - x @ before), _LEAST_RESIDUAL)
            pairs = (x[:, :, None] * x[:, None, :]).reshape(len(x), d * d)
            gram += (weight.T @ pairs).reshape(h, d, d)
            cross += (weight * y).T @ x
            total += weight.sum(axis=0)
        gram += np.maximum(total, 1.0)[:, None, None] * self.penalty
        return np.asarray(np.linalg.solve(gram, cross[..., None])[..., 0].T, dtype=np.float64)  # [t + 1, h]

    def _of(self, variable: int) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
        """Return inputs [b, t + 1], targets [b, h] (0 where none counts) and which targets count, normalized."""
        scaler = self.scaler.select([variable])
        x = without_holes(scaler.transform(self.train.readings[:, :, [variable]]))[:, :, 0]  # [b, t]
        y = scaler.transform(self.train.targets[:, :, [variable]])[:, :, 0].astype(np.float64)
        return _with_one(x), np.nan_to_num(y), ~np.isnan(y)


def _with_one(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the readings with a column of ones, [..., t + 1]."""
    return np.concatenate([x, np.ones((*x.shape[:-1], 1))], axis=-1)


def _penalty(lookback: int, kernel: int, ridge: float) -> NDArray[np.float64]:
    """Return the penalty of ridge on trend and remainder, in terms of the readings, [t + 1, t + 1]."""
    average = moving_average(lookback, kernel)
    decomposition = np.concatenate([average, np.eye(lookback) - average])  # [2 t, t]
    penalty = np.zeros((lookback + 1, lookback + 1))
    penalty[:-1, :-1] = ridge * np.linalg.inv(decomposition.T @ decomposition)
    penalty[-1, -1] = 1e-12  # the intercept is free, but a step without targets must be solvable
    return penalty


def moving_average(length: int, kernel: int) -> NDArray[np.float64]:
    """Return the matrix that averages `kernel` steps around each of `length` steps, with the end steps repeated.

    >>> (moving_average(3, 3) * 3).round().astype(int)
    array([[2, 1, 0],
           [1, 1, 1],
           [0, 1, 2]])
    """
    matrix = np.zeros((length, length))
    for step in range(length):
        for shift in range(-(kernel // 2), kernel // 2 + 1):
            matrix[step, min(max(step + shift, 0), length - 1)] += 1 / kernel
    return matrix
