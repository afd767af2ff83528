"""The regressions of each variable on its own readings, its usual value and the calendar, and what they forecast."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subcast.boosting import spread_steps
from subcast.cycle import DAYS_OF_A_YEAR, Cycle
from subcast.subset.experts.practice import carried
from subcast.windows import Windows

if TYPE_CHECKING:
    from subcast.subset.fitted import Fitted

MOST_STEPS, MOST_LAGS = 12, 24
SHRINKAGES = (np.inf, 1.0, 0.1, 0.01, 1e-3)
"""Penalties of changes, in units of the mean square of each input; the first means that no change is forecast."""

_MOST_WINDOWS, _FEWEST_WINDOWS = 20_000, 1_500  # of a regression, evenly spread; fewer where there is more to solve
_MOST_PRODUCTS = 8e9  # windows x variables x steps x inputs^2
_TRIAL_STEPS, _TRIAL_WINDOWS = 3, 3_000  # by which it is chosen what regressions forecast
_TRIAL_PARTS = (0.5, 0.75, 1.0)  # of the training: what is learned before one is tried on what follows, up to the next
_AS_GOOD, _CLEARLY = 1.003, 1.02  # times a loss: about as good, and clearly worse
_SMALLEST = 1e-12
_HARMONICS = 4  # waves of the day: of 24, 12, 8 and 6 hours
_SATURDAY = 5
_RIDGE = 1e-4
_FREE = 1e-9  # penalty of the intercept: nearly none, but a step without targets must be solvable
_ROUNDS = 4  # of reweighting, for absolute errors
_LEAST_RESIDUAL = 1e-2  # in units of a variable: smaller residuals count as this, so that no weight is boundless


class OwnRegressions:
    """The regressions to solve, one for each variable and step ahead.

    Parameters
    ----------
    train
        the training windows
    fitted
        what was fitted to them
    steps
        the steps ahead
    absolute
        whether absolute errors are minimized, by reweighting
    most
        windows that are used at most
    """

    def __init__(
        self,
        train: Windows,
        fitted: Fitted,
        steps: NDArray[np.int64],
        *,
        absolute: bool = False,
        most: int = _MOST_WINDOWS,
    ) -> None:
        self.fitted, self.steps, self.rounds = fitted, steps, _ROUNDS if absolute else 0
        self.values, self.targets = train.series.values, train.target_values
        products = fitted.n * len(steps) * n_inputs(fitted) ** 2
        count = min(int(np.clip(_MOST_PRODUCTS / products, _FEWEST_WINDOWS, _MOST_WINDOWS)), most)
        starts = np.asarray(train.starts, dtype=np.int64)
        self.starts = starts[:: -(-len(starts) // count)]
        self.slots = fitted.bank_slots[self.starts[:, None] + np.arange(fitted.lookback + fitted.horizon)]
        self.calendar = calendar_inputs(fitted.normalizer.cycle, self.slots[:, fitted.lookback :][:, steps])

    def solve(self, variable: int, shrinkage: float | None = None) -> NDArray[np.float64]:
        """Return the coefficients of a variable, [steps, inputs].

        Parameters
        ----------
        variable
            its number
        shrinkage
            one of `SHRINKAGES` if the change from the last reading is forecast, None if the reading is
        """
        problems = self.problems(variable, of_changes=shrinkage is not None)
        return np.stack([self._solve_step(inputs, target, shrinkage) for inputs, target in problems])

    def problems(self, variable: int, *, of_changes: bool) -> Iterator[tuple[NDArray[np.float32], NDArray[np.float64]]]:
        """Yield the inputs [b, inputs] and targets [b] of each step ahead."""
        fitted, own = self.fitted, np.array([variable])
        lookback, normalizer = fitted.lookback, fitted.normalizer
        raw = self.values[self.starts[:, None] + np.arange(lookback), variable][:, :, None]
        readings = carried(normalizer.normalize(raw, self.slots[:, :lookback], own))
        past, usual_last, usual_ahead, base = own_inputs(
            fitted, readings, self.slots, own, self.steps, np.array([of_changes])
        )
        mean, scale = (float(each[variable]) for each in normalizer.levels)
        targets = self.targets[self.starts[:, None] + lookback + self.steps, variable].astype(np.float64)
        targets = (targets - mean) / scale - base
        for step in range(len(self.steps)):
            yield (
                np.column_stack([past[:, :, 0], usual_last, usual_ahead[:, step], self.calendar[:, step]]),
                targets[:, step],
            )

    def _solve_step(
        self, inputs: NDArray[np.float32], target: NDArray[np.float64], shrinkage: float | None
    ) -> NDArray[np.float64]:
        """Return the coefficients of one step ahead, [inputs]; without targets, those of the usual value."""
        known, width = ~np.isnan(target), inputs.shape[1]
        if known.sum() <= width:
            usual = np.zeros(width)
            usual[len(used_lags(self.fitted)) + 1] = 1.0
            return usual
        cells, own_target = (inputs, target) if known.all() else (inputs[known], target[known])
        weight = np.ones(len(own_target), dtype=np.float32)
        coefficients = self._solution(cells, own_target, weight, shrinkage)
        for _ in range(self.rounds):
            residual = np.abs(own_target - cells @ coefficients)
            weight = (1 / np.maximum(residual, _LEAST_RESIDUAL)).astype(np.float32)
            coefficients = self._solution(cells, own_target, weight, shrinkage)
        return coefficients

    def _solution(
        self,
        inputs: NDArray[np.float32],
        target: NDArray[np.float64],
        weight: NDArray[np.float32],
        shrinkage: float | None,
    ) -> NDArray[np.float64]:
        gram, right = _products(inputs, target, weight)
        return self.coefficients(gram, right, max(float(weight.sum(dtype=np.float64)), 1.0), shrinkage)

    def coefficients(
        self, gram: NDArray[np.float64], right: NDArray[np.float64], weight: float, shrinkage: float | None
    ) -> NDArray[np.float64]:
        """Return the solution of a ridge regression, [inputs], from its products and the sum of its weights."""
        if shrinkage == np.inf:
            return np.zeros(len(right))
        penalty = np.full(len(right), _RIDGE)
        penalty[len(used_lags(self.fitted)) + 2] = _FREE  # of the intercept
        gram = gram.copy()
        gram[np.diag_indices_from(gram)] *= 1 + (shrinkage or 0.0)
        gram[np.diag_indices_from(gram)] += weight * (_FREE if shrinkage else penalty)
        return np.asarray(np.linalg.solve(gram, right), dtype=np.float64)


class Forms(NamedTuple):
    """What the regression of each variable forecasts.

    Attributes
    ----------
    shrinkage
        [n], one of `SHRINKAGES` where changes are forecast, or NaN where readings are
    wanders
        [n], whether changes are clearly better, or the last reading is best: what was learned of the level in the past
        says little of it later
    """

    shrinkage: NDArray[np.float64]
    wanders: NDArray[np.bool_]


def choose_forms(train: Windows, fitted: Fitted) -> Forms:
    """Choose for each variable whether its readings are forecast or its changes, and how much changes are shrunk.

    Regressions learned on the first half of the training are tried on the third quarter, those learned on three
    quarters on the last. Changes are forecast where that is better by more than a little; they are shrunk as much as is
    about as good as the best.
    """
    steps = spread_steps(fitted.horizon, _TRIAL_STEPS)
    regressions = OwnRegressions(train, fitted, steps, most=_TRIAL_WINDOWS)
    losses = np.stack([_trial_losses(regressions, variable) for variable in range(fitted.n)])  # [n, forms]
    changes, readings = losses[:, :-1], losses[:, -1]
    best = changes.min(axis=1)
    largest = np.array(SHRINKAGES)[np.argmax(changes <= _AS_GOOD * best[:, None], axis=1)]
    shrinkage = np.where(_AS_GOOD * best < readings, largest, np.nan)
    return Forms(shrinkage, (_CLEARLY * best < readings) | np.isinf(shrinkage))


def _trial_losses(regressions: OwnRegressions, variable: int) -> NDArray[np.float64]:
    """Return the squared errors of forecasting changes with each shrinkage, and readings, [shrinkages + 1].

    They are in units of the errors of the last reading. Where too little is known, only readings have an error below
    infinity.
    """
    count, apart = len(regressions.starts), regressions.fitted.lookback + regressions.fitted.horizon
    bounds = [int(part * count) for part in _TRIAL_PARTS]
    learned = [int(np.searchsorted(regressions.starts, regressions.starts[bound - 1] - apart)) for bound in bounds[:-1]]
    errors = []  # of each step and trial
    both = (regressions.problems(variable, of_changes=of_changes) for of_changes in (True, False))
    for of_changes, of_readings in zip(*both, strict=True):
        for last, (first, end) in zip(learned, pairwise(bounds), strict=True):
            new = first + np.flatnonzero(~np.isnan(of_changes[1][first:end]))
            known = np.flatnonzero(~np.isnan(of_changes[1][:last]))
            if len(known) > of_changes[0].shape[1] and len(new):
                trial = [_squared_errors(regressions, of_changes, known, new, SHRINKAGES)]
                trial += [_squared_errors(regressions, of_readings, known, new, (None,))]
                errors.append(np.concatenate(trial) / max(float(np.mean(of_changes[1][new] ** 2)), _SMALLEST))
    return np.mean(errors, axis=0) if errors else np.array([np.inf] * len(SHRINKAGES) + [1.0])


def _squared_errors(
    regressions: OwnRegressions,
    problem: tuple[NDArray[np.float32], NDArray[np.float64]],
    known: NDArray[np.int64],
    new: NDArray[np.int64],
    shrinkages: Sequence[float | None],
) -> NDArray[np.float64]:
    """Return the mean squared errors on new windows, learned on known ones, [shrinkages]."""
    inputs, target = problem
    gram, right = _products(inputs[known], target[known], None)
    solutions = [regressions.coefficients(gram, right, float(len(known)), each) for each in shrinkages]
    return np.array([np.mean((target[new] - inputs[new] @ own) ** 2) for own in solutions])


def _products(
    inputs: NDArray[np.float32], target: NDArray[np.float64], weight: NDArray[np.float32] | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the weighted products of inputs with each other [inputs, inputs], and with the target [inputs]."""
    weighted = inputs if weight is None else weight[:, None] * inputs
    gram, right = inputs.T @ weighted, weighted.T @ target.astype(np.float32)
    return gram.astype(np.float64), right.astype(np.float64)


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
    of_changes: NDArray[np.bool_],
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
    steps
        the steps ahead
    of_changes
        [s], whether the change from the last reading is forecast

    Returns
    -------
    NDArray
        the readings [b, lags, s], the usual value at the end of the window [b, s] and at the steps ahead [b, steps, s],
        and the value to which the regression adds [b, s]: 0, or the last reading of a variable whose changes are
        forecast, from which its inputs are then measured
    """
    normalizer, t, lags = fitted.normalizer, readings.shape[1], used_lags(fitted)
    mean, scale = (each[variables] for each in normalizer.levels)
    past = (normalizer.restore(readings[:, lags], slots[:, lags], variables) - mean) / scale
    at = np.concatenate([slots[:, t - 1 : t], slots[:, t:][:, steps]], axis=1)  # [b, 1 + steps]
    zeros = np.zeros((len(slots), at.shape[1], len(variables)), dtype=np.float32)
    usual = (normalizer.restore(zeros, at, variables) - mean) / scale
    past, last, ahead = (each.astype(np.float32) for each in (past, usual[:, 0], usual[:, 1:]))
    base = np.zeros_like(last)
    if of_changes.any():
        base = np.where(of_changes, past[:, -1], base)
        past, ahead = past - base[:, None], np.where(of_changes, ahead - last[:, None], ahead)
        last = np.where(of_changes, np.float32(0), last)
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
        weekday = cycle.day_of_week(positions)
        columns += [weekday == day for day in range(1, 7)]
    if cycle.slots > 1:
        day = _waves((positions % cycle.slots) / cycle.slots, _HARMONICS)
        columns += day
        columns += [(weekday >= _SATURDAY) * wave for wave in day] if cycle.weekly else []
    if cycle.yearly:
        columns += _waves(positions % DAYS_OF_A_YEAR / DAYS_OF_A_YEAR, 1)
    return np.stack(columns, axis=-1).astype(np.float32)


def _waves(share: NDArray[np.float64], harmonics: int) -> list[NDArray[np.float64]]:
    """Return sine and cosine of the first harmonics of a share of a period."""
    angles = [2 * np.pi * number * share for number in range(1, harmonics + 1)]
    return [wave(angle) for angle in angles for wave in (np.sin, np.cos)]
