"""Training rows for the boosted expert: random S, holes as they happen, and a regression that never saw the window."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from subcast.retrieval.moments import LagMoments
from subcast.subset.experts.features import Features, crowd_of
from subcast.subset.experts.sampled import Material
from subcast.subset.regression import Regression, make_regression
from subcast.windows import Windows

if TYPE_CHECKING:
    from subcast.subset.fitted import Fitted

SHARES = (0.05, 0.15, 0.15, 0.3, 0.5, 0.85, 1.0)  # of the variables, in turn
DRAWS = 84  # draws of S
_MOST_VARIABLES, _MOST_STEPS = 8, 4  # of a draw: rows of one window are much alike
_HOLED = 0.25  # share of the draws in which readings are missing
_LEAST_WINDOWS = 20
_MOST_COMPARED = 128  # variables whose forecasts are compared to choose the ridge


@dataclass(frozen=True, eq=False)
class Rows:
    """Training rows.

    Parameters
    ----------
    cells
        [r, f], the features
    left
        [r], what the regression leaves, as a deviation from the usual value
    weight
        [r], the spread in units of the variable's overall spread, by which a deviation counts
    level
        [r], the reading in units of the variable
    """

    cells: NDArray[np.float32]
    left: NDArray[np.float32]
    weight: NDArray[np.float32]
    level: NDArray[np.float32]

    def thinned(self, most: int) -> Rows:
        """Return every kth row, so that about `most` are left."""
        some = slice(None, None, max(1, len(self.left) // most))
        return Rows(self.cells[some], self.left[some], self.weight[some], self.level[some])


@dataclass(frozen=True, eq=False)
class Half:
    """The windows of one half of the training, and the moments of the other half.

    Parameters
    ----------
    starts
        [w], first steps of the windows
    moments
        second moments of the other half
    """

    starts: NDArray[np.int64]
    moments: LagMoments


@dataclass(frozen=True, eq=False)
class Practice:
    """The training series in normalized units, cut into two halves that share no step.

    Parameters
    ----------
    readings, targets
        [t, n], NaN where there is none
    slots
        [t], positions in the cycle
    halves
        the windows of each half, with the moments of the other
    lookback, horizon
        sizes of a window
    """

    readings: NDArray[np.float32]
    targets: NDArray[np.float32]
    slots: NDArray[np.int64]
    halves: tuple[Half, ...]
    lookback: int
    horizon: int

    @classmethod
    def of(cls, train: Windows, fitted: Fitted) -> Practice | None:
        """Return the training series in halves; None if a half would have too few windows."""
        material = Material.of(train, fitted)
        starts, readings, first, middle, last = (
            material.starts, material.readings, material.first, material.middle, material.last
        )  # fmt: skip
        lags = train.lookback + train.horizon
        groups = (starts[starts + lags <= middle], starts[starts >= middle])
        if min(len(group) for group in groups) < _LEAST_WINDOWS:
            return None
        others = (LagMoments.fit(readings[middle:last], lags), LagMoments.fit(readings[first:middle], lags))
        halves = tuple(Half(group, moments) for group, moments in zip(groups, others, strict=True))
        return cls(readings, material.targets, material.slots, halves, train.lookback, train.horizon)

    @property
    def n(self) -> int:
        """Number of variables."""
        return self.readings.shape[1]

    def regression(self, half: Half, present: NDArray[np.int64], ridge: float) -> Regression:
        """Return the regression on S that was learned from the other half."""
        return make_regression(half.moments, present, self.n, self.lookback, self.horizon, ridge)

    def windows(self, starts: NDArray[np.int64], variables: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return readings of windows, [b, t, s]."""
        return self.readings[starts[:, None] + np.arange(self.lookback)][:, :, variables]

    def futures(
        self, starts: NDArray[np.int64], steps: NDArray[np.int64], variables: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """Return the targets at some steps ahead, [b, steps, s]."""
        return self.targets[starts[:, None] + self.lookback + steps][:, :, variables]


def practice_rows(practice: Practice, features: Features, ridge: float, most_rows: int, seed: int) -> Rows:
    """Return training rows for the trees.

    Parameters
    ----------
    practice
        the training series in halves
    features
        computes the features
    ridge
        lambda of the regression
    most_rows
        largest number of rows
    seed
        random seed
    """
    rng = np.random.default_rng(seed)
    parts = list(_draws(practice, features, ridge, most_rows, rng))
    return Rows(*(np.concatenate([getattr(part, each.name) for part in parts]) for each in fields(Rows)))


def _draws(
    practice: Practice, features: Features, ridge: float, most_rows: int, rng: np.random.Generator
) -> Iterator[Rows]:
    """Yield the rows of each draw of S."""
    for draw in range(DRAWS):
        half = practice.halves[draw % 2]
        size = int(np.ceil(SHARES[draw // 2 % len(SHARES)] * practice.n))
        present = np.sort(rng.choice(practice.n, size, replace=False))
        chosen = np.sort(rng.choice(size, min(size, _MOST_VARIABLES), replace=False))
        own_steps = np.sort(rng.choice(len(features.steps), min(len(features.steps), _MOST_STEPS), replace=False))
        count = max(1, most_rows // (DRAWS * len(chosen) * len(own_steps)))
        starts = np.sort(rng.choice(half.starts, min(count, len(half.starts)), replace=False))
        readings = practice.windows(starts, present)
        if rng.random() < _HOLED:
            make_holes(readings, rng)
        regression = practice.regression(half, present, ridge)
        yield _rows_of(practice, features, regression, starts, readings, chosen, own_steps)


def _rows_of(
    practice: Practice,
    features: Features,
    regression: Regression,
    starts: NDArray[np.int64],
    readings: NDArray[np.float32],
    chosen: NDArray[np.int64],
    own_steps: NDArray[np.int64],
) -> Rows:
    """Return the rows of some variables and steps of one draw."""
    variables = regression.present[chosen]
    some = Features(features.normalizer, features.steps[own_steps], features.lags)
    linear = regression.future(regression.solve(carried(readings)), variables)[:, some.steps]
    slots = practice.slots[starts[:, None] + np.arange(practice.lookback + practice.horizon)]
    cells = some.rows(readings[:, :, chosen], linear, slots, variables, crowd_of(readings, practice.n))
    ahead = slots[:, practice.lookback :][:, some.steps]
    target = practice.futures(starts, some.steps, variables)
    known = ~np.isnan(target).reshape(-1)
    columns = (target - linear, some.weight(ahead, variables), some.in_units(target, ahead, variables))
    return Rows(cells[known], *(column.reshape(-1)[known] for column in columns))


def make_holes(readings: NDArray[np.float32], rng: np.random.Generator) -> None:
    """Remove a run of readings [b, t, s] of half of the variables: at the beginning, at the end or in between."""
    b, t, s = readings.shape
    first = rng.integers(-t // 2, t, size=(b, 1, s))
    length = rng.integers(1, t + 1, size=(b, 1, s))
    step = np.arange(t)[None, :, None]
    holed = (rng.random((b, 1, s)) < 0.5) & (step >= first) & (step < first + length)
    readings[holed] = np.nan


def carried(readings: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return deviations [b, t, s] with the nearest earlier (else later) one in place of missing ones; else 0."""
    if not np.isnan(readings).any():
        return readings
    filled = readings.copy()
    for step in range(1, filled.shape[1]):
        filled[:, step] = np.where(np.isnan(filled[:, step]), filled[:, step - 1], filled[:, step])
    for step in range(filled.shape[1] - 2, -1, -1):
        filled[:, step] = np.where(np.isnan(filled[:, step]), filled[:, step + 1], filled[:, step])
    return np.nan_to_num(filled, nan=0.0)


def choose_ridge(practice: Practice, ridges: tuple[float, ...], metric: str, seed: int) -> float:
    """Return the lambda whose regressions, learned from one half, forecast the other half best."""
    rng = np.random.default_rng(seed)
    errors = np.zeros(len(ridges))
    for draw in range(6):
        half = practice.halves[draw % 2]
        size = int(np.ceil((0.15, 0.15, 0.5, 0.5, 0.85, 0.85)[draw] * practice.n))
        present = np.sort(rng.choice(practice.n, size, replace=False))
        some = present[:: -(-size // _MOST_COMPARED)]
        starts = half.starts[:: max(1, len(half.starts) // 200)]
        readings, steps = carried(practice.windows(starts, present)), np.arange(practice.horizon)
        target = practice.futures(starts, steps, some)
        if np.isnan(target).all():  # nothing to compare with
            continue
        by_ridge = []
        for ridge in ridges:
            regression = practice.regression(half, present, ridge)
            error = np.abs(regression.future(regression.solve(readings), some) - target)
            by_ridge.append(np.nanmean(error if metric == "mae" else error**2))
        errors += np.array(by_ridge) / max(min(by_ridge), 1e-12)
    return ridges[int(errors.argmin())]
