"""A scikit-learn regressor of flattened windows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subcast.adapters.base import AdaptedForecaster, checked_names
from subcast.axes import check_whole
from subcast.errors import InputError
from subcast.windows import Windows


def flatten(windows: Windows) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the matrices to fit a regressor for `from_sklearn` on; windows with missing readings are left out.

    Returns
    -------
    NDArray
        X [b, t n f]: steps outermost, features innermost
    NDArray
        y [b, h n]: steps outermost

    Examples
    --------
    >>> import numpy as np
    >>> from subcast.series import Series
    >>> X, y = flatten(Series(np.arange(10).reshape(5, 2)).windows(lookback=2, horizon=1))
    >>> X[0], y[0]
    (array([0., 1., 2., 3.], dtype=float32), array([4., 5.], dtype=float32))
    """
    inputs, targets = windows.batch()
    X, y = inputs.reshape(len(inputs), -1), targets.reshape(len(targets), -1)  # [b, t n f], [b, h n]
    complete = ~(np.isnan(X).any(axis=1) | np.isnan(y).any(axis=1))  # [b]
    if not complete.any():
        raise InputError(
            f"each of the {len(windows)} windows lacks a reading, so there is nothing to fit on: "
            "leave out the variables with the most gaps, or fill them"
        )
    return X[complete], y[complete]


def from_sklearn(
    regressor: Any,
    *,
    lookback: int,
    horizon: int,
    n_variables: int | None = None,
    variables: Sequence[str] = (),
    n_features: int = 1,
) -> AdaptedForecaster:
    """Adapt a fitted multi-output regressor (or pipeline) of scikit-learn's kind.

    Parameters
    ----------
    regressor
        fitted on the matrices of `flatten`: its `predict` maps [b, t n f] to [b, h n]
    lookback, horizon, n_variables, n_features
        sizes of the axes t, h, n and f; n is worked out from `variables` or from the regressor when not given
    variables
        the n names, in the order of the columns

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import Ridge
    >>> from subcast.series import Series
    >>> train = Series(np.random.default_rng(0).normal(size=(50, 3))).windows(lookback=4, horizon=2)
    >>> forecaster = from_sklearn(Ridge().fit(*flatten(train)), lookback=4, horizon=2)
    >>> forecaster
    AdaptedForecaster 'scikit-learn': 4 + 2 steps of 3 variables
    >>> forecaster(train.batch().inputs).shape
    (45, 2, 3)
    """
    if not hasattr(regressor, "predict") or isinstance(regressor, type):
        raise InputError(f"regressor must be a fitted scikit-learn regressor, got {regressor!r}")
    steps, f = check_whole("lookback", lookback), check_whole("n_features", n_features)
    names = checked_names(variables)
    n = n_variables if n_variables is not None else len(names) or None
    width = getattr(regressor, "n_features_in_", None)
    if width is not None:
        n = n or width // (steps * f)
        if width != steps * n * f:
            raise InputError(
                f"the scikit-learn model was fitted on {width} columns, which are not {steps} x {n or 'n'} x {f} "
                "(lookback x variables x features): fit it on adapters.flatten(train) of the same windows"
            )
    run = _FlatRegressor(regressor, horizon)
    return AdaptedForecaster(run, lookback, horizon, "scikit-learn", names, n_features, n_variables=n)


@dataclass(frozen=True, eq=False)
class _FlatRegressor:
    """A regressor of flattened windows as a function of windows."""

    regressor: Any
    horizon: int

    def __call__(self, x: NDArray[np.float32]) -> NDArray[Any]:
        y = np.asarray(self.regressor.predict(x.reshape(len(x), -1)))  # [b, h n], or [b] for a single output
        numbers = self.horizon * x.shape[2]
        if y.size != len(x) * numbers:
            raise InputError(
                f"the scikit-learn model must give {self.horizon} x {x.shape[2]} = {numbers} numbers a window (horizon "
                f"x variables), but gave shape {y.shape} for {len(x)} windows: fit it on adapters.flatten(train)"
            )
        return y.reshape(len(x), self.horizon, -1)  # [b, h, n]
