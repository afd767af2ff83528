"""A linear regression of each variable on its own readings, the usual value and the calendar."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from subcast.boosting import LOSSES, interpolated
from subcast.storage import fields
from subcast.storage.state import State
from subcast.subset.completion import Completed
from subcast.subset.experts.own_regressions import (
    OwnRegressions,
    calendar_inputs,
    choose_forms,
    learned_steps,
    own_inputs,
)
from subcast.windows import Windows

if TYPE_CHECKING:
    from subcast.subset.fitted import Fitted

LEAST_WINDOWS = 200  # with fewer training windows the expert steps aside


class OwnLinear:
    """Each variable and step ahead has coefficients of its own; the other variables of S do not matter.

    Inputs are the variable's readings, its usual value at the step ahead and at the end of the window, the day of the
    week and waves of the day (of the year, for daily steps). Absolute errors are minimized by reweighting. Of many
    steps ahead some are learned; the deviation from the usual value is linear in between. Where earlier parts of the
    training forecast later parts better so, the change from the last reading is forecast instead of the reading, so
    that a variable is not drawn to a level of the past (see `choose_forms`).

    Parameters
    ----------
    metric
        "mae" for absolute errors, "rmse" for squared errors

    Attributes
    ----------
    coefficients
        [n, steps, inputs]; None before they are learned, and where the history is too short
    of_changes
        [n], whether the change from the last reading is forecast; None before that is chosen
    """

    name = "own_linear"

    def __init__(self, metric: str = "mae") -> None:
        self.metric = metric
        self.coefficients: NDArray[np.float32] | None = None
        self.of_changes: NDArray[np.bool_] | None = None

    def fit(self, train: Windows, fitted: Fitted) -> None:
        """Forget earlier coefficients; `train` learns new ones if they are wanted."""
        self.coefficients = self.of_changes = None

    def train(self, train: Windows, fitted: Fitted) -> NDArray[np.int64]:
        """Learn the coefficients from the training windows; return the variables that wander."""
        if len(train) < LEAST_WINDOWS:
            return np.empty(0, dtype=np.int64)
        forms = choose_forms(train, fitted)
        self.of_changes = ~np.isnan(forms.shrinkage)
        regressions = OwnRegressions(train, fitted, learned_steps(fitted), absolute=self.metric == "mae")
        shrinkages = [None if np.isnan(form) else float(form) for form in forms.shrinkage]
        self.coefficients = np.stack([regressions.solve(*each) for each in enumerate(shrinkages)]).astype(np.float32)
        return np.flatnonzero(forms.wanders)

    @property
    def staying(self) -> NDArray[np.bool_]:
        """Whether the last reading is the forecast of a variable: no change of it can be known, [n]."""
        if self.coefficients is None or self.of_changes is None:
            return np.zeros(0, dtype=np.bool_)
        return np.asarray(self.of_changes & ~self.coefficients.any(axis=(1, 2)))

    def forecast(self, done: Completed, variables: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the forecast of variables, [b, h, s]; an absent one gets its usual value."""
        fitted = done.fitted
        slots = fitted.slots(done.arrived, fitted.lookback + fitted.horizon)
        ahead = slots[:, fitted.lookback :]
        deviation = np.zeros((len(slots), fitted.horizon, len(variables)), dtype=np.float32)
        own = np.isin(variables, done.present)
        if self.coefficients is not None and own.any():
            readings = done.readings[:, :, np.searchsorted(done.present, variables[own])]
            deviation[:, :, own] = self._deviation(fitted, readings, slots, variables[own])
        return fitted.normalizer.restore(deviation, ahead, variables)

    def _deviation(
        self, fitted: Fitted, readings: NDArray[np.float32], slots: NDArray[np.int64], variables: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """Return the forecast of variables in S as deviations from the usual value, [b, h, s]."""
        assert self.coefficients is not None
        steps = learned_steps(fitted)
        ahead = slots[:, fitted.lookback :][:, steps]
        coefficients = self.coefficients[variables]  # [s, steps, inputs]
        of_changes = self._of_changes(fitted)[variables]
        past, usual_last, usual_ahead, base = own_inputs(fitted, readings, slots, variables, steps, of_changes)
        calendar = calendar_inputs(fitted.normalizer.cycle, ahead)  # [b, steps, c]
        count = past.shape[1]
        in_units = base[:, None] + np.einsum("bls,sql->bqs", past, coefficients[:, :, :count], optimize=True)
        in_units += usual_last[:, None] * coefficients[None, :, :, count].transpose(0, 2, 1)
        in_units += usual_ahead * coefficients[None, :, :, count + 1].transpose(0, 2, 1)
        in_units += np.einsum("bqc,sqc->bqs", calendar, coefficients[:, :, count + 2 :], optimize=True)
        mean, scale = (each[variables] for each in fitted.normalizer.levels)
        deviation = fitted.normalizer.normalize(mean + scale * in_units, ahead, variables)
        return interpolated(deviation, steps, fitted.horizon)

    def _of_changes(self, fitted: Fitted) -> NDArray[np.bool_]:
        """Return which variables' changes are forecast; in wrappers saved earlier, those of variables that wander."""
        if self.of_changes is not None:
            return self.of_changes
        of_changes = np.zeros(fitted.n, dtype=np.bool_)
        if fitted.known_levels is not None:
            of_changes[fitted.known_levels.wandering] = True
        return of_changes

    def state(self) -> State:
        """Return the state to save."""
        learned = {"coefficients": self.coefficients, "of_changes": self.of_changes}
        arrays = {name: array for name, array in learned.items() if array is not None}
        return State({"metric": self.metric}, arrays)

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Return the expert saved in `state`."""
        expert = cls(fields.text(state, "metric", LOSSES))
        if "coefficients" in state.arrays:
            expert.coefficients = fields.array(state, "coefficients", np.float32, [None, None, None])
        if "of_changes" in state.arrays and expert.coefficients is not None:
            expert.of_changes = fields.array(state, "of_changes", np.bool_, [len(expert.coefficients)])
        return expert
