"""Ridge regression of other variables and steps on the readings of S, built from moments once for each S."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subcast.errors import DataError
from subcast.retrieval.moments import LagMoments

MOST_CELLS = 1024  # largest number of inputs (variables in S x steps) of a regression; above it fewer steps are used
CACHED_BYTES = 256 << 20


@dataclass(eq=False)
class Regression:
    """A ridge regression on the readings of S: (gram + ridge)^-1 times the covariance with S.

    Parameters
    ----------
    present, absent
        S and the other variables
    steps
        the steps of the window that are inputs of the regression
    lookback, horizon
        sizes of a window
    inverse
        [p, p], p = steps * s
    moments
        the second moments that give the covariances
    """

    present: NDArray[np.int64]
    absent: NDArray[np.int64]
    steps: NDArray[np.int64]
    lookback: int
    horizon: int
    inverse: NDArray[np.float32]
    moments: LagMoments
    _cross: dict[tuple[int, bytes], NDArray[np.float32]] = field(default_factory=dict, repr=False)

    @property
    def nbytes(self) -> int:
        """Size in memory in bytes."""
        return self.inverse.nbytes + sum(cross.nbytes for cross in self._cross.values())

    def solve(self, differences: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the differences on S, [b, t, s], times the inverse, [b, p]: the input of `inputs` and `future`."""
        cells = differences[:, self.steps].reshape(len(differences), -1)
        return np.asarray(cells @ self.inverse)

    def inputs(self, solved: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the predicted differences of the absent variables over the window, [b, t, m]."""
        return self._apply(solved, self.absent, np.arange(self.lookback))

    def future(self, solved: NDArray[np.float32], variables: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the predicted differences of `variables` at the steps ahead, [b, h, s]."""
        return self._apply(solved, variables, self.lookback + np.arange(self.horizon))

    def _apply(
        self, solved: NDArray[np.float32], others: NDArray[np.int64], times: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        key = (int(times[0]), others.tobytes())
        cross = self._cross.get(key)
        if cross is None:
            cross = self._cross[key] = self.moments.cross(self.present, self.steps, others, times)
        return np.asarray(solved @ cross).reshape(len(solved), len(times), len(others))


def make_regression(
    moments: LagMoments,
    present: NDArray[np.int64],
    n: int,
    lookback: int,
    horizon: int,
    ridge: float,
    most_cells: int = MOST_CELLS,
) -> Regression:
    """Build the regression on S from the moments."""
    from scipy.linalg import cho_factor, cho_solve

    absent = np.setdiff1d(np.arange(n), present)
    steps = thinned_steps(lookback, max(1, most_cells // len(present)))
    gram = moments.gram(present, steps)
    gram[np.diag_indices_from(gram)] += ridge + 1e-5
    try:
        factor = cho_factor(gram, lower=True, overwrite_a=True, check_finite=False)
    except np.linalg.LinAlgError:
        raise DataError(
            "the regression on the variables that are present has no solution, because the moments of the wrapper are "
            "not those of any readings: fit the wrapper again"
        ) from None
    inverse = cho_solve(factor, np.eye(len(gram)))
    return Regression(present, absent, steps, lookback, horizon, inverse.astype(np.float32), moments)


def thinned_steps(lookback: int, most: int) -> NDArray[np.int64]:
    """Return at most `most` steps of a window, evenly spread, including the last.

    >>> thinned_steps(12, 4), thinned_steps(12, 99).size
    (array([ 2,  5,  8, 11]), 12)
    """
    count = min(lookback, most)
    return np.unique(np.rint(np.linspace(lookback, 0, count, endpoint=False)).astype(np.int64) - 1)


class RegressionCache:
    """Regressions by S; the least recently used is dropped first."""

    def __init__(
        self, moments: LagMoments, n: int, lookback: int, horizon: int, cached_bytes: int = CACHED_BYTES
    ) -> None:
        self.moments, self.n, self.lookback, self.horizon = moments, n, lookback, horizon
        self.cached_bytes = cached_bytes
        self._cached: OrderedDict[tuple[bytes, float], Regression] = OrderedDict()
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for a pickle, without the lock and the cached regressions."""
        return {name: value for name, value in vars(self).items() if name not in ("_lock", "_cached")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._cached = OrderedDict()
        self._lock = threading.Lock()

    def get(self, present: NDArray[np.int64], ridge: float) -> Regression:
        """Return the regression on S (indices in increasing order), from the cache if it is there."""
        key = (present.tobytes(), ridge)
        with self._lock:
            if key in self._cached:
                self._cached.move_to_end(key)
                return self._cached[key]
        regression = make_regression(self.moments, present, self.n, self.lookback, self.horizon, ridge)
        with self._lock:
            self._cached[key] = regression
            while len(self._cached) > 1 and self._bytes() > self.cached_bytes:
                self._cached.popitem(last=False)
        return regression

    def _bytes(self) -> int:
        return sum(regression.nbytes for regression in self._cached.values())

    def clear(self) -> None:
        """Drop all regressions."""
        with self._lock:
            self._cached.clear()

    def __len__(self) -> int:
        return len(self._cached)
