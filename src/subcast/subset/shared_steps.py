"""Search for windows of one series that overlap: steps that they share are compared once."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from subcast.retrieval import Neighbors, WindowBank

_WORTH = 0.6  # share of the steps that must be left for a joint search: it cannot skip far candidates as early


def nearest_of_series(
    bank: WindowBank,
    windows: NDArray[np.float32],
    shared: NDArray[np.float32] | None,
    begins: NDArray[np.int64],
    present: NDArray[np.int64],
    k: int,
    exponent: float,
) -> Neighbors:
    """Return the k nearest candidates of windows of one series, to the bit those of `bank.nearest`.

    Parameters
    ----------
    bank
        the bank
    windows, shared
        [b, t, s] and [b, t, g], the readings of S and the shared features
    begins
        [b], the step of the series at which each window begins
    present, k, exponent
        as in `bank.nearest`
    """
    index = np.full((len(windows), k), -1, dtype=np.int64)
    distance = np.full((len(windows), k), np.inf, dtype=np.float32)
    alone = np.ones(len(windows), dtype=bool)
    for first, last in _runs(begins, bank.lookback):
        members = slice(first, last)
        places = begins[members] - begins[first]
        wanted = np.zeros(places[-1] + 1, dtype=bool)
        wanted[places] = True
        steps = _joined(windows[members], places)
        shared_steps = None if shared is None else _joined(shared[members], places)
        if steps is None or (shared is not None and shared_steps is None):
            continue
        found = bank.nearest_sliding(steps, present, k, exponent, shared=shared_steps, wanted=wanted)
        index[members], distance[members] = found.index[places], found.distance[places]
        alone[members] = False
    if alone.any():
        rest = None if shared is None else shared[alone]
        found = bank.nearest(windows[alone], present, k, exponent, shared=rest)
        index[alone], distance[alone] = found.index, found.distance
    return Neighbors(index, distance)


def _runs(begins: NDArray[np.int64], lookback: int) -> Iterator[tuple[int, int]]:
    """Yield the first and last (exclusive) number of windows whose joint search compares clearly fewer steps."""
    gaps = np.diff(begins)
    cuts = np.flatnonzero((gaps <= 0) | (gaps > lookback)) + 1
    bounds = [0, *cuts.tolist(), len(begins)]
    for first, last in pairwise(bounds):
        if last > first:
            span = int(begins[last - 1] - begins[first]) + lookback
            if span < _WORTH * (last - first) * lookback:
                yield first, last


def _joined(windows: NDArray[np.float32], places: NDArray[np.int64]) -> NDArray[np.float32] | None:
    """Return the steps that overlapping windows [b, t, s] cover, in their order; None if the windows contradict."""
    lookback, known = windows.shape[1], 0
    steps = np.empty((int(places[-1]) + lookback, windows.shape[2]), dtype=windows.dtype)
    for window, place in zip(windows, places.tolist(), strict=True):
        if known > place and not np.array_equal(steps[place:known], window[: known - place], equal_nan=True):
            return None
        known = place + lookback
        steps[place:known] = window
    return steps
