"""Boosted trees on a variable's own past, the calendar and the regression on S: one model for all variables and S."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from subcast.boosting import LOSSES, Trees, interpolated, spread_steps
from subcast.storage import fields
from subcast.storage.state import State
from subcast.subset.completion import Completed
from subcast.subset.experts.features import Features, crowd_of
from subcast.subset.experts.practice import Practice, Rows, practice_rows
from subcast.windows import Windows

if TYPE_CHECKING:
    from subcast.subset.fitted import Fitted

MOST_ROWS = 600_000
LEAST_WINDOWS, LEAST_ROWS = 1000, 200  # with fewer training windows or rows the expert steps aside
MOST_STEPS, MOST_LAGS = 12, 24
_TREES, _LEAVES = 100, 63
QUANTILES = (0.05, 0.95)
_BOUND_TREES, _BOUND_LEAVES, _MOST_BOUND_ROWS = 80, 31, 200_000
Correction = Callable[[Completed, NDArray[np.int64], NDArray[np.float32]], NDArray[np.float32]]

_BOUNDS = ("left_low", "left_high", "level_low", "level_high")  # names of the parts of a saved expert


class Boosted:
    """What trees add to the regression on S, in deviations from the usual value.

    They are trained under random S and with holes in the readings, so that any S serves. A variable that is absent has
    no past of its own, so it gets the regression alone.

    Parameters
    ----------
    metric
        "mae" for absolute errors, "rmse" for squared errors
    seed
        random seed of the training
    most_rows
        largest number of training rows: a row is one variable of one window at one step ahead

    Attributes
    ----------
    models
        the trees that correct the regression's deviation, and those that forecast the reading in the variable's own
        units, of which the mean is taken: the first are sharper, the second steadier on days unlike the training. None
        before they are trained, and where the history is too short.
    bounds
        the trees behind the intervals: the 5 % and the 95 % quantile of what the regression leaves, and the same of the
        reading; None as long as `models` is
    level_share
        the share of the last two in the bounds
    """

    name = "boosted"

    def __init__(self, metric: str = "mae", seed: int = 0, most_rows: int = MOST_ROWS) -> None:
        self.metric, self.seed, self.most_rows = metric, seed, most_rows
        self.models: tuple[Trees, Trees] | None = None
        self.bounds: tuple[Trees, Trees, Trees, Trees] | None = None
        self.level_share = 0.5

    def fit(self, train: Windows, fitted: Fitted) -> None:
        """Forget earlier trees; `train` learns new ones once the regression is chosen."""
        self.models = self.bounds = None

    def rows(self, practice: Practice, fitted: Fitted, ridge: float) -> Rows | None:
        """Return rows of windows under random S, in which the regression never saw the window; None if too few."""
        features, windows = features_of(fitted), sum(len(half.starts) for half in practice.halves)
        if windows < LEAST_WINDOWS:
            return None
        most_rows = min(self.most_rows, windows * fitted.n * len(features.steps))
        rows = practice_rows(practice, features, ridge, most_rows, self.seed)
        return rows if len(rows.left) >= LEAST_ROWS else None  # most targets may be missing

    def train(self, rows: Rows) -> None:
        """Train on the rows that `rows` gives."""
        weight = rows.weight if self.metric == "mae" else rows.weight**2
        self.models = self._trees(rows, rows.left, weight), self._trees(rows, rows.level, None)
        some = rows.thinned(_MOST_BOUND_ROWS)
        low, high = QUANTILES
        self.bounds = (
            self._trees(some, some.left, None, quantile=low),
            self._trees(some, some.left, None, quantile=high),
            self._trees(some, some.level, None, quantile=low),
            self._trees(some, some.level, None, quantile=high),
        )

    def _trees(
        self,
        rows: Rows,
        target: NDArray[np.float32],
        weight: NDArray[np.float32] | None,
        quantile: float | None = None,
    ) -> Trees:
        leaf_rows = int(np.clip(len(target) // 400, 20, 200))
        return Trees.fit(
            rows.cells,
            target,
            weight,
            metric=self.metric,
            quantile=quantile,
            trees=_TREES if quantile is None else min(_TREES, _BOUND_TREES),
            leaves=_LEAVES if quantile is None else _BOUND_LEAVES,
            leaf_rows=leaf_rows,
            seed=self.seed,
        )

    def bounds_of(self, done: Completed, level_share: float | None = None) -> NDArray[np.float32]:
        """Return the 5 % and the 95 % quantile of the readings of S ahead, [2, b, h, s], in raw units.

        Parameters
        ----------
        done
            the completed windows
        level_share
            the share of the trees that learned the reading; the chosen one by default
        """
        share = np.float32(self.level_share if level_share is None else level_share)
        fitted, present, features = done.fitted, done.present, features_of(done.fitted)
        cells = cells_of(done.moved, present)
        shape = (len(done.arrived), len(features.steps), len(present))
        slots = fitted.slots(done.arrived, fitted.horizon, fitted.lookback)
        ahead, regression = slots[:, features.steps], done.deviation_ahead(present)[:, features.steps]
        ends = []
        for left, level in zip((self.bounds or ())[:2], (self.bounds or ())[2:], strict=True):
            deviation = np.zeros(shape, dtype=np.float32)
            if share < 1:
                deviation += (1 - share) * (regression + left.predict(cells).reshape(shape))
            if share > 0:
                deviation += share * by_level(done, level.predict(cells).reshape(shape), ahead, present)
            ends.append(interpolated(deviation, features.steps, fitted.horizon))
        low, high = np.minimum(*ends), np.maximum(*ends)
        return np.stack([fitted.normalizer.restore(each, slots, present) for each in (low, high)])

    def forecast(self, done: Completed, variables: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the forecast of S or of the absent variables, [b, h, s]."""
        own = np.isin(variables, done.present) & (self.models is not None)
        return corrected_regression(done, variables, own, self._correction)

    def _correction(
        self, done: Completed, variables: NDArray[np.int64], deviation: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        """Return what the trees add to the regression's forecast of variables in S, [b, h, s].

        The trees know only the levels of the training, so a variable that left them is moved back, and what the trees
        say of its level forward again.
        """
        fitted, features = done.fitted, features_of(done.fitted)
        cells = cells_of(done.moved, variables)
        left, level = self._learned(cells, (len(deviation), len(features.steps), len(variables)))
        ahead = fitted.slots(done.arrived, fitted.horizon, fitted.lookback)[:, features.steps]
        from_level = by_level(done, level, ahead, variables) - deviation[:, features.steps]
        return interpolated((left + from_level) / 2, features.steps, fitted.horizon)

    def _learned(self, cells: NDArray[np.float32], shape: tuple[int, ...]) -> list[NDArray[np.float32]]:
        """Return what both models give for the rows, reshaped."""
        return [trees.predict(cells).reshape(shape) for trees in self.models or ()]

    def state(self) -> State:
        """Return the state to save."""
        facts = {"metric": self.metric, "seed": self.seed, "most_rows": self.most_rows}
        if self.models is None:
            return State(facts)
        left, level = self.models
        bounds = dict(zip(_BOUNDS, self.bounds or (), strict=False))
        return State.join(
            {**facts, **({"level_share": self.level_share} if bounds else {})},
            left=left.state(),
            level=level.state(),
            **{name: trees.state() for name, trees in bounds.items()},
        )

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Return the expert saved in `state`; its trees are checked before they are used."""
        expert = cls(
            fields.text(state, "metric", LOSSES), fields.whole(state, "seed"), fields.whole(state, "most_rows", 1)
        )
        if state.part("left") is not None:
            expert.models = (
                Trees.from_state(state.needed_part("left")),
                Trees.from_state(state.needed_part("level")),
            )
        if state.part(_BOUNDS[0]) is not None:  # wrappers that were saved earlier have none
            first, second, third, fourth = (Trees.from_state(state.needed_part(name)) for name in _BOUNDS)
            expert.bounds = first, second, third, fourth
            expert.level_share = fields.number(state, "level_share", 0, 1)
        return expert


def corrected_regression(
    done: Completed, variables: NDArray[np.int64], own: NDArray[np.bool_], correction: Correction
) -> NDArray[np.float32]:
    """Return the regression's forecast of variables with a correction of some of them, [b, h, s] in raw units.

    Parameters
    ----------
    done
        the completed windows
    variables, own
        the variables [s], and which of them are corrected, [s]
    correction
        a function of the windows, the variables to correct and the regression's forecast of them as deviations
        [b, h, s], which returns what is to be added
    """
    fitted = done.fitted
    deviation = done.deviation_ahead(variables)
    if own.any():
        deviation = deviation.copy()
        deviation[:, :, own] += correction(done, variables[own], deviation[:, :, own])
    slots = fitted.slots(done.arrived, fitted.horizon, fitted.lookback)
    return fitted.normalizer.restore(deviation, slots, variables)


def features_of(fitted: Fitted) -> Features:
    """Return what computes the features for a wrapper."""
    steps = spread_steps(fitted.horizon, MOST_STEPS)
    lags = np.sort(fitted.lookback - 1 - spread_steps(fitted.lookback, MOST_LAGS))
    return Features(fitted.normalizer, steps, lags)


def cells_of(done: Completed, variables: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return the features of variables in S, [b * steps * s, features]; they are kept with the windows."""

    def compute() -> NDArray[np.float32]:
        fitted, features = done.fitted, features_of(done.fitted)
        readings = fitted.normalize(done.arrived, done.present)
        return features.rows(
            readings[:, :, np.searchsorted(done.present, variables)],
            done.deviation_ahead(variables)[:, features.steps],
            fitted.slots(done.arrived, fitted.lookback + fitted.horizon),
            variables,
            crowd_of(readings, fitted.n),
        )

    return done.kept("cells", variables, compute)


def by_level(
    done: Completed, learned: NDArray[np.float32], ahead: NDArray[np.int64], variables: NDArray[np.int64]
) -> NDArray[np.float32]:
    """Return readings that trees learned in units, [b, steps, s], as deviations, moved forward again."""
    deviation = features_of(done.fitted).deviations(learned, ahead, variables)
    offsets = done.moved.arrived.offsets
    if offsets is None:
        return deviation
    return deviation + offsets[:, None, variables] / done.fitted.normalizer.spread_at(ahead, variables)
