"""Is a window like those that the wrapper was tested on? The distance of its nearest past windows tells."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from subcast.retrieval import Neighbors


def strangeness_of(neighbors: Neighbors) -> NDArray[np.float64]:
    """Return the strangeness of windows, [b]: the mean distance of their neighbors.

    A distance is a mean over the readings that were compared, so it can be compared between sets S of about the same
    size. A window without neighbors has no strangeness (NaN).

    >>> strangeness_of(Neighbors(np.array([[4, 9], [2, -1]]), np.array([[0.1, 0.3], [0.5, np.inf]])))
    array([0.2, 0.5])
    """
    found = neighbors.found
    total = np.where(found, neighbors.distance, 0).sum(axis=1, dtype=np.float64)
    count = found.sum(axis=1)
    return np.divide(total, count, out=np.full(len(count), np.nan), where=count > 0)
