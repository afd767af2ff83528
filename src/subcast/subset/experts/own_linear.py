"""A linear regression of each variable on its own readings, the usual value and the calendar."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from subcast.boosting import LOSSES, interpolated, spread_steps
from subcast.cycle import Cycle
from subcast.storage import fields
from subcast.storage.state import State
from subcast.subset.completion import Completed
from subcast.subset.experts.practice import carried
from subcast.windows import Windows

if TYPE_CHECKING:
    from subcast.subset.fitted import Fitted

MOST_STEPS, MOST_LAGS = 12, 24
LEAST_WINDOWS = 200  # with fewer training windows the expert steps aside
_MOST_WINDOWS, _FEWEST_WINDOWS = 20_000, 1_500  # of a regression, evenly spread; fewer where there is more to solve
_MOST_PRODUCTS = 8e9  # windows x variables x steps x inputs^2
_HARMONICS = 4  # waves of the day: of 24, 12, 8 and 6 hours
_SATURDAY = 5
_RIDGE = 1e-4
_FREE = 1e-9  # penalty of the intercept: nearly none, but a step without targets must be solvable
_ROUNDS = 4  # of reweighting, for absolute errors
_LEAST_RESIDUAL = 1e-2  # in units of a variable: smaller residuals count as this, so that no weight is boundless


class OwnLinear:
    """Each variable and step ahead has coefficients of its own; the other variables of S do not matter.

    Inputs are the variable's readings, its usual value at the step ahead and at the end of the window, the day of the
    week and waves of the day (of the year, for daily steps). Absolute errors are minimized by reweighting. Of many
    steps ahead some are learned; the deviation from the usual value is linear in between. A variable that wanders
    (see `KnownLevels`) is forecast by its change from the last reading, so that it is not drawn to a level of the past.

    Parameters
    ----------
    metric
        "mae" for absolute errors, "rmse" for squared errors

    Attributes
    ----------
    coefficients
        [n, steps, inputs]; None before they are learned, and where the history is too short
    """

    name = "own_linear"

    def __init__(self, metric: str = "mae") -> None:
        self.metric = metric
        self.coefficients: NDArray[np.float32] | None = None

    def fit(self, train: Windows, fitted: Fitted) -> None:
        """Forget earlier coefficients; `train` learns new ones if they are wanted."""
        self.coefficients = None

    def train(self, train: Windows, fitted: Fitted) -> None:
        """Learn the coefficients from the training windows."""
        steps, lags = learned_steps(fitted), used_lags(fitted)
        if len(train) < LEAST_WINDOWS:
            return
        problem = _Problem(train, fitted, steps, lags, self.metric)
        self.coefficients = np.stack([problem.solve(variable) for variable in range(fitted.n)]).astype(np.float32)

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
        steps, lags = learned_steps(fitted), used_lags(fitted)
        ahead = slots[:, fitted.lookback :][:, steps]
        coefficients = self.coefficients[variables]  # [s, steps, inputs]
        past, usual_last, usual_ahead, base = own_inputs(fitted, readings, slots, variables, steps, lags)
        calendar = calendar_inputs(fitted.normalizer.cycle, ahead)  # [b, steps, c]
        count = len(lags)
        in_units = base[:, None] + np.einsum("bls,sql->bqs", past, coefficients[:, :, :count], optimize=True)
        in_units += usual_last[:, None] * coefficients[None, :, :, count].transpose(0, 2, 1)
        in_units += usual_ahead * coefficients[None, :, :, count + 1].transpose(0, 2, 1)
        in_units += np.einsum("bqc,sqc->bqs", calendar, coefficients[:, :, count + 2 :], optimize=True)
        mean, scale = (each[variables] for each in fitted.normalizer.levels)
        deviation = fitted.normalizer.normalize(mean + scale * in_units, ahead, variables)
        return interpolated(deviation, steps, fitted.horizon)

    def state(self) -> State:
        """Return the state to save."""
        arrays = {} if self.coefficients is None else {"coefficients": self.coefficients}
        return State({"metric": self.metric}, arrays)

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Return the expert saved in `state`."""
        expert = cls(fields.text(state, "metric", LOSSES))
        if "coefficients" in state.arrays:
            expert.coefficients = fields.array(state, "coefficients", np.float32, [None, None, None])
        return expert


class _Problem:
    """The regressions to solve, one for each variable and step ahead."""

    def __init__(
        self, train: Windows, fitted: Fitted, steps: NDArray[np.int64], lags: NDArray[np.int64], metric: str
    ) -> None:
        self.fitted, self.steps, self.lags = fitted, steps, lags
        self.rounds = _ROUNDS if metric == "mae" else 0
        self.values, self.targets = train.series.values, train.target_values
        inputs = n_inputs(fitted)
        products = fitted.n * len(steps) * inputs**2
        count = int(np.clip(_MOST_PRODUCTS / products, _FEWEST_WINDOWS, _MOST_WINDOWS))
        starts = np.asarray(train.starts, dtype=np.int64)
        self.starts = starts[:: -(-len(starts) // count)]
        self.slots = fitted.bank_slots[self.starts[:, None] + np.arange(fitted.lookback + fitted.horizon)]
        self.ahead = self.slots[:, fitted.lookback :][:, steps]
        self.calendar = calendar_inputs(fitted.normalizer.cycle, self.ahead)  # [b, steps, c]

    def solve(self, variable: int) -> NDArray[np.float64]:
        """Return the coefficients of a variable, [steps, inputs]."""
        fitted, own = self.fitted, np.array([variable])
        lookback, normalizer = fitted.lookback, fitted.normalizer
        raw = self.values[self.starts[:, None] + np.arange(lookback), variable][:, :, None]
        readings = carried(normalizer.normalize(raw, self.slots[:, :lookback], own))
        past, usual_last, usual_ahead, base = own_inputs(fitted, readings, self.slots, own, self.steps, self.lags)
        mean, scale = (float(each[variable]) for each in normalizer.levels)
        targets = self.targets[self.starts[:, None] + lookback + self.steps, variable].astype(np.float64)
        targets = (targets - mean) / scale - base
        return np.stack(
            [
                self._solve_step(
                    np.column_stack([past[:, :, 0], usual_last, usual_ahead[:, step], self.calendar[:, step]]),
                    targets[:, step],
                )
                for step in range(len(self.steps))
            ]
        )

    def _solve_step(self, inputs: NDArray[np.float32], target: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the coefficients of one step ahead, [inputs]; without targets, those of the usual value."""
        known = ~np.isnan(target)
        width, first_of_calendar = inputs.shape[1], len(self.lags) + 2
        if known.sum() <= width:
            usual = np.zeros(width)
            usual[len(self.lags) + 1] = 1.0
            return usual
        cells, own_target = (inputs, target) if known.all() else (inputs[known], target[known])
        penalty = np.full(width, _RIDGE)
        penalty[first_of_calendar] = _FREE  # of the intercept
        weight = np.ones(len(own_target), dtype=np.float32)
        coefficients = _weighted(cells, own_target, weight, penalty)
        for _ in range(self.rounds):
            residual = np.abs(own_target - cells @ coefficients)
            weight = (1 / np.maximum(residual, _LEAST_RESIDUAL)).astype(np.float32)
            coefficients = _weighted(cells, own_target, weight, penalty)
        return coefficients


def _weighted(
    inputs: NDArray[np.float32], target: NDArray[np.float64], weight: NDArray[np.float32], penalty: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the solution of a weighted ridge regression, [inputs]."""
    weighted = weight[:, None] * inputs
    gram = (inputs.T @ weighted).astype(np.float64)
    gram[np.diag_indices_from(gram)] += max(float(weight.sum(dtype=np.float64)), 1.0) * penalty
    right = (weighted.T @ target.astype(np.float32)).astype(np.float64)
    return np.asarray(np.linalg.solve(gram, right), dtype=np.float64)


def learned_steps(fitted: Fitted) -> NDArray[np.int64]:
    """Return the steps ahead that have coefficients."""
    return spread_steps(fitted.horizon, MOST_STEPS)


def used_lags(fitted: Fitted) -> NDArray[np.int64]:
    """Return the steps of the window whose readings are inputs."""
    return np.sort(fitted.lookback - 1 - spread_steps(fitted.lookback, MOST_LAGS))


def n_inputs(fitted: Fitted) -> int:
    """Return the number of inputs of a regression."""
    calendar = calendar_inputs(fitted.normalizer.cycle, np.zeros((1, 1), dtype=np.int64))
    return len(used_lags(fitted)) + 2 + calendar.shape[2]


def own_inputs(
    fitted: Fitted,
    readings: NDArray[np.float32],
    slots: NDArray[np.int64],
    variables: NDArray[np.int64],
    steps: NDArray[np.int64],
    lags: NDArray[np.int64],
) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
    """Return what a variable's own regression sees besides the calendar, in units of the variable.

    Parameters
    ----------
    fitted
        what was fitted
    readings
        [b, t, s], deviations without missing ones
    slots
        [b, t + h], positions in the cycle
    variables
        [s], their numbers
    steps, lags
        the steps ahead, and the steps of the window that are used

    Returns
    -------
    NDArray
        the readings [b, lags, s], the usual value at the end of the window [b, s] and at the steps ahead [b, steps, s],
        and the value to which the regression adds [b, s]: 0, or the last reading of a variable that wanders, from
        which its inputs are then measured
    """
    normalizer, t = fitted.normalizer, readings.shape[1]
    mean, scale = (each[variables] for each in normalizer.levels)
    past = (normalizer.restore(readings[:, lags], slots[:, lags], variables) - mean) / scale
    at = np.concatenate([slots[:, t - 1 : t], slots[:, t:][:, steps]], axis=1)  # [b, 1 + steps]
    zeros = np.zeros((len(slots), at.shape[1], len(variables)), dtype=np.float32)
    usual = (normalizer.restore(zeros, at, variables) - mean) / scale
    past, last, ahead = (each.astype(np.float32) for each in (past, usual[:, 0], usual[:, 1:]))
    base = np.zeros_like(last)
    wanders = np.zeros(len(variables), dtype=bool)
    if fitted.known_levels is not None:
        wanders = np.isin(variables, fitted.known_levels.wandering)
    if wanders.any():
        base = np.where(wanders, past[:, -1], base)
        past, ahead = past - base[:, None], np.where(wanders, ahead - last[:, None], ahead)
        last = np.where(wanders, np.float32(0), last)
    return past, last, ahead, base


def calendar_inputs(cycle: Cycle, positions: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return what the calendar says of positions of the cycle [b, steps], [b, steps, c]; the first is always 1.

    >>> calendar_inputs(Cycle(), np.zeros((1, 1), dtype=int)).ravel()
    array([1.], dtype=float32)
    >>> calendar_inputs(Cycle(24, (0, 0, 0, 0, 0, 1, 1)), np.array([[0]])).shape       # 6 weekdays, 2 x 8 waves
    (1, 1, 23)
    """
    columns = [np.ones(positions.shape)]
    if cycle.weekly:
        weekday = positions // cycle.slots
        columns += [weekday == day for day in range(1, 7)]
    if cycle.slots > 1:
        day = _waves((positions % cycle.slots) / cycle.slots, _HARMONICS)
        columns += day
        columns += [(positions // cycle.slots >= _SATURDAY) * wave for wave in day] if cycle.weekly else []
    if cycle.yearly:
        columns += _waves(positions / cycle.length, 1)
    return np.stack(columns, axis=-1).astype(np.float32)


def _waves(share: NDArray[np.float64], harmonics: int) -> list[NDArray[np.float64]]:
    """Return sine and cosine of the first harmonics of a share of a period."""
    angles = [2 * np.pi * number * share for number in range(1, harmonics + 1)]
    return [wave(angle) for angle in angles for wave in (np.sin, np.cos)]
