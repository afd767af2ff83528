"""A ridge regression of the future on the readings of S, as deviations from the usual value at that time."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from subcast.baselines.base import Shape, check_positive, check_train, without_holes
from subcast.baselines.usual import profile_rows, training_profile
from subcast.profile import Profile
from subcast.windows import Windows

_AT_ONCE = 2048


@dataclass(frozen=True, eq=False)
class ProfileRidge:
    """Forecast S by one linear map from its last readings, fitted for each S in closed form and kept until the next S.

    Readings and targets are deviations from the usual value at that time of day and class of day, in units of the
    usual spread then. A missing input counts as usual; a target that does not count is left out.

    Parameters
    ----------
    profile
        usual values and spreads
    train
        the training windows
    ridge
        lambda, relative to the number of training windows

    Examples
    --------
    >>> from subcast.series import Series
    >>> rng = np.random.default_rng(0)
    >>> values = np.cumsum(rng.normal(size=(600, 1)), axis=0) + 0.1 * rng.normal(size=(600, 3))
    >>> train, _, test = Series(values).split(lookback=6, horizon=3)
    >>> ProfileRidge.fit(train)(test, np.array([0, 2])).shape
    (109, 3, 2)
    """

    shape: Shape
    profile: Profile
    train: Windows
    ridge: float
    _maps: dict[bytes, NDArray[np.float64]] = field(default_factory=dict, repr=False)

    @classmethod
    def fit(cls, train: Windows, *, ridge: float = 0.1) -> ProfileRidge:
        """Compute the profile; the regression is solved when an S is first seen."""
        check_train(train)
        return cls(Shape.of(train), training_profile(train), train, check_positive("ridge", ridge))

    def __call__(self, windows: Windows, present: NDArray[np.int64]) -> NDArray[np.float32]:
        """Forecast S: [b, h, s], raw units."""
        present = self.shape.check(windows, present)
        if present.tobytes() not in self._maps:
            self._maps.clear()  # a map of many variables is large
            self._maps[present.tobytes()] = self._solve(present)
        normal = self._inputs(windows, present) @ self._maps[present.tobytes()]  # [b, h * s]
        rows = profile_rows(self.profile, windows, windows.lookback, windows.horizon)
        center, spread = self.profile.center[:, present][rows], self.profile.spread[:, present][rows]
        return np.asarray(center + spread * normal.reshape(center.shape), dtype=np.float32)

    def _solve(self, present: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the map from inputs to normalized targets, [t * s, h * s], over all training windows."""
        inputs, outputs = self.shape.lookback * len(present), self.shape.horizon * len(present)
        gram, cross, count = np.zeros((inputs, inputs)), np.zeros((inputs, outputs)), np.zeros(outputs)
        for first in range(0, len(self.train), _AT_ONCE):
            batch = self.train[first : first + _AT_ONCE]
            x, y = self._inputs(batch, present), self._targets(batch, present)
            known = ~np.isnan(y)
            gram += x.T @ x
            cross += x.T @ np.where(known, y, 0.0)
            count += known.sum(axis=0)
        gram /= len(self.train)
        gram[np.diag_indices_from(gram)] += self.ridge
        return np.asarray(np.linalg.solve(gram, cross / np.maximum(count, 1.0)), dtype=np.float64)

    def _inputs(self, windows: Windows, present: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the readings of S as deviations from the usual, [b, t * s]."""
        normal = self._normal(windows, windows.readings, 0, present)
        return without_holes(normal).reshape(len(windows), -1)

    def _targets(self, windows: Windows, present: NDArray[np.int64]) -> NDArray[np.float64]:
        normal = self._normal(windows, windows.targets, windows.lookback, present)
        return normal.reshape(len(windows), -1)

    def _normal(
        self, windows: Windows, values: NDArray[np.float32], skip: int, present: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        rows = profile_rows(self.profile, windows, skip, values.shape[1])
        center, spread = self.profile.center[:, present][rows], self.profile.spread[:, present][rows]
        return np.asarray((values[:, :, present] - center) / spread)
