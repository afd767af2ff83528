"""The usual value of each variable at each position of the cycle: time of day and class of day, or day of the year."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subcast.calendar import slots_a_day, spans_two_years
from subcast.cycle import DAY_CLASSES, SAME_DAYS, Cycle, as_days

_HALF_WIDTH = 15 / 1440  # half width of the smoothing, as a share of a day
_DAYS_NEAR = 15  # half width of the smoothing over the days of the year
_FLOOR = 0.3  # the spread in any row is at least this share of the variable's overall spread
_LEAST_WEEKS = 4  # weeks of data that are needed to tell days apart
_CLEAR_GAIN = 0.1  # share of the error by which a yearly profile must reduce it in each half of the years
_NEGLIGIBLE = 1e-6  # error in units of the spread: smaller differences are rounding
_DAY = np.timedelta64(1, "D")


@dataclass(frozen=True, eq=False)
class Profile:
    """Center and spread of each variable in each row of a cycle.

    Parameters
    ----------
    center, spread
        [rows, n], in raw units; one row if the time does not matter
    cycle
        which row each time belongs to

    Examples
    --------
    >>> times = np.datetime64("2024-01-01") + np.arange(24 * 7 * 6) * np.timedelta64(1, "h")
    >>> weekend = Cycle(24).weekdays(times) > 4
    >>> values = np.where(weekend, 1.0, 5.0)[:, None] + np.random.default_rng(0).normal(size=(len(times), 1)) / 9
    >>> profile = Profile.fit(values, times)
    >>> usual = profile.usual(np.array(["2024-03-02T12", "2024-03-04T12"], dtype="datetime64[h]"))
    >>> profile.cycle.day_classes, usual.round()
    ((0, 0, 0, 0, 0, 1, 1), array([[1.],
           [5.]]))
    """

    center: NDArray[np.float64]
    spread: NDArray[np.float64]
    cycle: Cycle

    @classmethod
    def fit(
        cls,
        values: NDArray[np.floating[Any]],
        times: NDArray[np.datetime64] | None,
        *,
        day_classes: Sequence[int] | None = None,
        holidays: Sequence[Any] = (),
    ) -> Profile:
        """Compute the profile of readings [t, n] at times [t] (local time), NaN where a reading is missing.

        Parameters
        ----------
        values, times
            the readings and their times; without times there is one row
        day_classes
            [7], the class of each day of the week; by default the simplest division that predicts other weeks of
            these data not clearly worse than the best
        holidays
            days that count as a Sunday
        """
        mean, scale = _mean_and_scale(values)
        normal = (values - mean) / scale
        cycle = _choose_cycle(normal, times, day_classes, as_days(holidays))
        if cycle.length == 1 or times is None:
            return cls(mean[None], scale[None], cycle)
        center, spread = _tables(normal, cycle.rows[cycle.positions(times)], cycle)
        return cls(mean + scale * center, scale * spread, cycle)

    def rows_of(self, times: NDArray[np.datetime64] | None, shape: tuple[int, ...] = ()) -> NDArray[np.int64]:
        """Return the row of each time, of the shape of `times`; zeros of a given shape without times."""
        if self.cycle.length == 1 or times is None:
            return np.zeros(shape if times is None else times.shape, dtype=np.int64)
        return self.cycle.rows[self.cycle.positions(times)]

    def usual(self, times: NDArray[np.datetime64]) -> NDArray[np.float64]:
        """Return the usual value of each variable at each time, [..., n]."""
        return self.center[self.rows_of(times)]


def _choose_cycle(
    normal: NDArray[np.floating[Any]],
    times: NDArray[np.datetime64] | None,
    day_classes: Sequence[int] | None,
    holidays: NDArray[np.datetime64],
) -> Cycle:
    """Return the cycle that the readings follow."""
    slots = slots_a_day(times)
    if times is None or not (slots > 1 or _is_daily(times)):
        return Cycle()
    if day_classes is not None:
        return Cycle(slots, tuple(day_classes), holidays=holidays)
    if slots == 1 and yearly_is_clear(normal, times):
        return Cycle(weekly=True, yearly=True, holidays=holidays)
    return choose_day_classes(normal, times, Cycle(slots, holidays=holidays))


def choose_day_classes(normal: NDArray[np.floating[Any]], times: NDArray[np.datetime64], cycle: Cycle) -> Cycle:
    """Return the cycle with the simplest division of days that predicts other weeks not clearly worse than the best.

    The profile of the even weeks predicts the odd weeks and the other way round; a division is clearly worse if the
    mean difference of its absolute errors by week exceeds one standard error.
    """
    week = _weeks(times)
    if len(np.unique(week)) < _LEAST_WEEKS:
        return cycle
    cycles = [Cycle(cycle.slots, classes, weekly=True, holidays=cycle.holidays) for classes in DAY_CLASSES.values()]
    errors = [_errors_by_week(normal, times, each, week, week % 2) for each in cycles]
    if len(errors[0]) < _LEAST_WEEKS:  # the other weeks have no reading
        return cycles[0]
    best = min(errors, key=lambda by_week: float(by_week.mean()))
    for each, by_week in zip(cycles, errors, strict=True):
        losses = by_week - best
        if losses.mean() <= losses.std(ddof=1) / np.sqrt(len(losses)) + _NEGLIGIBLE:
            return each
    return cycles[0]


def yearly_is_clear(normal: NDArray[np.floating[Any]], times: NDArray[np.datetime64]) -> bool:
    """Return whether the days of the year clearly predict the other years, in the even and in the odd years alike."""
    first = times[0].astype("datetime64[D]")
    year = np.asarray((times - first) / _DAY / 365.2425).astype(np.int64)
    if not spans_two_years(times):
        return False
    gains, week = [], _weeks(times)
    for parity in (0, 1):
        plain, yearly = (
            _errors_by_week(normal, times, cycle, week, year % 2, only=year % 2 == parity)
            for cycle in (Cycle(), Cycle(yearly=True))
        )
        gains.append(1 - yearly.mean() / plain.mean() if len(plain) and plain.mean() > _NEGLIGIBLE else 0.0)
    return min(gains) >= _CLEAR_GAIN


def _is_daily(times: NDArray[np.datetime64]) -> bool:
    """Return whether the steps are a day long."""
    return times.size > 2 and round(float(np.median(np.diff(times) / _DAY)), 3) == 1


def _weeks(times: NDArray[np.datetime64]) -> NDArray[np.int64]:
    """Return the number of the week of each time, from Monday."""
    return np.asarray((times.astype("datetime64[D]").astype(np.int64) + 3) // 7)


def _errors_by_week(
    normal: NDArray[np.floating[Any]],
    times: NDArray[np.datetime64],
    cycle: Cycle,
    week: NDArray[np.int64],
    fold: NDArray[np.int64],
    only: NDArray[np.bool_] | None = None,
) -> NDArray[np.float64]:
    """Return the mean absolute error of each week, each fold predicted by the profile of the other."""
    rows = cycle.rows[cycle.positions(times)]
    error = np.full(normal.shape, np.nan)
    for own in (fold == 0, fold == 1):
        center, _ = _tables(normal[~own], rows[~own], cycle)
        error[own] = np.abs(normal[own] - center[rows[own]])
    if only is not None:
        error[~only] = np.nan
    weeks, number = np.unique(week, return_inverse=True)
    known = ~np.isnan(error)
    total = np.bincount(number, weights=np.where(known, error, 0).sum(axis=1), minlength=len(weeks))
    count = np.bincount(number, weights=known.sum(axis=1), minlength=len(weeks))
    return np.asarray((total / np.maximum(count, 1))[count > 0])


def _tables(
    normal: NDArray[np.floating[Any]], rows: NDArray[np.int64], cycle: Cycle
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return mean and (floored) deviation of each variable in each row, smoothed over nearby rows, [k, n] each."""

    def sums(values: NDArray[np.float64]) -> NDArray[np.float64]:
        total = np.zeros((cycle.n_rows, values.shape[1]))
        np.add.at(total, rows, values)
        return _smooth(total, cycle)

    known = ~np.isnan(normal)
    count, total = sums(known.astype(np.float64)), sums(np.where(known, normal, 0.0))
    mean = np.divide(total, count, out=np.zeros_like(total), where=count > 0)
    residual = np.where(known, normal - mean[rows], 0.0) ** 2  # [t, n]
    deviation = np.sqrt(np.divide(sums(residual), count, out=np.zeros_like(total), where=count > 0))
    overall = np.sqrt(residual.sum(axis=0) / np.maximum(known.sum(axis=0), 1))  # [n]
    return mean, np.maximum(deviation, np.where(overall > 0, _FLOOR * overall, 1.0))


def _smooth(table: NDArray[np.float64], cycle: Cycle) -> NDArray[np.float64]:
    """Return the sum over each row and the rows within a quarter of an hour (or 15 days) of it, around the cycle."""
    around = cycle.n_rows if cycle.yearly else cycle.slots
    reach = _DAYS_NEAR if cycle.yearly else min(round(_HALF_WIDTH * around), (around - 1) // 2)
    by_class = table.reshape(-1, around, table.shape[1])
    shifted = [np.roll(by_class, shift, axis=1) for shift in range(-reach, reach + 1)]
    return np.asarray(np.sum(shifted, axis=0).reshape(table.shape))


def _mean_and_scale(values: NDArray[np.floating[Any]]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return mean and deviation of each variable, [n] each; 0 and 1 where there is no reading or no variation."""
    known = ~np.isnan(values)
    count = np.maximum(known.sum(axis=0), 1)
    mean = np.where(known, values, 0.0).sum(axis=0, dtype=np.float64) / count
    squares = np.where(known, (values - mean) ** 2, 0.0).sum(axis=0, dtype=np.float64) / count
    return mean, np.where(squares > 0, np.sqrt(squares), 1.0)


__all__ = ["DAY_CLASSES", "SAME_DAYS", "Profile", "choose_day_classes", "yearly_is_clear"]
