"""kNNE: nearest-neighbor imputation as an ensemble, each member looking at a part of the variables.

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

    Each member looks at ceil(share |S|) variables, drawn from S uniformly without replacement, finds the k nearest
    training windows on those alone and takes their mean; the imputation is the mean of the members.

    Where the published descriptions leave a choice open, this is what is done here: `members` = 10 members; each looks
    at half of S; members count alike, and so do the neighbors of one; distances are Euclidean on readings normalized
    as the protocol says, time features count in them as in the paper's retrieval; whole windows are compared and
    borrowed, so that what is borrowed is a course over time that did happen, or single steps with `unit="step"`, which
    suits data whose steps have little to do with each other. The original draws features by their relevance to a
    class; there is no class here, so draws are uniform. They depend on `seed` and S alone: all windows under one S are
    imputed by the same members, in whatever batches they come.

    Holes in S are filled as the absent variables are. A variable that no neighbor has a reading of gets its mean
    (the scaler's).

    Cost: one search a member, over half of S.

    Parameters
    ----------
    past
        the training windows
    shape
        their sizes
    neighbors
        k, of each member
    members
        how many searches
    share
        of S that a member looks at
    exponent
        b of the distance, 2 for Euclidean
    seed
        of the draws of variables
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
        """Lay out the training windows; parameters as in the class."""
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
        """The variables that each member looks at, in increasing order."""
        chosen = np.sort(present)
        size = math.ceil(round(self.share * len(chosen), 9))
        rng = np.random.default_rng([self.seed, *chosen.tolist()])
        return [np.sort(rng.choice(chosen, size, replace=False)) for _ in range(self.members)]

    def complete(self, windows: Windows, present: NDArray[np.int64]) -> NDArray[np.float32]:
        """Fill in what S does not tell: [b, t, n, f], raw units."""
        chosen = self.shape.check(windows, present)
        if not len(windows):
            return windows.batch().inputs
        if self.unit == "window":
            return completed(windows, chosen, self._estimate(windows, chosen))
        first, last = min(windows.starts), max(windows.starts) + windows.lookback
        steps = Windows(windows.series, 1, 1, starts=range(first, last))  # every step once, however windows overlap
        each = self._estimate(steps, chosen)[:, 0]  # [steps, n]
        place = np.asarray(windows.starts, dtype=np.int64)[:, None] - first + np.arange(windows.lookback)  # [b, t]
        return completed(windows, chosen, each[place])

    def _estimate(self, windows: Windows, present: NDArray[np.int64]) -> NDArray[np.float32]:
        """The mean of the members, [b, t, n], raw units."""
        everyone = np.arange(self.shape.n)
        alike = np.ones((len(windows), self.neighbors), dtype=np.float32)
        total = np.zeros((len(windows), windows.lookback, self.shape.n), dtype=np.float64)
        for variables in self.draws(present):
            neighbors = self.past.find(windows, variables, self.neighbors, self.exponent)
            total += self.past.bank.pool_windows(neighbors.index, alike, everyone)  # [b, t, n]
        return self.past.scaler.inverse(total / self.members)
