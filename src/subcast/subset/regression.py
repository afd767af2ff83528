"""What one S needs, solved once: the regression of everything else on the last steps of S."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from subcast.retrieval.moments import LagMoments

MOST_CELLS = 1024  # variables present x steps that a regression may look at; steps are thinned out above it
KEPT = 256 << 20  # bytes of plans in the cache


@dataclass(eq=False)
class Regression:
    """The regression of anything on the last steps of S: (gram + ridge)^-1 times a covariance with S.

    Parameters
    ----------
    present, absent
        S and the other variables
    steps
        which of the window's steps the regression looks at
    lookback, horizon
        sizes of a window
    inverse
        [p, p], p = steps * s
    moments
        where the covariances come from
    """

    present: NDArray[np.int64]
    absent: NDArray[np.int64]
    steps: NDArray[np.int64]
    lookback: int
    horizon: int
    inverse: NDArray[np.float32]
    moments: LagMoments
    _cross: dict[str, NDArray[np.float32]] = field(default_factory=dict, repr=False)

    @property
    def nbytes(self) -> int:
        """What it keeps in memory."""
        return self.inverse.nbytes + sum(cross.nbytes for cross in self._cross.values())

    def solve(self, differences: NDArray[np.float32]) -> NDArray[np.float32]:
        """Turn differences on S, [b, t, s], into what the regressions share, [b, p]."""
        cells = differences[:, self.steps].reshape(len(differences), -1)
        return np.asarray(cells @ self.inverse)

    def inputs(self, solved: NDArray[np.float32]) -> NDArray[np.float32]:
        """What the differences say of the absent variables over the window, [b, t, m]."""
        return self._apply(solved, "inputs", self.absent, np.arange(self.lookback))

    def future(self, solved: NDArray[np.float32], *, absent: bool = False) -> NDArray[np.float32]:
        """What they say of the steps to come, of S [b, h, s] or of the absent variables [b, h, m]."""
        times = self.lookback + np.arange(self.horizon)
        name, others = ("absent", self.absent) if absent else ("future", self.present)
        return self._apply(solved, name, others, times)

    def _apply(
        self, solved: NDArray[np.float32], name: str, others: NDArray[np.int64], times: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        cross = self._cross.get(name)
        if cross is None:
            cross = self._cross[name] = self.moments.cross(self.present, self.steps, others, times)
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
    """Assemble and invert what S needs."""
    from scipy.linalg import cho_factor, cho_solve

    absent = np.setdiff1d(np.arange(n), present)
    steps = thinned_steps(lookback, max(1, most_cells // len(present)))
    gram = moments.gram(present, steps)
    gram[np.diag_indices_from(gram)] += ridge + 1e-5
    inverse = cho_solve(cho_factor(gram, lower=True, overwrite_a=True, check_finite=False), np.eye(len(gram)))
    return Regression(present, absent, steps, lookback, horizon, inverse.astype(np.float32), moments)


def thinned_steps(lookback: int, most: int) -> NDArray[np.int64]:
    """At most so many steps of a window, evenly spread, the last among them.

    >>> thinned_steps(12, 4), thinned_steps(12, 99).size
    (array([ 2,  5,  8, 11]), 12)
    """
    count = min(lookback, most)
    return np.unique(np.rint(np.linspace(lookback, 0, count, endpoint=False)).astype(np.int64) - 1)


class RegressionCache:
    """Plans by S, the least used forgotten first."""

    def __init__(self, moments: LagMoments, n: int, lookback: int, horizon: int, kept: int = KEPT) -> None:
        self.moments, self.n, self.lookback, self.horizon, self.kept = moments, n, lookback, horizon, kept
        self._plans: OrderedDict[tuple[bytes, float], Regression] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, present: NDArray[np.int64], ridge: float) -> Regression:
        """The plan for S (indices in increasing order), solved now if it is new."""
        key = (present.tobytes(), ridge)
        with self._lock:
            if key in self._plans:
                self._plans.move_to_end(key)
                return self._plans[key]
        plan = make_regression(self.moments, present, self.n, self.lookback, self.horizon, ridge)
        with self._lock:
            self._plans[key] = plan
            while len(self._plans) > 1 and sum(plan.nbytes for plan in self._plans.values()) > self.kept:
                self._plans.popitem(last=False)
        return plan

    def clear(self) -> None:
        """Forget all plans."""
        with self._lock:
            self._plans.clear()

    def __len__(self) -> int:
        return len(self._plans)
