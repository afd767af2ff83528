"""Ridge imputation: the absent variables as a linear function of those present, in closed form."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from subcast.baselines.base import Shape, check_positive, check_train, completed, training_steps, without_holes
from subcast.errors import InputError
from subcast.scaling import Scaler
from subcast.windows import Windows

_AT_ONCE = 1024
_MOST_INPUTS = 6000  # largest number of inputs, lookback * |S|, that the normal equations are solved for


@dataclass(frozen=True, eq=False)
class RidgeImputer:
    """Estimate each absent reading by ridge regression on the readings of S.

    With X the readings of S and Y those of the absent variables over the training data, both centered, the
    coefficients are (X'X / T + lambda v I)^-1 X'Y / T, v being the mean variance of the columns of X. The inputs are
    the readings of S at the same step or, with `whole_window`, at all steps of the window.

    Readings are normalized variable by variable. A missing training reading counts as its variable's mean, in X'X and
    X'Y alike, so that X'X stays positive; missing readings in S are filled along the steps before the regression, as
    `without_holes` does, and keep that value.

    Cost: one solution for each S, kept until another S is imputed. Same step: T s (s + m) products; whole window:
    T (t s) (t s + t m).

    Parameters
    ----------
    train
        the training windows
    scaler
        of each variable
    normal
        [t, n], the training series, normalized, missing readings 0
    ridge
        lambda, relative to the variance of the inputs
    whole_window
        whether to use all steps of the window

    Examples
    --------
    >>> from subcast.series import Series
    >>> walk = np.random.default_rng(0).normal(size=(200, 2)).cumsum(axis=0)
    >>> series = Series(np.column_stack([walk, walk.sum(axis=1)]))
    >>> train, _, test = series.split(lookback=4, horizon=2)
    >>> filled = RidgeImputer.fit(train, ridge=1e-9).complete(test, np.array([0, 1]))
    >>> bool(np.allclose(filled[..., 0], test.readings, atol=1e-3))
    True
    """

    train: Windows
    scaler: Scaler
    normal: NDArray[np.float64]
    ridge: float = 0.001
    whole_window: bool = False
    _solutions: dict[tuple[int, ...], tuple[NDArray[np.float64], ...]] = field(default_factory=dict, repr=False)

    @classmethod
    def fit(cls, train: Windows, *, ridge: float = 0.001, whole_window: bool = False) -> RidgeImputer:
        """Normalize the training readings; regressions are solved when S is known."""
        check_train(train)
        check_positive("ridge", ridge)
        scaler = Scaler.fit(train, per_variable=True)
        normal = np.nan_to_num(scaler.transform(train.series.values).astype(np.float64))
        return cls(train, scaler, normal, float(ridge), whole_window)

    def complete(self, windows: Windows, present: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the windows with absent variables and missing readings filled in, [b, t, n, f], raw units."""
        shape = Shape.of(self.train)
        present = shape.check(windows, present)
        absent = np.setdiff1d(np.arange(shape.n), present)
        z = np.zeros((len(windows), shape.lookback, shape.n))
        z[:, :, present] = without_holes(self.scaler.select(present).transform(windows.readings[:, :, present]))
        if absent.size:
            z[:, :, absent] = self._regress(z[:, :, present], present, absent)
        return completed(windows, present, self.scaler.inverse(z))

    def _regress(
        self, known: NDArray[np.float64], present: NDArray[np.int64], absent: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return the absent variables, [b, t, m], from those present, [b, t, s]."""
        b, t, s = known.shape
        coefficients, center, level = self._solved(present, absent)
        if not self.whole_window:
            return (known - center) @ coefficients + level
        flat = known.reshape(b, t * s) - center
        return (flat @ coefficients + level).reshape(b, t, absent.size)

    def _solved(self, present: NDArray[np.int64], absent: NDArray[np.int64]) -> tuple[NDArray[np.float64], ...]:
        key = tuple(present.tolist())
        if key not in self._solutions:
            inputs = present.size * (self.train.lookback if self.whole_window else 1)
            if inputs > _MOST_INPUTS:
                raise InputError(
                    f"ridge imputation from {inputs} readings a window is more than the {_MOST_INPUTS} that are "
                    "solved for: use whole_window=False or fewer variables"
                )
            self._solutions.clear()
            self._solutions[key] = self._solve(present, absent)
        return self._solutions[key]

    def _solve(self, present: NDArray[np.int64], absent: NDArray[np.int64]) -> tuple[NDArray[np.float64], ...]:
        """Return coefficients [i, o], and the means of inputs and outputs."""
        count, sum_x, sum_y = 0, 0.0, 0.0
        for x, y in self._rows(present, absent):
            count, sum_x, sum_y = count + len(x), sum_x + x.sum(axis=0), sum_y + y.sum(axis=0)
        center, level = np.asarray(sum_x / count), np.asarray(sum_y / count)
        gram = np.zeros((center.size, center.size))
        cross = np.zeros((center.size, level.size))
        for x, y in self._rows(present, absent):
            gram += (x - center).T @ (x - center)
            cross += (x - center).T @ (y - level)
        gram, cross = gram / count, cross / count
        variance = np.trace(gram) / len(gram)
        penalty = self.ridge * variance if variance > 0 else 1.0  # constant inputs have no information
        coefficients = np.linalg.solve(gram + penalty * np.eye(len(gram)), cross)
        return np.asarray(coefficients, dtype=np.float64), center, level

    def _rows(
        self, present: NDArray[np.int64], absent: NDArray[np.int64]
    ) -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64]]]:
        """Yield inputs and outputs of the regression, in batches."""
        if self.whole_window:
            first = np.asarray(self.train.starts, dtype=np.int64)[:, None] + np.arange(self.train.lookback)  # [b, t]
        else:
            first = training_steps(self.train)[:, None]
        for a in range(0, len(first), _AT_ONCE):
            batch = self.normal[first[a : a + _AT_ONCE]]  # [b, t, n], or [b, 1, n]
            yield batch[:, :, present].reshape(len(batch), -1), batch[:, :, absent].reshape(len(batch), -1)
