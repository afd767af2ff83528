"""Any function of windows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subcast.adapters.base import AdaptedForecaster, checked_names
from subcast.errors import InputError


def from_callable(
    function: Callable[[NDArray[np.float32]], Any],
    *,
    lookback: int,
    horizon: int,
    variables: Sequence[str] = (),
    n_features: int | None = None,
) -> AdaptedForecaster:
    """Adapt any function of windows, such as one that asks a server.

    Parameters
    ----------
    function
        [b, t, n, f] float32 in raw units -> [b, h, n], the same for the same windows
    lookback, horizon
        sizes of the axes t and h
    variables
        the n names in the function's order, when it depends on them
    n_features
        size of the axis f, when the function depends on it

    Examples
    --------
    >>> import numpy as np
    >>> def mean_of_window(x):
    ...     return np.repeat(x[..., 0].mean(axis=1, keepdims=True), 4, axis=1)
    >>> forecaster = from_callable(mean_of_window, lookback=12, horizon=4)
    >>> forecaster(np.ones((5, 12, 3, 1))).shape
    (5, 4, 3)
    """
    if not callable(function) or isinstance(function, type):
        raise InputError(f"function must be a function of windows [b, t, n, f], got {_describe(function)}")
    return AdaptedForecaster(
        run=function,
        lookback=lookback,
        horizon=horizon,
        kind="callable",
        variables=checked_names(variables),
        n_features=n_features,
    )


def _describe(thing: object) -> str:
    return f"the class {thing.__name__}" if isinstance(thing, type) else f"{thing!r}"
