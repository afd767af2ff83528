"""One boosted model for all variables, from each variable's own past and the calendar: it needs no other variable."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subcast.axes import check_whole
from subcast.baselines.base import Shape, check_train
from subcast.baselines.usual import training_profile
from subcast.boosting import Trees, interpolated, spread_steps
from subcast.calendar import day_of_week, share_of_day, spans_two_years
from subcast.profile import Profile
from subcast.scaling import Scaler
from subcast.windows import Windows

MOST_ROWS = 300_000
_MOST_LAGS = 24
_MOST_STEPS = 12  # steps ahead that are learned; those in between are interpolated
_LEAST_ROWS = 200  # a variable with fewer training rows gets no model of its own
_YEAR = 365.2425


@dataclass(frozen=True, eq=False)
class OwnPast:
    """Gradient boosting on a variable's own readings, the time of day, the weekday and the day of the year.

    What a practitioner would train instead of wrapping a model: a missing sensor costs it nothing. One model serves
    all variables and all steps ahead, which are features; `each` trains one for every variable.

    Parameters
    ----------
    shape
        of the training windows
    scaler
        of each variable
    profile
        the usual value at each time of day and class of day, a feature of the step that is forecast
    trees
        one model, or one for each variable; None for a variable with too few readings
    steps, lags
        the steps ahead that are learned, and the steps of the window that are features
    uses_year
        whether the day of the year is a feature; in less than two years it would name single days of the training

    Examples
    --------
    >>> from subcast.series import Series
    >>> times = np.datetime64("2024-01-01") + np.arange(1200) * np.timedelta64(1, "h")
    >>> wave = np.sin(2 * np.pi * np.arange(1200)[:, None] / 24 + np.arange(3))
    >>> train, _, test = Series(wave, times=times).split(lookback=6, horizon=3)
    >>> forecast = OwnPast.fit(train)(test, np.array([0, 2]))
    >>> bool(np.abs(forecast - test.targets[:, :, [0, 2]]).mean() < 0.1)
    True
    """

    shape: Shape
    scaler: Scaler
    profile: Profile
    trees: tuple[Trees | None, ...]
    steps: NDArray[np.int64]
    lags: NDArray[np.int64]
    uses_year: bool = False

    @classmethod
    def fit(
        cls,
        train: Windows,
        *,
        metric: str = "mae",
        quantile: float | None = None,
        each: bool = False,
        most_rows: int = MOST_ROWS,
        seed: int = 0,
    ) -> OwnPast:
        """Train on windows spread evenly over the training data.

        Parameters
        ----------
        train
            the training windows
        metric
            "mae" for absolute errors, "rmse" for squared errors
        quantile
            forecast this quantile instead, a number between 0 and 1
        each
            one model for each variable, instead of one for all
        most_rows
            largest number of training rows of a model: a row is one variable of one window at one step ahead
        seed
            random seed of the boosting
        """
        check_train(train)
        check_whole("most_rows", most_rows)
        steps, lags = spread_steps(train.horizon, _MOST_STEPS), _last(train.lookback, _MOST_LAGS)
        scaler = Scaler.fit(train, per_variable=True)
        fresh = cls(Shape.of(train), scaler, training_profile(train), (), steps, lags, cover_two_years(train))
        n = train.series.n_variables
        groups = [np.array([variable]) for variable in range(n)] if each else [np.arange(n)]
        options = {"metric": metric, "quantile": quantile, "seed": seed}
        trees = tuple(fresh._train(train, group, most_rows, options) for group in groups)
        return replace(fresh, trees=trees)

    def _train(
        self, train: Windows, variables: NDArray[np.int64], most_rows: int, options: dict[str, Any]
    ) -> Trees | None:
        rows_a_window = len(variables) * len(self.steps)
        sample = train[:: max(1, -(-len(train) * rows_a_window // most_rows))]
        target = self.scaler.select(variables).transform(sample.targets[:, self.steps][:, :, variables]).ravel()
        known = ~np.isnan(target)
        if known.sum() < _LEAST_ROWS:
            return None
        rows = self._rows(sample, variables)[known]
        return Trees.fit(rows, target[known], leaf_rows=max(20, min(200, len(rows) // 200)), **options)

    def __call__(self, windows: Windows, present: NDArray[np.int64]) -> NDArray[np.float32]:
        """Forecast S: [b, h, s], raw units."""
        present = self.shape.check(windows, present)
        if len(self.trees) == 1:
            normal = self._forecast(windows, present, self.trees[0])
        else:
            each = [self._forecast(windows, present[i : i + 1], self.trees[v]) for i, v in enumerate(present)]
            normal = np.concatenate(each, axis=2)
        if len(self.steps) < windows.horizon:  # between learned steps the deviation from the usual value is linear
            deviation = interpolated(normal - self._usual(windows, present, self.steps), self.steps, windows.horizon)
            normal = deviation + self._usual(windows, present, np.arange(windows.horizon))
        return self.scaler.select(present).inverse(normal)

    def _forecast(
        self, windows: Windows, variables: NDArray[np.int64], trees: Trees | None
    ) -> NDArray[np.floating[Any]]:
        """Return normalized forecasts at the learned steps, [b, steps, s]; the usual value without a model."""
        if trees is None:
            return self._usual(windows, variables, self.steps)
        return trees.predict(self._rows(windows, variables)).reshape(len(windows), len(self.steps), len(variables))

    def _rows(self, windows: Windows, variables: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the features of every window, step ahead and variable, [b * steps * s, f]."""
        shape = (len(windows), len(self.steps), len(variables))
        readings = self.scaler.select(variables).transform(windows.readings[:, self.lags][:, :, variables])  # [b, l, s]
        columns: list[NDArray[Any]] = [readings[:, None, lag] for lag in range(len(self.lags))]
        columns += [self.steps[None, :, None], variables[None, None, :], self._usual(windows, variables, self.steps)]
        columns += [clock[:, :, None] for clock in self._clocks(windows)]
        rows = np.empty((*shape, len(columns)), dtype=np.float32)
        for number, column in enumerate(columns):
            rows[..., number] = column
        return rows.reshape(-1, len(columns))

    def _usual(self, windows: Windows, variables: NDArray[np.int64], steps: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the usual values at steps ahead in normalized units, [b, steps, s]."""
        times = windows.wall_times
        ahead = None if times is None else np.asarray(times)[:, steps]
        rows = self.profile.rows_of(ahead, (len(windows), len(steps)))
        return self.scaler.select(variables).transform(self.profile.center[:, variables][rows].astype(np.float32))

    def _clocks(self, windows: Windows) -> list[NDArray[np.floating[Any]]]:
        """Return time of day, weekday and day of the year of the steps ahead, [b, steps] each; none without times."""
        if windows.wall_times is None:
            return []
        times = np.asarray(windows.wall_times)[:, self.steps]
        clocks: list[NDArray[np.floating[Any]]] = [share_of_day(times), day_of_week(times)]
        if self.uses_year:
            clocks.append((times - times.astype("datetime64[Y]")) / np.timedelta64(1, "D") / _YEAR)
        return clocks


def cover_two_years(train: Windows) -> bool:
    """Return whether the training windows cover at least two years."""
    times = train.series.wall_times
    if times is None:
        return False
    return spans_two_years(times[min(train.starts) : max(train.starts) + train.lookback + train.horizon])


def _last(lookback: int, most: int) -> NDArray[np.int64]:
    """Return at most `most` steps of the window, including the last, denser towards the end."""
    return np.sort(lookback - 1 - spread_steps(lookback, most))
