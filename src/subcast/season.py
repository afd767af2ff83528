"""The season: what the time of the year adds to the usual value of each variable, for steps shorter than a day."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from subcast.cycle import WEEKS_OF_A_YEAR, Cycle

_HARMONICS = 2  # waves of the day whose size follows the year
_FORMS = (1, 3, 3 + 4 * _HARMONICS)  # columns: a constant; the wave of the year; and waves of the day that follow it
COLUMNS = _FORMS[-1]
_CLEAR_GAIN = 0.02  # share of the squared error by which a form must reduce that of the simpler one in either half
_DAY = np.timedelta64(1, "D")
_YEAR = 365.2425
_RIDGE = 1e-6


class _Sums(NamedTuple):
    """Counts, sums and squares of what the daily profile leaves, in one half of the years."""

    counts: NDArray[np.float64]  # [cells, n]
    totals: NDArray[np.float64]  # [cells, n]
    squares: NDArray[np.float64]  # [n]


def spans_two_years(times: NDArray[np.datetime64]) -> bool:
    """Return whether times in their order cover at least two years.

    >>> spans_two_years(np.array(["2020-01-01", "2022-01-01"], dtype="datetime64[D]"))
    True
    """
    return bool((times[-1] - times[0]) / _DAY >= 2 * _YEAR)


def season_columns(slots: int) -> NDArray[np.float64]:
    """Return what is known of each slot of each week of the year, [weeks * slots, columns].

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

    What a half of the years says must reduce the squared error of the other half, both ways round: by a wave of the
    year, and then by waves of the day that follow it. The times must span two years.

    Parameters
    ----------
    left
        [t, n], readings less their usual value at that time of day, NaN where there is none
    times
        [t], local times
    cycle
        the seasonal cycle
    """
    year = ((times - times[0]) / _DAY / _YEAR).astype(np.int64)
    cells = cycle.slot_of_year(cycle.positions(times))
    halves = [_sums(left[year % 2 == half], cells[year % 2 == half], cycle.slots) for half in (0, 1)]
    columns = season_columns(cycle.slots)
    form = _forms(halves, columns)
    coefficients = np.zeros((COLUMNS, left.shape[1]))
    everything = _Sums(*(first + second for first, second in zip(*halves, strict=True)))
    for number in range(1, len(_FORMS)):
        own = form == number
        coefficients[: _FORMS[number], own] = _solve(everything, columns[:, : _FORMS[number]])[:, own]
    return coefficients.astype(np.float32)


def _forms(halves: list[_Sums], columns: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the form of each variable, [n]: the last that is clearly better than the one before in both halves."""
    gains = []
    for own, other in (halves, halves[::-1]):
        errors = np.stack([_error(own, columns[:, :count] @ _solve(other, columns[:, :count])) for count in _FORMS])
        fell = errors[:-1] - errors[1:]
        gains.append(np.divide(fell, errors[:-1], out=np.zeros_like(fell), where=errors[:-1] > 0))
    better = np.minimum(*gains) >= _CLEAR_GAIN  # [forms - 1, n]
    return np.asarray(np.cumprod(better, axis=0).sum(axis=0))


def _sums(left: NDArray[np.float64], cells: NDArray[np.int64], slots: int) -> _Sums:
    """Return counts, sums and squares of the steps in each slot of each week of the year."""
    known = ~np.isnan(left)
    values = np.where(known, left, 0.0)
    counts, totals = np.zeros((2, WEEKS_OF_A_YEAR * slots, left.shape[1]))
    np.add.at(counts, cells, known)
    np.add.at(totals, cells, values)
    return _Sums(counts, totals, (values**2).sum(axis=0))


def _solve(sums: _Sums, columns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the least squares coefficients of some columns, [columns, n]."""
    width, n = columns.shape[1], sums.counts.shape[1]
    pairs = (columns[:, :, None] * columns[:, None, :]).reshape(len(columns), -1)
    gram = (sums.counts.T @ pairs).reshape(n, width, width)
    gram[:, np.arange(width), np.arange(width)] += _RIDGE * np.maximum(sums.counts.sum(axis=0), 1.0)[:, None]
    right = (columns.T @ sums.totals).T  # [n, columns]
    return np.asarray(np.linalg.solve(gram, right[:, :, None])[:, :, 0].T)


def _error(sums: _Sums, season: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sum of the squared errors of a season [cells, n], [n]."""
    return np.asarray(sums.squares - (2 * season * sums.totals - season**2 * sums.counts).sum(axis=0))
