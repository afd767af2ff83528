"""Boosted trees of their own for each variable, on the features of the boosted expert."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from subcast.boosting import LOSSES, GroupedTrees, interpolated
from subcast.storage import fields
from subcast.storage.state import State
from subcast.subset.completion import Completed
from subcast.subset.experts.boosted import by_level, cells_of, corrected_regression, features_of
from subcast.subset.experts.practice import Rows
from subcast.windows import Windows

if TYPE_CHECKING:
    from subcast.subset.fitted import Fitted

MOST_VARIABLES, LEAST_ROWS = 256, 500  # with more variables, or fewer rows of a variable, there are no such trees
_TREES, _FEWEST_TREES, _MOST_TREES = 100, 25, 10_000  # of a variable, and of all variables together
_LEAVES, _STEP, _FASTEST = 31, 10, 0.4  # the step is divided by the number of trees: fewer trees learn faster


class OwnTrees:
    """The reading ahead by trees that know one variable each.

    They see what the boosted expert sees: the variable's own readings, the regression on S, and the calendar. One model
    for all variables has more rows to learn from, one for each can do justice to each; which is better differs from
    data to data. A variable that is absent, or has too few rows, gets the regression alone.

    Parameters
    ----------
    metric
        "mae" for absolute errors, "rmse" for squared errors
    seed
        random seed of the training

    Attributes
    ----------
    models
        the trees of each variable; None before they are trained, and where no variable has enough rows
    """

    name = "own_trees"

    def __init__(self, metric: str = "mae", seed: int = 0) -> None:
        self.metric, self.seed = metric, seed
        self.models: GroupedTrees | None = None

    def fit(self, train: Windows, fitted: Fitted) -> None:
        """Forget earlier trees; `train` learns new ones."""
        self.models = None

    def train(self, rows: Rows, fitted: Fitted) -> None:
        """Train on the rows of the boosted expert."""
        variable = rows.cells[:, features_of(fitted).variable_column].astype(np.int64)
        counts = np.bincount(variable, minlength=fitted.n)
        if fitted.n > MOST_VARIABLES or counts.max() < LEAST_ROWS:
            return
        trees = int(np.clip(_MOST_TREES // fitted.n, _FEWEST_TREES, _TREES))
        self.models = GroupedTrees.fit(
            rows.cells,
            rows.level,
            variable,
            fitted.n,
            least_rows=LEAST_ROWS,
            metric=self.metric,
            trees=trees,
            leaves=_LEAVES,
            learning_rate=min(_STEP / trees, _FASTEST),
            leaf_rows=int(np.clip(np.median(counts) // 100, 20, 200)),
            seed=self.seed,
        )

    def forecast(self, done: Completed, variables: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the forecast of S or of the absent variables, [b, h, s]."""
        own = np.isin(variables, done.present)
        own &= False if self.models is None else self.models.known[variables]
        return corrected_regression(done, variables, own, self._correction)

    def _correction(
        self, done: Completed, variables: NDArray[np.int64], deviation: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        """Return what the trees add to the regression's forecast of variables in S, [b, h, s]."""
        assert self.models is not None
        fitted, features = done.fitted, features_of(done.fitted)
        shape = (len(deviation), len(features.steps), len(variables))
        cells = cells_of(done.moved, done.present)
        cells = cells.reshape(shape[0] * shape[1], len(done.present), -1)
        columns = np.searchsorted(done.present, variables)
        learned = np.empty((len(cells), len(variables)), dtype=np.float32)
        for place, (variable, column) in enumerate(zip(variables.tolist(), columns.tolist(), strict=True)):
            learned[:, place] = self.models.predict(variable, cells[:, column])
        ahead = fitted.slots(done.arrived, fitted.horizon, fitted.lookback)[:, features.steps]
        from_level = by_level(done, learned.reshape(shape), ahead, variables)
        return interpolated(from_level - deviation[:, features.steps], features.steps, fitted.horizon)

    def state(self) -> State:
        """Return the state to save."""
        facts = {"metric": self.metric, "seed": self.seed}
        return State(facts) if self.models is None else State.join(facts, models=self.models.state())

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Return the expert saved in `state`; its trees are checked before they are used."""
        expert = cls(fields.text(state, "metric", LOSSES), fields.whole(state, "seed"))
        if state.part("models") is not None:
            expert.models = GroupedTrees.from_state(state.needed_part("models"))
        return expert
