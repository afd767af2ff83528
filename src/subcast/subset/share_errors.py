"""Errors of mixtures of two forecasts, of all shares at once: a compiled loop."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from subcast.retrieval.compiled.powers import compiled


def share_errors(
    first: NDArray[np.float32],
    other: NDArray[np.float32],
    target: NDArray[np.float32],
    spread: NDArray[np.float64],
    shares: NDArray[np.float64],
    bounds: NDArray[np.int64],
    *,
    squared: bool,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return sums of errors of first + share * (other - first), and how many targets are known.

    Parameters
    ----------
    first, other, target
        [b, h, s]; a target may be missing
    spread
        [s], the unit of each variable's errors
    shares
        the shares of the other forecast
    bounds
        first windows of the blocks of time, in increasing order
    squared
        whether errors are squared

    Returns
    -------
    sums, counts
        [shares, blocks, h] and [h]
    """
    steps, blocks = first.shape[1], len(bounds)
    sums, counts = np.zeros((len(shares), blocks, steps)), np.zeros(steps, dtype=np.int64)
    block_of = np.searchsorted(bounds, np.arange(len(first)), side="right") - 1
    _add_errors(sums, counts, first, other, target, 1 / spread, shares.astype(np.float32), block_of, squared)
    return sums, counts


@compiled
def _add_errors(
    sums: Any,
    counts: Any,
    first: Any,
    other: Any,
    target: Any,
    per_spread: Any,
    shares: Any,
    block_of: Any,
    squared: bool,
) -> None:
    b, steps, n = first.shape
    for window in range(b):
        for step in range(steps):
            for place in range(n):
                truth = target[window, step, place]
                if np.isnan(truth):
                    continue
                counts[step] += 1
                begin, difference = first[window, step, place], other[window, step, place] - first[window, step, place]
                for share in range(len(shares)):
                    error = (begin + shares[share] * difference - truth) * per_spread[place]
                    if not np.isnan(error):
                        sums[share, block_of[window], step] += error * error if squared else abs(error)
