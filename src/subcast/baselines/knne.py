"""kNNE: an ensemble of nearest-neighbor imputations, each with its own subset of the variables.

Domeniconi and Yan, Nearest Neighbor Ensemble, ICPR 2004; the imputation of table 9.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from subcast.axes import check_whole
from subcast.baselines.base import Shape, check_positive, completed
from subcast.baselines.past import Past
from subcast.errors import InputError
from subcast.windows import Windows

UNITS = ("window", "step")


@dataclass(frozen=True, eq=False)
class KNNEImputer:
    """Average the nearest training windows of several searches, each over its own draw of variables of S.

    Each member uses ceil(share |S|) variables, drawn from S uniformly without replacement, finds the k nearest
    training windows by these variables, and takes their mean; the imputation is the mean of the members.

    The published descriptions leave some choices open. Here there are 10 members, each uses half of S, and all
    members and neighbors have equal weights. Distances are Euclidean on readings normalized as the protocol defines,
    with time features included as in the paper's retrieval. Whole windows are compared and averaged, so that the
    imputed values follow real courses over time; `unit="step"` compares single steps, which suits data whose steps are
    unrelated. The original draws features by their relevance to a class; there is no class here, so draws are uniform.
    They depend only on `seed` and S: all windows with the same S are imputed by the same members, in any batches.

    Missing readings in S are filled like the absent variables. A variable without a reading in any neighbor gets its
    mean (the scaler's).

    Cost: one search for each member, over half of S.

    Parameters
    ----------
    past
        the training windows
    shape
        their sizes
    neighbors
        k, for each member
    members
        number of searches
    share
        share of S that a member uses
    exponent
        b of the distance, 2 for Euclidean
    seed
        random seed for drawing the variables
    unit
        what is compared and borrowed: "window" or "step"

    Examples
    --------
    >>> from subcast.series import Series
    >>> rng = np.random.default_rng(0)
    >>> walk = rng.normal(size=(200, 2)).cumsum(axis=0)
    >>> train, _, test = Series(walk[:, [0, 0, 1, 1]]).split(lookback=4, horizon=2)
    >>> imputer = KNNEImputer.fit(train)
    >>> imputer.complete(test, np.array([0, 2])).shape == test.batch().inputs.shape
    True
    """

    past: Past
    shape: Shape
    neighbors: int = 5
    members: int = 10
    share: float = 0.5
    exponent: float = 2.0
    seed: int = 0
    unit: str = "window"

    @classmethod
    def fit(
        cls,
        train: Windows,
        *,
        neighbors: int = 5,
        members: int = 10,
        share: float = 0.5,
        exponent: float = 2.0,
        seed: int = 0,
        unit: str = "window",
    ) -> KNNEImputer:
        """Store the training windows; parameters as in the class."""
        check_whole("neighbors", neighbors)
        check_whole("members", members)
        check_whole("seed", seed, low=0)
        check_positive("exponent", exponent)
        if not 0 < share <= 1:
            raise InputError(f"share must be above 0 and at most 1, got {share}: half of S is 0.5")
        if unit not in UNITS:
            raise InputError(f"unit must be one of {', '.join(UNITS)}, got {unit!r}")
        past = Past.fit(train, single_steps=unit == "step")
        return cls(past, Shape.of(train), neighbors, members, share, exponent, seed, unit)

    def draws(self, present: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """Return the variables that each member uses, in increasing order."""
        present = np.sort(present)
        size = math.ceil(round(self.share * len(present), 9))
        rng = np.random.default_rng([self.seed, *present.tolist()])
        return [np.sort(rng.choice(present, size, replace=False)) for _ in range(self.members)]

    def complete(self, windows: Windows, present: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the windows with absent variables and missing readings filled in, [b, t, n, f], raw units."""
        present = self.shape.check(windows, present)
        if not len(windows):
            return windows.batch().inputs
        if self.unit == "window":
            return completed(windows, present, self._estimate(windows, present))
        first, last = min(windows.starts), max(windows.starts) + windows.lookback
        steps = Windows(windows.series, 1, 1, starts=range(first, last))  # every step once, however windows overlap
        by_step = self._estimate(steps, present)[:, 0]  # [steps, n]
        positions = np.asarray(windows.starts, dtype=np.int64)[:, None] - first + np.arange(windows.lookback)  # [b, t]
        return completed(windows, present, by_step[positions])

    def _estimate(self, windows: Windows, present: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the mean of the members, [b, t, n], raw units."""
        all_variables = np.arange(self.shape.n)
        equal_weights = np.ones((len(windows), self.neighbors), dtype=np.float32)
        total = np.zeros((len(windows), windows.lookback, self.shape.n), dtype=np.float64)
        for variables in self.draws(present):
            neighbors = self.past.find(windows, variables, self.neighbors, self.exponent)
            total += self.past.bank.pool_windows(neighbors.index, equal_weights, all_variables)  # [b, t, n]
        return self.past.scaler.inverse(total / self.members)
