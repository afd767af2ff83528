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
from subcast.subset.segments import LaggedBlocks, Segments

MOST_CELLS = 1024  # largest number of inputs of a regression; above it means over several steps are used
CACHED_BYTES = 128 << 20
_LARGE_SHARE = 0.25  # of the variables: above it a copy of the covariances among S is not worth its time


@dataclass(eq=False)
class Regression:
    """A ridge regression on the readings of S: the covariance with S times (gram + ridge)^-1.

    Its inputs are the readings of S at each step or, in long windows, means over segments of steps.

    Parameters
    ----------
    present, absent
        S and the other variables
    segments
        the segments of the window whose means are the inputs
    lookback, horizon
        sizes of a window
    factor
        [p, p], p = segments * s: the lower Cholesky factor of gram + ridge
    moments
        the second moments that give the covariances
    base
        the covariances among S, or among all variables if S is large
    rows
        [s], positions of S in the base
    """

    present: NDArray[np.int64]
    absent: NDArray[np.int64]
    segments: Segments
    lookback: int
    horizon: int
    factor: NDArray[np.float64]
    moments: LagMoments
    base: LaggedBlocks
    rows: NDArray[np.int64]
    _blocks: dict[tuple[int, bytes], LaggedBlocks] = field(default_factory=dict, repr=False)

    @property
    def nbytes(self) -> int:
        """Size in memory in bytes, without the moments themselves."""
        own = 0 if self.rows is self.present else self.base.nbytes
        return self.factor.nbytes + own + sum(blocks.nbytes for blocks in self._blocks.values())

    def solve(self, differences: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return (gram + ridge)^-1 times the differences on S [b, t, s], [b, p]: the input of `inputs` and `future`."""
        from scipy.linalg import cho_solve

        cells = self.segments.means(differences).reshape(len(differences), -1)
        solved = cho_solve((self.factor, True), cells.T.astype(np.float64), overwrite_b=True, check_finite=False)
        return np.ascontiguousarray(solved.T, dtype=np.float32)

    def inputs(self, solved: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the predicted differences of the absent variables over the window, [b, t, m]."""
        return self._product(solved, self.absent, 0, self.lookback)

    def future(self, solved: NDArray[np.float32], variables: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the predicted differences of `variables` at the steps ahead, [b, h, s]."""
        begin, end = self.lookback, self.lookback + self.horizon
        if np.array_equal(variables, self.present):
            return self.base.product(solved, self.rows, self.rows, begin, end)
        return self._product(solved, variables, begin, end)

    def _product(
        self, solved: NDArray[np.float32], others: NDArray[np.int64], begin: int, end: int
    ) -> NDArray[np.float32]:
        if len(self.moments.whole):
            whole = LaggedBlocks.of_all(self.moments, self.segments)
            return whole.product(solved, self.present, others, begin, end)
        key = (begin, others.tobytes())
        blocks = self._blocks.get(key)
        if blocks is None:
            blocks = LaggedBlocks.of(self.moments, self.segments, self.present, others, begin, end)
            self._blocks[key] = blocks
        return blocks.product(solved, np.arange(len(self.present)), np.arange(len(others)), begin, end)


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
    from scipy.linalg import cho_factor

    segments = Segments.of(lookback, max(1, most_cells // len(present)))
    if len(moments.whole) and len(present) > _LARGE_SHARE * n:
        base, rows = LaggedBlocks.of_all(moments, segments), present
    else:
        base = LaggedBlocks.of(moments, segments, present, present, None, lookback + horizon)
        rows = np.arange(len(present))
    gram = base.gram(rows)
    gram[np.diag_indices_from(gram)] += ridge + 1e-5
    try:  # the transposed view has the other order in memory, so that nothing is copied
        factor, _ = cho_factor(gram.T, lower=True, overwrite_a=True, check_finite=False)
    except np.linalg.LinAlgError:
        raise DataError(
            "the regression on the variables that are present has no solution, because the moments of the wrapper are "
            "not those of any readings: fit the wrapper again"
        ) from None
    absent = np.setdiff1d(np.arange(n), present)
    return Regression(present, absent, segments, lookback, horizon, factor, moments, base, rows)


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
