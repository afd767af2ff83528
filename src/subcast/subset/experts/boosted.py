"""Boosted trees on a variable's own past, the calendar and the regression on S: one model for all variables and S."""

from __future__ import annotations

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
    """

    name = "boosted"

    def __init__(self, metric: str = "mae", seed: int = 0, most_rows: int = MOST_ROWS) -> None:
        self.metric, self.seed, self.most_rows = metric, seed, most_rows
        self.models: tuple[Trees, Trees] | None = None

    def fit(self, train: Windows, fitted: Fitted) -> None:
        """Forget earlier trees; `train` learns new ones once the regression is chosen."""
        self.models = None

    def train(self, practice: Practice, fitted: Fitted, ridge: float) -> None:
        """Train on windows of random S; the regression in a row never saw the window."""
        features, windows = features_of(fitted), sum(len(half.starts) for half in practice.halves)
        if windows < LEAST_WINDOWS:
            return
        most_rows = min(self.most_rows, windows * fitted.n * len(features.steps))
        rows = practice_rows(practice, features, ridge, most_rows, self.seed)
        if len(rows.left) < LEAST_ROWS:  # most targets are missing
            return
        weight = rows.weight if self.metric == "mae" else rows.weight**2
        self.models = self._trees(rows, rows.left, weight), self._trees(rows, rows.level, None)

    def _trees(self, rows: Rows, target: NDArray[np.float32], weight: NDArray[np.float32] | None) -> Trees:
        leaf_rows = int(np.clip(len(target) // 400, 20, 200))
        return Trees.fit(
            rows.cells,
            target,
            weight,
            metric=self.metric,
            trees=_TREES,
            leaves=_LEAVES,
            leaf_rows=leaf_rows,
            seed=self.seed,
        )

    def forecast(self, done: Completed, variables: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the forecast of S or of the absent variables, [b, h, s]."""
        fitted = done.fitted
        deviation = done.deviation_ahead(variables)
        own = np.isin(variables, done.present)
        if self.models is not None and own.any():
            deviation = deviation.copy()
            deviation[:, :, own] += self._correction(done, variables[own], deviation[:, :, own])
        slots = fitted.slots(done.arrived, fitted.horizon, fitted.lookback)
        return fitted.normalizer.restore(deviation, slots, variables)

    def _correction(
        self, done: Completed, variables: NDArray[np.int64], deviation: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        """Return what the trees add to the regression's forecast of variables in S, [b, h, s].

        The trees know only the levels of the training, so a variable that left them is moved back, and what the trees
        say of its level forward again.
        """
        fitted, features = done.fitted, features_of(done.fitted)
        offsets = done.moved.arrived.offsets
        regression, done = deviation, done.moved
        if offsets is not None:
            deviation = done.deviation_ahead(variables)
        readings = fitted.normalize(done.arrived, done.present)
        slots = fitted.slots(done.arrived, fitted.lookback + fitted.horizon)
        cells = features.rows(
            readings[:, :, np.searchsorted(done.present, variables)],
            deviation[:, features.steps],
            slots,
            variables,
            crowd_of(readings, fitted.n),
        )
        left, level = self._learned(cells, (len(readings), len(features.steps), len(variables)))
        ahead = slots[:, fitted.lookback :][:, features.steps]
        by_level = features.deviations(level, ahead, variables) - regression[:, features.steps]
        if offsets is not None:
            by_level += offsets[:, None, variables] / fitted.normalizer.spread_at(ahead, variables)
        return interpolated((left + by_level) / 2, features.steps, fitted.horizon)

    def _learned(self, cells: NDArray[np.float32], shape: tuple[int, ...]) -> list[NDArray[np.float32]]:
        """Return what both models give for the rows, reshaped."""
        return [trees.predict(cells).reshape(shape) for trees in self.models or ()]

    def state(self) -> State:
        """Return the state to save."""
        facts = {"metric": self.metric, "seed": self.seed, "most_rows": self.most_rows}
        if self.models is None:
            return State(facts)
        left, level = self.models
        return State.join(facts, left=left.state(), level=level.state())

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
        return expert


def features_of(fitted: Fitted) -> Features:
    """Return what computes the features for a wrapper."""
    steps = spread_steps(fitted.horizon, MOST_STEPS)
    lags = np.sort(fitted.lookback - 1 - spread_steps(fitted.lookback, MOST_LAGS))
    return Features(fitted.normalizer, steps, lags)
