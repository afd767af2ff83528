"""Learn the limits of each variable from training readings: how far beyond them a reading is still possible.

A limit is not the largest reading of the training. A margin is added, and it is the widest of these:

- half of the range, and more if training saw few swings from one end of the range to the other: a variable that drifts
  (an exchange rate) or was seen for one season only will leave the range it had;
- three times the step from the second largest to the largest of the maxima of the four quarters of the training, that
  is, how far one quarter would have surprised the others;
- the level that an extrapolated tail (a generalized Pareto distribution, fitted to the largest readings by
  probability-weighted moments) exceeds once in many times the length of the training: rain and dust have heavy tails;
- for a variable that was never negative, half of the way from its usual to its highest reading on a scale of factors;
- a share of the variable's usual level, and a few steps of its resolution, for variables that hardly ever change.

A variable that was never negative may fall to zero at once (a pump stops). If it was close to zero all along, readings
below zero are impossible; otherwise readings are impossible that look like usual ones with the wrong sign.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from subcast.limits import Limits, is_missing_code

Column = NDArray[np.float64]

_FEWEST = 5  # readings without which nothing is known about a range
_MARGIN = 0.5  # of the range
_FEW_SWINGS = (4.0, 6.0)  # more ranges: this over the number of swings, and this over its square
_QUARTERS = 4
_SURPRISE = 3.0
_WIDEST = 10.0  # ranges
_LEVEL_SHARE = 0.05  # of the usual level: least margin
_FEW_VALUES, _RESOLUTIONS = (
    30,
    10,
)  # a variable with so few different values gets at least so many of its smallest steps
_TAIL_SHARE, _TAIL_FEWEST = 0.02, 20  # readings of the tail
_RETURN = 300  # the level is exceeded once in this many times the training
_HEAVIEST = 0.7  # shape of the tail
_TAIL_WIDEST = 8.0  # lengths of the tail seen in training
_NEAR_ZERO, _PARTS, _ENOUGH = 0.1, 8, 20  # a bound at zero: this near, in each of so many parts, in so many swings
_STOPS = 0.1  # of the usual level: a variable with a wider range than this may stop altogether
_CHANGE_MARGIN, _FEW_CHANGES = 1.0, 2.0
_CONSTANT = 100.0  # times the level of a constant variable
_STRAY_SHARE, _STRAY_GAP, _STRAY_SWINGS = 1e-4, 10.0, 20


def learn_limits(values: NDArray[np.floating], variables: tuple[str, ...]) -> Limits:
    """Return the limits of variables from their training readings [t, n], NaN where one is missing.

    Examples
    --------
    >>> hours = np.arange(24 * 60)
    >>> noise = np.random.default_rng(0).normal(size=hours.size)
    >>> temperature = 20 + 8 * np.sin(2 * np.pi * hours / 24) + noise
    >>> limits = learn_limits(temperature[:, None], ("temperature",))
    >>> bool(limits.low[0] < 5), bool(40 < limits.high[0] < 50)  # a heat wave is possible, 68 (Fahrenheit) is not
    (True, True)
    """
    n = values.shape[1]
    low, high, change, seen_low, seen_high = (np.empty(n, dtype=np.float32) for _ in range(5))
    gap = np.empty(n, dtype=np.int64)
    for column in range(n):
        series = _without_strays(values[:, column].astype(np.float64))
        readings = series[~np.isnan(series)]
        low[column], high[column] = _range_of(readings)
        change[column] = _change_of(series, readings)
        gap[column] = longest_gap(np.isnan(series))
        seen = (readings.min(), readings.max()) if readings.size else (np.nan, np.nan)
        seen_low[column], seen_high[column] = seen
    return Limits(variables, low, high, change, gap, seen_low, seen_high)


def longest_gap(missing: NDArray[np.bool_]) -> int:
    """Return the largest number of missing steps between two readings.

    >>> longest_gap(np.array([True, False, True, True, False, True, True, True]))
    2
    """
    readings = np.flatnonzero(~missing)
    return int(np.max(np.diff(readings), initial=1)) - 1


def _without_strays(series: Column) -> Column:
    """Return a series without readings that are codes for missing ones, or very far from all the others."""
    codes = is_missing_code(series)
    others = series[~np.isnan(series) & ~codes]
    stray = np.zeros(series.shape, dtype=np.bool_)
    if codes.any() and others.size >= _FEWEST:
        width = np.ptp(others)
        stray = codes & ((series < others.min() - width) | (series > others.max() + width))
    kept = series[~np.isnan(series) & ~stray]
    stray |= (series > _stray_level(kept)) | (series < -_stray_level(-kept))
    return np.where(stray, np.nan, series) if stray.any() else series


def _stray_level(readings: Column) -> float:
    """Return the level above which the few largest readings are many ranges away from all the others."""
    if readings.size < 10 * _STRAY_SWINGS:
        return float(np.inf)
    most = max(1, int(_STRAY_SHARE * readings.size))
    ordered = np.sort(readings)
    for count in range(1, most + 1):
        rest = ordered[:-count]
        width = rest[-1] - rest[0]
        if (
            ordered[-count] - rest[-1] > _STRAY_GAP * width > 0
            and _swings(readings[readings <= rest[-1]]) > _STRAY_SWINGS
        ):
            return float(rest[-1])
    return float(np.inf)


# Range


def _range_of(readings: Column) -> tuple[float, float]:
    """Return the lowest and the highest possible reading."""
    if readings.size < _FEWEST:
        return -np.inf, np.inf
    lowest, highest = readings.min(), readings.max()
    if lowest == highest:
        width = _CONSTANT * abs(lowest) if lowest else np.inf  # one that was always 0 may not have begun yet
        return lowest - width, highest + width
    least = _least_margin(readings)
    low = lowest - max(least, _margin(-readings))
    high = highest + max(least, _margin(readings))
    if may_stop(readings):
        high = max(high, _highest_by_factor(readings))
    changes = np.diff(readings)
    if (changes >= 0).all():  # a counter
        low, high = max(low, 0.0) if lowest >= 0 else low, np.inf
    elif (changes <= 0).all():
        low = -np.inf
    return _bounded_at_zero(readings, low), -_bounded_at_zero(-readings, -high)


def _margin(readings: Column) -> float:
    """Return how far above the largest reading another one is possible."""
    width = float(np.ptp(readings))
    swings = max(_swings(readings), _visits(readings), 1)
    few = _FEW_SWINGS[0] / swings + _FEW_SWINGS[1] / swings**2
    return min(max((_MARGIN + few) * width, _SURPRISE * _surprise(readings), _tail(readings)), _WIDEST * width)


def _highest_by_factor(readings: Column) -> float:
    """Return the highest possible reading on a scale of factors: half as far again as from the usual to the highest."""
    highest = float(readings.max())
    factor = float(np.sqrt(highest / np.median(readings[readings > 0])))
    return min(factor * highest, (1 + _WIDEST) * highest)


def _least_margin(readings: Column) -> float:
    distinct = np.unique(readings)
    resolution = float(np.diff(distinct).min()) if distinct.size <= _FEW_VALUES else 0.0
    return max(_LEVEL_SHARE * abs(float(np.median(readings))), _RESOLUTIONS * resolution)


def _bounded_at_zero(readings: Column, low: float) -> float:
    """Return the lowest possible reading of a variable that was never negative and may stop; `low` for any other."""
    if not may_stop(readings):
        return low
    low = min(low, 0.0)
    if _swings(readings) < _ENOUGH:
        return low
    width = np.ptp(readings)
    if all(part.min() <= _NEAR_ZERO * width for part in np.array_split(readings, _PARTS)):
        return max(low, -0.1 * float(np.median(readings[readings > 0])))
    return max(low, -float(np.quantile(readings, 0.25)))


def may_stop(readings: Column) -> bool:
    """Return whether a variable may fall to zero at once: never negative, and not close to one level all the time.

    >>> may_stop(np.array([50.0, 60.0, 70.0])), may_stop(np.array([1010.0, 1013.0])), may_stop(np.array([-1.0, 9.0]))
    (True, False, False)
    """
    return bool(readings.min() >= 0 and np.ptp(readings) >= _STOPS * np.median(readings))


# What the margins are made of


def _swings(readings: Column) -> int:
    """Return how many times a variable rose from its lower to its upper quartile."""
    low, high = np.quantile(readings, [0.25, 0.75])
    if high <= low:  # most readings are equal: count the events
        above = readings[readings > low]
        if not above.size:
            return 0
        high = above.min()
    return _rises(readings, low, high)


def _visits(readings: Column) -> int:
    """Return how many times a variable came to the top of its range."""
    highest, width = readings.max(), np.ptp(readings)
    return _rises(readings, highest - 0.25 * width, highest - 0.1 * width)


def _rises(readings: Column, low: float, high: float) -> int:
    """Return how many times readings rose from `low` or less to `high` or more."""
    ends = np.where(readings >= high, 1, np.where(readings <= low, -1, 0))
    ends = ends[ends != 0]
    return int(np.count_nonzero(np.diff(ends) == 2))


def _surprise(readings: Column) -> float:
    """Return how far the quarter of the training with the largest reading exceeds the other quarters."""
    maxima = np.sort([part.max() for part in np.array_split(readings, _QUARTERS)])
    return float(maxima[-1] - maxima[-2])


def _tail(readings: Column) -> float:
    """Return how far the extrapolated tail goes above the largest reading."""
    count = max(_TAIL_FEWEST, int(_TAIL_SHARE * readings.size))
    if readings.size < 5 * _TAIL_FEWEST:
        return 0.0
    threshold = np.partition(readings, readings.size - count - 1)[readings.size - count - 1]
    excess = np.sort(readings[readings > threshold] - threshold)
    if excess.size < _TAIL_FEWEST / 2:
        return 0.0
    mean = float(excess.mean())
    ranks = (np.arange(1, excess.size + 1) - 0.35) / excess.size
    weighted = float(((1 - ranks) * excess).mean())
    if mean <= 2 * weighted:
        return 0.0
    shape = 2 - mean / (mean - 2 * weighted)
    exceedances = _RETURN * excess.size
    if shape <= 0:
        level = mean * float(np.log(exceedances))
    else:
        shape = min(shape + excess.size**-0.5, _HEAVIEST)  # a tail looks lighter than it is as often as heavier
        level = mean * (1 - shape) / shape * (exceedances**shape - 1)
    length = float(readings.max() - threshold)
    return min(max(level - length, 0.0), _TAIL_WIDEST * length)


# Change


def _change_of(series: Column, readings: Column) -> float:
    """Return the largest possible change from one step to the next."""
    changes = np.abs(np.diff(series))
    changes = changes[~np.isnan(changes)]
    if changes.size < _FEWEST or changes.max() == 0:
        return np.inf
    largest = float(changes.max())
    ends = _visits(np.append(changes, 0.0))
    margin = (_CHANGE_MARGIN + _FEW_CHANGES / (1 + ends)) * largest
    margin = min(max(margin, _SURPRISE * _surprise(changes), _tail(changes)), _WIDEST * largest)
    stop = float(np.abs(readings).max()) if may_stop(readings) or may_stop(-readings) else 0.0
    return max(largest + margin, stop)
