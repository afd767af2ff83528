"""A linear regression of each variable on its own past, the clock and the weekday."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subcast.axes import check_whole
from subcast.baselines.base import Shape, check_positive, check_train, without_holes
from subcast.baselines.linear import LOSSES
from subcast.baselines.own_past import cover_two_years
from subcast.baselines.usual import profile_rows, training_profile
from subcast.calendar import day_of_week, share_of_day, slots_a_day
from subcast.errors import InputError
from subcast.profile import Profile
from subcast.scaling import Scaler
from subcast.windows import Windows

MOST_WINDOWS = 20_000
_HARMONICS = 4  # waves of the day: of 24, 12, 8 and 6 hours
_SATURDAY = 5
_YEAR = 365.2425
_LEAST_RESIDUAL = 1e-2  # in normalized units: smaller residuals count as this, so that no weight is boundless
_FREE = 1e-12  # penalty of the intercept: nearly none, but a step without targets must be solvable


@dataclass(frozen=True, eq=False)
class CalendarLinear:
    """Forecast each variable by a linear function of its own last readings and of the time that is forecast.

    Inputs are the readings of the window and, of the step that is forecast: the usual value at that time of day and
    class of day, waves of the day, the day of the week, waves of the day on weekends, and one wave of the year if the
    training data cover two years. Each variable and each step ahead has its own coefficients, by ridge regression on
    normalized readings. Missing inputs are filled in along the steps; a target that does not count is left out.
    Without times only the readings are used.

    `loss="absolute"` fits the least absolute error by iteratively reweighted least squares.

    Cost: T n h d^2 products for d inputs (about 40 with a lookback of 12), times `rounds` for the absolute loss.

    Parameters
    ----------
    shape
        of the training windows
    scaler
        of each variable
    profile
        the usual values
    coefficients
        [n, h, d]: of the readings, of what the calendar says (the intercept first), and of the usual value
    uses_day, uses_year
        whether waves of the day and of the year are inputs

    Examples
    --------
    >>> from subcast.series import Series
    >>> times = np.datetime64("2024-01-01") + np.arange(900) * np.timedelta64(1, "h")
    >>> wave = np.sin(2 * np.pi * np.arange(900)[:, None] / 24 + np.arange(3))
    >>> train, _, test = Series(wave, times=times).split(lookback=6, horizon=3)
    >>> forecast = CalendarLinear.fit(train)(test, np.array([0, 2]))
    >>> bool(np.abs(forecast - test.targets[:, :, [0, 2]]).max() < 0.01)
    True
    """

    shape: Shape
    scaler: Scaler
    profile: Profile
    coefficients: NDArray[np.float64]
    uses_day: bool
    uses_year: bool

    @classmethod
    def fit(
        cls,
        train: Windows,
        *,
        loss: str = "squared",
        ridge: float = 1e-4,
        rounds: int = 5,
        most_windows: int = MOST_WINDOWS,
    ) -> CalendarLinear:
        """Fit the coefficients.

        Parameters
        ----------
        train
            the training windows
        loss
            "squared" or "absolute"
        ridge
            lambda, relative to the weight of the training windows that count; the intercept is free
        rounds
            number of rounds of reweighting, for the absolute loss
        most_windows
            largest number of training windows that are used, evenly spread
        """
        check_train(train)
        check_positive("ridge", ridge)
        check_whole("rounds", rounds)
        check_whole("most_windows", most_windows)
        if loss not in LOSSES:
            raise InputError(f"loss must be one of {', '.join(LOSSES)}, got {loss!r}")
        uses_day = slots_a_day(train.series.wall_times) > 1
        uses_year = cover_two_years(train)
        sample = train[:: -(-len(train) // most_windows)]
        problem = _Problem(
            sample,
            Scaler.fit(train, per_variable=True),
            training_profile(train),
            calendar_inputs(sample, uses_day, uses_year),
            ridge,
            rounds if loss == "absolute" else 0,
        )
        coefficients = np.stack([problem.solve(variable) for variable in range(train.series.n_variables)])
        return cls(Shape.of(train), problem.scaler, problem.profile, coefficients, uses_day, uses_year)

    def __call__(self, windows: Windows, present: NDArray[np.int64]) -> NDArray[np.float32]:
        """Forecast S: [b, h, s], raw units."""
        present = self.shape.check(windows, present)
        scaler, t = self.scaler.select(present), self.shape.lookback
        readings = without_holes(scaler.transform(windows.readings[:, :, present]))  # [b, t, s]
        calendar = calendar_inputs(windows, self.uses_day, self.uses_year)  # [b, h, c]
        own = self.coefficients[present]  # [s, h, t + c + 1]
        normal = np.einsum("bts,sht->bhs", readings, own[:, :, :t], optimize=True)
        normal += np.einsum("bhc,shc->bhs", calendar, own[:, :, t:-1], optimize=True)
        normal += _usual(windows, self.profile, scaler, present) * own[:, :, -1].T
        return scaler.inverse(normal)


@dataclass(frozen=True, eq=False)
class _Problem:
    """The regressions to solve, one for each variable and step ahead."""

    windows: Windows
    scaler: Scaler
    profile: Profile
    calendar: NDArray[np.float64]  # [b, h, c], the intercept first
    ridge: float
    rounds: int

    def solve(self, variable: int) -> NDArray[np.float64]:
        """Return the coefficients of a variable, [h, t + c + 1]."""
        scaler = self.scaler.select([variable])
        readings = without_holes(scaler.transform(self.windows.readings[:, :, [variable]]))[:, :, 0]  # [b, t]
        targets = scaler.transform(self.windows.targets[:, :, [variable]])[:, :, 0].astype(np.float64)  # [b, h]
        usual = _usual(self.windows, self.profile, scaler, np.array([variable]))  # [b, h, 1]
        return np.stack(
            [
                self._solve_step([readings, self.calendar[:, step], usual[:, step]], targets[:, step])
                for step in range(self.windows.horizon)
            ]
        )

    def _solve_step(self, inputs_of: list[NDArray[Any]], targets: NDArray[np.float64]) -> NDArray[np.float64]:
        known = ~np.isnan(targets)
        inputs, target = np.concatenate(inputs_of, axis=1)[known], targets[known]
        penalty = np.full(inputs.shape[1], self.ridge)
        penalty[self.windows.lookback] = _FREE  # of the intercept
        coefficients = _weighted(inputs, target, np.ones(len(target)), penalty)
        for _ in range(self.rounds):
            weight = 1 / np.maximum(np.abs(target - inputs @ coefficients), _LEAST_RESIDUAL)
            coefficients = _weighted(inputs, target, weight, penalty)
        return coefficients


def _weighted(
    inputs: NDArray[np.float64], target: NDArray[np.float64], weight: NDArray[np.float64], penalty: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the solution of a weighted ridge regression, [d]."""
    gram = inputs.T @ (weight[:, None] * inputs)
    gram[np.diag_indices_from(gram)] += max(float(weight.sum()), 1.0) * penalty
    return np.asarray(np.linalg.solve(gram, inputs.T @ (weight * target)), dtype=np.float64)


def _usual(
    windows: Windows, profile: Profile, scaler: Scaler, variables: NDArray[np.int64]
) -> NDArray[np.floating[Any]]:
    """Return the usual values of variables at the steps ahead, normalized, [b, h, s]."""
    rows = profile_rows(profile, windows, windows.lookback, windows.horizon)
    return scaler.transform(profile.center[:, variables][rows].astype(np.float32))


def calendar_inputs(windows: Windows, uses_day: bool, uses_year: bool) -> NDArray[np.float64]:
    """Return the inputs from the times of the steps ahead, [b, h, c]; the first is 1, the only one without times."""
    times = windows.wall_times
    columns = [np.ones((len(windows), windows.horizon))]
    if times is not None:
        weekday = np.rint(7 * day_of_week(times)).astype(np.int64)  # 0 is Monday
        columns += [(weekday == day).astype(np.float64) for day in range(1, 7)]
        if uses_day:
            day = _waves(share_of_day(times), _HARMONICS)
            columns += [*day, *((weekday >= _SATURDAY) * wave for wave in day)]
        if uses_year:
            columns += _waves((times - times.astype("datetime64[Y]")) / np.timedelta64(1, "D") / _YEAR, 1)
    return np.stack(columns, axis=-1)


def _waves(share: NDArray[np.float64], harmonics: int) -> list[NDArray[np.float64]]:
    """Return sine and cosine of the first harmonics of a share of a period."""
    angles = [2 * np.pi * number * share for number in range(1, harmonics + 1)]
    return [wave(angle) for angle in angles for wave in (np.sin, np.cos)]
