"""Some of many steps: those that a boosted model learns, and values in between."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def spread_steps(length: int, most: int) -> NDArray[np.int64]:
    """Return at most `most` of the steps 0 .. length - 1, with the first and the last, denser at the beginning.

    >>> spread_steps(4, 12), spread_steps(96, 5)
    (array([0, 1, 2, 3]), array([ 0,  2,  9, 30, 95]))
    """
    if length <= most:
        return np.arange(length)
    return np.unique(np.rint(np.geomspace(1, length, most)).astype(np.int64) - 1)


def interpolated(forecast: NDArray[np.floating[Any]], steps: NDArray[np.int64], horizon: int) -> NDArray[np.float32]:
    """Return values at all steps, [b, h, s], linear between those at some steps [b, steps, s]."""
    if len(steps) == horizon:
        return np.asarray(forecast, dtype=np.float32)
    position = np.interp(np.arange(horizon), steps, np.arange(len(steps)))
    low = np.minimum(position.astype(np.int64), len(steps) - 2)
    weight = (position - low)[None, :, None]
    return np.asarray((1 - weight) * forecast[:, low] + weight * forecast[:, low + 1], dtype=np.float32)
