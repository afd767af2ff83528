"""What the boosted expert sees of a variable: its own past, the calendar, and what the others of S say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subcast.subset.normalizer import Normalizer

_RECENT = 4  # steps of the second mean over S


@dataclass(frozen=True, eq=False)
class Features:
    """Computes a row for each window, step ahead and variable.

    A row has the variable's readings at some steps of the window (NaN where there is none) and the regression's
    forecast, both in the variable's own units and as deviations from the usual value; the usual value and spread at the
    step ahead; the mean deviation of S at the last step and over the last four, and the share of variables present; the
    step, the variable and the calendar.

    Parameters
    ----------
    normalizer
        usual values and spreads
    steps, lags
        the steps ahead, and the steps of the window that are used
    """

    normalizer: Normalizer
    steps: NDArray[np.int64]
    lags: NDArray[np.int64]

    @property
    def count(self) -> int:
        """Number of features."""
        return 2 * len(self.lags) + 9 + len(self.normalizer.cycle.clocks(np.zeros(1, dtype=np.int64)))

    @property
    def variable_column(self) -> int:
        """The column of a row that holds the number of the variable."""
        return 2 * len(self.lags) + 8

    def rows(
        self,
        readings: NDArray[np.float32],
        linear: NDArray[np.float32],
        slots: NDArray[np.int64],
        variables: NDArray[np.int64],
        crowd: NDArray[np.float32],
    ) -> NDArray[np.float32]:
        """Return the features, [b * steps * s, features].

        Parameters
        ----------
        readings
            [b, t, s], deviations of some variables of S, NaN where there is no reading
        linear
            [b, steps, s], the regression's forecast of them
        slots
            [b, t + h], the position of each step in the cycle
        variables
            [s], their numbers
        crowd
            [b, 3], what `crowd_of` says of all of S
        """
        t = readings.shape[1]
        ahead = slots[:, t:][:, self.steps]  # [b, steps]
        own = readings[:, self.lags]  # [b, lags, s]
        zeros = np.zeros_like(linear)
        columns: list[NDArray[Any]] = [own[:, None, lag] for lag in range(len(self.lags))]
        in_units = self.in_units(own, slots[:, self.lags], variables)
        columns += [in_units[:, None, lag] for lag in range(len(self.lags))]
        columns += [linear, self.in_units(linear, ahead, variables), self.in_units(zeros, ahead, variables)]
        columns += [self.weight(ahead, variables)]
        columns += [crowd[:, None, None, number] for number in range(crowd.shape[1])]
        columns += [self.steps[None, :, None], variables[None, None, :]]
        columns += [clock[:, :, None] for clock in self.normalizer.cycle.clocks(ahead)]
        cells = np.empty((*zeros.shape, len(columns)), dtype=np.float32)
        for number, column in enumerate(columns):
            cells[..., number] = column
        return cells.reshape(-1, len(columns))

    def weight(self, ahead: NDArray[np.int64], variables: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the spread at positions ahead [b, steps] in units of the variable's overall spread, [b, steps, s]."""
        return np.asarray(self.normalizer.spread_at(ahead, variables) / self.normalizer.levels[1][variables])

    def in_units(
        self, deviations: NDArray[np.float32], slots: NDArray[np.int64], variables: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """Return deviations at positions of the cycle in units of each variable: 0 its mean, 1 a spread above it."""
        mean, scale = (each[variables] for each in self.normalizer.levels)
        return np.asarray((self.normalizer.restore(deviations, slots, variables) - mean) / scale)

    def deviations(
        self, in_units: NDArray[np.float32], slots: NDArray[np.int64], variables: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """Return what `in_units` gave as deviations again."""
        mean, scale = (each[variables] for each in self.normalizer.levels)
        return self.normalizer.normalize(mean + scale * in_units, slots, variables)


def crowd_of(readings: NDArray[np.float32], n: int) -> NDArray[np.float32]:
    """Return the mean deviation of S at the last step and over the last four, and the share present, [b, 3].

    `readings` [b, t, s] are deviations of S, NaN where there is none; `n` is the number of all variables.
    """
    known = ~np.isnan(readings)
    values = np.where(known, readings, np.float32(0))
    means = [  # the mean of no reading is 0, the usual
        values[:, -steps:].sum(axis=(1, 2)) / np.maximum(known[:, -steps:].sum(axis=(1, 2)), 1)
        for steps in (1, _RECENT)
    ]
    return np.stack([*means, known.any(axis=1).sum(axis=1) / n], axis=1).astype(np.float32)
