"""The usual value of each variable at each time of day, for the classes of days that the data tell apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subcast.calendar import day_of_week, slot_of_day, slots_a_day

DAY_CLASSES: dict[str, tuple[int, ...]] = {
    "all days": (0, 0, 0, 0, 0, 0, 0),
    "weekdays, weekend": (0, 0, 0, 0, 0, 1, 1),
    "weekdays, Saturday, Sunday": (0, 0, 0, 0, 0, 1, 2),
    "each day of the week": (0, 1, 2, 3, 4, 5, 6),
}
"""The class of each day from Monday to Sunday, the simplest division first."""

_HALF_WIDTH = 15 / 1440  # half width of the smoothing, as a share of a day
_FLOOR = 0.3  # the spread at any slot is at least this share of the variable's overall spread
_LEAST_WEEKS = 4  # weeks of data that are needed to tell days apart
_SUNDAY = 6


@dataclass(frozen=True, eq=False)
class Profile:
    """Center and spread of each variable by class of day and slot of the day.

    Parameters
    ----------
    center, spread
        [classes * slots, n], in raw units; one row without times
    day_classes
        [7], the class of each day from Monday to Sunday
    slots
        slots of a day, 1 without times
    holidays
        [d], days that count as a Sunday

    Examples
    --------
    >>> times = np.datetime64("2024-01-01") + np.arange(24 * 7 * 6) * np.timedelta64(1, "h")
    >>> weekend = day_of_week(times) > 0.7
    >>> values = np.where(weekend, 1.0, 5.0)[:, None] + np.random.default_rng(0).normal(size=(len(times), 1)) / 9
    >>> profile = Profile.fit(values, times)
    >>> profile.day_classes, profile.usual(np.array(["2024-03-02T12", "2024-03-04T12"], dtype="datetime64[h]")).round()
    ((0, 0, 0, 0, 0, 1, 1), array([[1.],
           [5.]]))
    """

    center: NDArray[np.float64]
    spread: NDArray[np.float64]
    day_classes: tuple[int, ...]
    slots: int
    holidays: NDArray[np.datetime64]

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
        days = np.asarray(holidays, dtype="datetime64[D]")
        slots = slots_a_day(times)
        if slots == 1 or times is None:
            return cls(mean[None], scale[None], DAY_CLASSES["all days"], 1, days)
        normal = (values - mean) / scale
        steps = _Steps.of(times, slots, days)
        classes = tuple(day_classes) if day_classes is not None else choose_day_classes(normal, steps)
        center, spread = _tables(normal, steps.rows(classes), slots, max(classes) + 1)
        return cls(mean + scale * center, scale * spread, classes, slots, days)

    def rows_of(self, times: NDArray[np.datetime64] | None, shape: tuple[int, ...] = ()) -> NDArray[np.int64]:
        """Return the row of each time, of the shape of `times`; zeros of a given shape without times."""
        if self.slots == 1 or times is None:
            return np.zeros(shape if times is None else times.shape, dtype=np.int64)
        return _Steps.of(times, self.slots, self.holidays).rows(self.day_classes)

    def usual(self, times: NDArray[np.datetime64]) -> NDArray[np.float64]:
        """Return the usual value of each variable at each time, [..., n]."""
        return self.center[self.rows_of(times)]


@dataclass(frozen=True, eq=False)
class _Steps:
    """Slot of the day, day of the week (0 is Monday, a holiday is 6) and week of each step."""

    slot: NDArray[np.int64]
    weekday: NDArray[np.int64]
    week: NDArray[np.int64]
    slots: int

    @classmethod
    def of(cls, times: NDArray[np.datetime64], slots: int, holidays: NDArray[np.datetime64]) -> _Steps:
        """Compute them from times; each time counts as the nearest slot, which may be midnight of the next day."""
        nearest = times + np.timedelta64(43_200_000_000_000 // slots, "ns")
        days = nearest.astype("datetime64[D]")
        weekday = np.rint(7 * day_of_week(nearest)).astype(np.int64)
        if holidays.size:
            weekday = np.where(np.isin(days, holidays), _SUNDAY, weekday)
        return cls(slot_of_day(times, slots), weekday, (days.astype(np.int64) + 3) // 7, slots)

    def rows(self, day_classes: Sequence[int]) -> NDArray[np.int64]:
        """Return the row of the profile of each step."""
        return np.asarray(day_classes)[self.weekday] * self.slots + self.slot


def choose_day_classes(normal: NDArray[np.floating[Any]], steps: _Steps) -> tuple[int, ...]:
    """Return the simplest division of days whose profile predicts other weeks not clearly worse than the best.

    The profile of the even weeks predicts the odd weeks and the other way round; a division is clearly worse if the
    mean difference of its absolute errors by week exceeds one standard error.
    """
    simplest = DAY_CLASSES["all days"]
    if len(np.unique(steps.week)) < _LEAST_WEEKS:
        return simplest
    errors = {classes: _errors_by_week(normal, steps, classes) for classes in DAY_CLASSES.values()}
    best = min(errors.values(), key=lambda by_week: float(by_week.mean()))
    for classes, by_week in errors.items():
        losses = by_week - best
        if losses.mean() <= losses.std(ddof=1) / np.sqrt(len(losses)):
            return classes
    return simplest


def _errors_by_week(
    normal: NDArray[np.floating[Any]], steps: _Steps, day_classes: tuple[int, ...]
) -> NDArray[np.float64]:
    """Return the mean absolute error of each week, predicted by the profile of the weeks of the other parity."""
    rows, classes = steps.rows(day_classes), max(day_classes) + 1
    error = np.full(normal.shape, np.nan)
    for parity in (0, 1):
        own = steps.week % 2 == parity
        center, _ = _tables(normal[~own], rows[~own], steps.slots, classes)
        error[own] = np.abs(normal[own] - center[rows[own]])
    weeks, number = np.unique(steps.week, return_inverse=True)
    known = ~np.isnan(error)
    total = np.bincount(number, weights=np.where(known, error, 0).sum(axis=1), minlength=len(weeks))
    count = np.bincount(number, weights=known.sum(axis=1), minlength=len(weeks))
    return np.asarray((total / np.maximum(count, 1))[count > 0])


def _tables(
    normal: NDArray[np.floating[Any]], rows: NDArray[np.int64], slots: int, classes: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return mean and (floored) deviation of each variable in each row, smoothed over nearby slots, [k, n] each."""

    def sums(values: NDArray[np.float64]) -> NDArray[np.float64]:
        total = np.zeros((classes * slots, values.shape[1]))
        np.add.at(total, rows, values)
        return _smooth(total, slots, classes)

    known = ~np.isnan(normal)
    count, total = sums(known.astype(np.float64)), sums(np.where(known, normal, 0.0))
    mean = np.divide(total, count, out=np.zeros_like(total), where=count > 0)
    residual = np.where(known, normal - mean[rows], 0.0) ** 2  # [t, n]
    deviation = np.sqrt(np.divide(sums(residual), count, out=np.zeros_like(total), where=count > 0))
    overall = np.sqrt(residual.sum(axis=0) / np.maximum(known.sum(axis=0), 1))  # [n]
    return mean, np.maximum(deviation, np.where(overall > 0, _FLOOR * overall, 1.0))


def _smooth(table: NDArray[np.float64], slots: int, classes: int) -> NDArray[np.float64]:
    """Return the sum over each slot and the slots within a quarter of an hour of it, also across midnight."""
    reach = min(round(_HALF_WIDTH * slots), (slots - 1) // 2)
    by_class = table.reshape(classes, slots, -1)
    shifted = [np.roll(by_class, shift, axis=1) for shift in range(-reach, reach + 1)]
    return np.asarray(np.sum(shifted, axis=0).reshape(table.shape))


def _mean_and_scale(values: NDArray[np.floating[Any]]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return mean and deviation of each variable, [n] each; 0 and 1 where there is no reading or no variation."""
    known = ~np.isnan(values)
    count = np.maximum(known.sum(axis=0), 1)
    mean = np.where(known, values, 0.0).sum(axis=0, dtype=np.float64) / count
    squares = np.where(known, (values - mean) ** 2, 0.0).sum(axis=0, dtype=np.float64) / count
    return mean, np.where(squares > 0, np.sqrt(squares), 1.0)
