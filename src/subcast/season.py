"""The season: what the time of the year adds to the usual value of each variable, for steps shorter than a day."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subcast.cycle import WEEKS_OF_A_YEAR, Cycle

_HARMONICS = 2  # waves of the day whose size follows the year
_FORMS = (1, 3, 3 + 4 * _HARMONICS)  # columns: a constant; the wave of the year; and waves of the day that follow it
COLUMNS = _FORMS[-1]
_CLEAR_GAIN = 0.02  # share of the squared error by which a form must reduce that of the simpler one in either half
_STANDARD_ERRORS = 1.5  # over months, by which the mean reduction must exceed 0: what lasts for weeks may look alike
_MONTH = 30  # days
_DAY = np.timedelta64(1, "D")
_YEAR = 365.2425
_RIDGE = 1e-6


class _Half(NamedTuple):
    """What the daily profile leaves in one half of the years, and its counts and sums."""

    left: NDArray[np.floating[Any]]  # [t, n], NaN where there is none
    cells: NDArray[np.int64]  # [t], slots of the weeks of the year
    months: list[slice]  # of the steps
    counts: NDArray[np.float64]  # [cells, n]
    totals: NDArray[np.float64]  # [cells, n]


def season_columns(slots: int) -> NDArray[np.float64]:
    """Return what is known of each slot of each week of the year, [weeks * slots, columns].

    Weeks are counted from 1 January. The season is constant within a week, and steps to the next one at midnight.

    The first column is 1, the next two are the wave of the year; then follow the waves of the day, each times both.

    >>> season_columns(24).shape
    (1272, 11)
    """
    week, slot = np.divmod(np.arange(WEEKS_OF_A_YEAR * slots), slots)
    angle = 2 * np.pi * (7 * week + 3.5) / _YEAR
    year = [np.sin(angle), np.cos(angle)]
    day = [wave(2 * np.pi * number * slot / slots) for number in range(1, _HARMONICS + 1) for wave in (np.sin, np.cos)]
    return np.stack([np.ones_like(angle), *year, *(hour * wave for hour in day for wave in year)], axis=1)


def fit_season(left: NDArray[np.float64], times: NDArray[np.datetime64], cycle: Cycle) -> NDArray[np.float32]:
    """Return the season of each variable as coefficients of `season_columns`, [columns, n]; 0 for one without a season.

    A variable has the wave of the year if what the odd years say of it reduces the squared error of the even years, and
    the other way round: by 2 %, and clearly so over the months. It has waves of the day that follow the year if these
    do so once more. The times must span two years.

    Parameters
    ----------
    left
        [t, n], readings less their usual value at that time of day, NaN where there is none
    times
        [t], local times
    cycle
        the seasonal cycle
    """
    day = ((times - times[0]) / _DAY).astype(np.int64)
    year = (day / _YEAR).astype(np.int64)
    cells = cycle.slot_of_year(cycle.positions(times))
    halves = [_half(left[own], cells[own], day[own] // _MONTH, cycle.slots) for own in (year % 2 == 0, year % 2 == 1)]
    columns = season_columns(cycle.slots)
    form = _forms(halves, columns)
    coefficients = np.zeros((COLUMNS, left.shape[1]))
    counts, totals = (sum(getattr(half, name) for half in halves) for name in ("counts", "totals"))
    for number in range(1, len(_FORMS)):
        own = form == number
        coefficients[: _FORMS[number], own] = _solve(counts, totals, columns[:, : _FORMS[number]])[:, own]
    return coefficients.astype(np.float32)


def _forms(halves: list[_Half], columns: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the form of each variable, [n]: the last that is clearly better than the one before in both halves."""
    clear = []
    for own, other in (halves, halves[::-1]):
        seasons = [columns[:, :count] @ _solve(other.counts, other.totals, columns[:, :count]) for count in _FORMS]
        errors = np.array([_errors_by_month(own, season) for season in seasons])  # [forms, months, n]
        fell, before = errors[:-1] - errors[1:], errors[:-1].sum(axis=1)
        doubt = fell.std(axis=1, ddof=1) / np.sqrt(fell.shape[1]) if fell.shape[1] > 1 else np.inf
        clear.append((fell.sum(axis=1) >= _CLEAR_GAIN * before) & (fell.mean(axis=1) > _STANDARD_ERRORS * doubt))
    return np.asarray(np.cumprod(clear[0] & clear[1], axis=0).sum(axis=0))


def _half(left: NDArray[Any], cells: NDArray[np.int64], month: NDArray[np.int64], slots: int) -> _Half:
    """Return a half with counts and sums of the steps in each slot of each week of the year."""
    known = ~np.isnan(left)
    counts, totals = np.zeros((2, WEEKS_OF_A_YEAR * slots, left.shape[1]))
    np.add.at(counts, cells, known)
    np.add.at(totals, cells, np.where(known, left, 0.0))
    starts = np.flatnonzero(np.diff(month, prepend=-1))
    months = [slice(first, end) for first, end in zip(starts, [*starts[1:], len(month)], strict=True)]
    return _Half(left, cells, months, counts, totals)


def _errors_by_month(half: _Half, season: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sums of the squared errors of a season [cells, n] in each month, [months, n]."""
    return np.array([np.nansum((half.left[steps] - season[half.cells[steps]]) ** 2, axis=0) for steps in half.months])


def _solve(
    counts: NDArray[np.float64], totals: NDArray[np.float64], columns: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the least squares coefficients of some columns, [columns, n]."""
    width, n = columns.shape[1], counts.shape[1]
    pairs = (columns[:, :, None] * columns[:, None, :]).reshape(len(columns), -1)
    gram = (counts.T @ pairs).reshape(n, width, width)
    gram[:, np.arange(width), np.arange(width)] += _RIDGE * np.maximum(counts.sum(axis=0), 1.0)[:, None]
    right = (columns.T @ totals).T  # [n, columns]
    return np.asarray(np.linalg.solve(gram, right[:, :, None])[:, :, 0].T)
