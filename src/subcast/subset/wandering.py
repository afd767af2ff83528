"""Variables that wander or grow: windows beyond the levels of the training are moved to the nearest known level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from subcast.storage import fields
from subcast.storage.state import State
from subcast.subset.arrived import Arrived
from subcast.subset.normalizer import Normalizer
from subcast.windows import Windows

_MOST_WINDOWS = 2000  # of the training, evenly spread, whose levels are looked at
_LEAST_WINDOWS = 64
_LATER = (0.1, 0.113, 0.129, 0.143)  # a level is compared with those so many shares of the training later
_LASTING = 0.3  # smallest correlation of the two if a variable wanders; 0 is expected if it returns to its usual level
_AT_ONCE = 1 << 22  # cells of windows
_SMALLEST, _NEVER = np.float32(1e-30), np.float32(1e30)
_FAR = np.float32(1.0)
_FADES_FROM = 0.85  # share of variables present


@dataclass(frozen=True, eq=False)
class KnownLevels:
    """The range of each variable's level in the training: the mean of a window, less the usual value.

    A variable that returns to its usual level has an infinite range, so that nothing is done to it: what is far from
    the usual will come back. A variable whose level lasts (a walk, a trend, a slow season) is followed out of it, and
    so is one whose changes were forecast clearly better than its readings (see `choose_forms`).

    Parameters
    ----------
    low, high
        [n], in raw units
    pace
        [n], by how much a level usually changes while a window and its future pass, in raw units; very large
        where this is not known

    Examples
    --------
    >>> from subcast.series import Series
    >>> steps = np.arange(800.0)
    >>> train = Series(np.stack([steps, np.sin(steps)], axis=1)).windows(4, 2)
    >>> normalizer = Normalizer.fit(train)
    >>> levels = KnownLevels.fit(train, normalizer, np.zeros(800, dtype=int))
    >>> levels.wandering
    array([0])
    """

    low: NDArray[np.float32]
    high: NDArray[np.float32]
    pace: NDArray[np.float32]

    @classmethod
    def fit(
        cls, train: Windows, normalizer: Normalizer, slots: NDArray[np.int64], also: Sequence[int] = ()
    ) -> KnownLevels:
        """Learn the ranges from the training windows.

        Parameters
        ----------
        train
            the training windows
        normalizer
            knows the usual values
        slots
            [t], the positions of the steps in the cycle
        also
            variables that are known to wander
        """
        n = train.series.n_variables
        levels = cls.unknown(n)
        starts = np.asarray(train.starts, dtype=np.int64)
        starts = starts[:: -(-len(starts) // _MOST_WINDOWS)]
        later = np.searchsorted(starts, starts[0] + np.array(_LATER) * (starts[-1] - starts[0]))
        length = train.lookback + train.horizon
        if len(starts) < _LEAST_WINDOWS or starts[later[0]] - starts[0] < length:
            return levels
        steps = starts[:, None] + np.arange(train.lookback)
        at_once = max(1, _AT_ONCE // steps.size)
        for first in range(0, n, at_once):
            some = np.arange(first, min(first + at_once, n))
            level = window_levels(train.series.values[steps[:, :, None], some], slots[steps], some, normalizer)
            lasting = np.min([_lasting(level, int(lag)) for lag in later], axis=0)  # waves do not last at all lags
            lasts = np.flatnonzero((lasting > _LASTING) | (np.isin(some, also) & ~np.isnan(level).all(axis=0)))
            levels.low[some[lasts]] = np.nanmin(level[:, lasts], axis=0)
            levels.high[some[lasts]] = np.nanmax(level[:, lasts], axis=0)
            levels.pace[some[lasts]] = _pace(level[:, lasts], starts, length)
        return levels

    @classmethod
    def unknown(cls, n: int) -> KnownLevels:
        """Return ranges within which nothing is moved."""
        low, high, pace = (np.full(n, value, dtype=np.float32) for value in (-np.inf, np.inf, _NEVER))
        return cls(low, high, pace)

    @property
    def wandering(self) -> NDArray[np.int64]:
        """The variables that are followed."""
        return np.flatnonzero(np.isfinite(self.low))

    def follow(self, arrived: Arrived, slots: NDArray[np.int64], normalizer: Normalizer) -> Arrived:
        """Return the windows, those beyond the known levels moved to them, with the offsets to add to forecasts.

        Parameters
        ----------
        arrived
            the windows as they arrived, or moved already
        slots
            [b, t], positions of their steps in the cycle
        normalizer
            knows the usual values
        """
        some = self.wandering
        if arrived.offsets is not None or not some.size:
            return arrived
        level = window_levels(arrived.values[:, :, some], slots, some, normalizer)
        beyond = level - np.clip(level, self.low[some], self.high[some])
        beyond = np.nan_to_num(beyond, nan=0.0)
        if not beyond.any():
            return arrived
        offsets = np.zeros((len(arrived), len(self.low)), dtype=np.float32)
        offsets[:, some] = beyond
        return replace(arrived, values=arrived.values - offsets[:, None], offsets=offsets)

    def strangeness(self, offsets: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return how little the known levels say of windows that were moved by offsets [b, n], from 0 to 1, [b, n].

        It is a half where a window is `_FAR` times as far beyond the known levels as the level usually changes in the
        time of a window and its future.
        """
        beyond = (np.abs(offsets) / np.maximum(_FAR * self.pace, _SMALLEST)) ** 2
        return np.asarray(beyond / (1 + beyond), dtype=np.float32)

    def state(self) -> State:
        """Return the state to save: the ranges of the variables that are followed."""
        some = self.wandering
        return State({}, {"wandering": some, "low": self.low[some], "high": self.high[some], "pace": self.pace[some]})

    @classmethod
    def from_state(cls, state: State | None, n: int) -> KnownLevels:
        """Return the ranges of `n` variables saved in `state`; wrappers saved earlier have none."""
        levels = cls.unknown(n)
        if state is None:
            return levels
        some = fields.array(state, "wandering", np.int64, [None], low=0, high=n - 1)
        low, high = (fields.array(state, name, np.float32, [len(some)]) for name in ("low", "high"))
        if not (low <= high).all():
            raise state.damaged("its lowest known levels must not be above the highest")
        levels.low[some], levels.high[some] = low, high
        if "pace" in state.arrays:
            levels.pace[some] = fields.array(state, "pace", np.float32, [len(some)], low=0)
        return levels


def moved_part(share: float) -> float:
    """Return the part of what is done about unknown levels if a share of the variables is present: none for all.

    >>> moved_part(0.5), moved_part(1.0)
    (1.0, 0.0)
    """
    return float(np.clip((1 - share) / (1 - _FADES_FROM), 0, 1))


def window_levels(
    values: NDArray[np.float32], slots: NDArray[np.int64], variables: NDArray[np.int64], normalizer: Normalizer
) -> NDArray[np.float32]:
    """Return the mean of windows [b, t, s] less the usual value, [b, s], in raw units; NaN without a reading."""
    usual = normalizer.restore(np.zeros((*slots.shape, len(variables)), dtype=np.float32), slots, variables)
    known = ~np.isnan(values)
    total = np.where(known, values - usual, 0).sum(axis=1, dtype=np.float64)
    count = known.sum(axis=1)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan).astype(np.float32)


def _pace(level: NDArray[np.float32], starts: NDArray[np.int64], length: int) -> NDArray[np.float32]:
    """Return the root mean square change of levels [w, n] over `length` steps, [n]; very large where none is known."""
    later = np.searchsorted(starts, starts + length)
    pairs = np.flatnonzero(later < len(starts))
    change = level[later[pairs]].astype(np.float64) - level[pairs]
    known = ~np.isnan(change)
    square = np.where(known, change, 0.0) ** 2
    count = known.sum(axis=0)
    return np.where(count > 0, np.sqrt(square.sum(axis=0) / np.maximum(count, 1)), _NEVER).astype(np.float32)


def _lasting(level: NDArray[np.float32], later: int) -> NDArray[np.float64]:
    """Return the correlation of levels [w, n] with those `later` windows on, [n]; 0 where too few are known."""
    known = ~np.isnan(level)
    centered = np.where(known, level - _mean(level.astype(np.float64), known), 0.0)
    pairs = known[:-later] & known[later:]
    products = np.where(pairs, centered[:-later] * centered[later:], 0.0).sum(axis=0)
    variance = (centered**2).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    covariance = products / np.maximum(pairs.sum(axis=0), 1)
    enough = (pairs.sum(axis=0) >= _LEAST_WINDOWS // 2) & (variance > 0)
    return np.where(enough, covariance / np.where(variance > 0, variance, 1.0), 0.0)


def _mean(values: NDArray[np.float64], known: NDArray[np.bool_]) -> NDArray[np.float64]:
    return np.asarray(np.where(known, values, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1))
