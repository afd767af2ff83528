"""Learn the limits of each sensor from its training readings: how far its numbers went on all days but the strangest.

The training is replayed, the largest value of every number is noted for each day, and the limit is the largest of
these days, times a margin. Days that stand apart from all the others are left out: a sensor that was stuck for a week
of the training does not get the right to be stuck for a week.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from subcast.screening.rules import Rules
from subcast.screening.signals import Floats, Habits, Mask, Scales, Signals, Whole
from subcast.screening.virtual import VirtualSensors

CLIP = 8.0
"""Deviations from the usual value, in spreads, beyond this count as this in what they say about other sensors."""

_MARGIN = 1.15  # over the largest value of the training
_APART = 1.3  # ratio to the next smaller day from which days stand apart
_FEW_DAYS = 0.04  # of the days may stand apart
_SUSPECT = 0.98  # quantile of the days' largest values from which a number is suspect
_LEAST_DIFFERENCE = 0.5  # spreads: smaller differences cost little
_LEAST_LEVEL = 0.25
_REST_SHARE = 0.05  # of the readings are equal to the value at which a sensor rests
_ASLEEP, _AWAKE = 0.95, 0.5  # share of readings at rest when a sensor sleeps, and when it is awake
_RUN_MARGIN, _RUN_APART = 1.5, 2.0
_LEAST_RUN, _LEAST_GAP = 2, 2
_NONE = 1e30  # a limit that nothing exceeds


class Training(NamedTuple):
    """The training readings of a screener.

    Attributes
    ----------
    readings
        [t, n] in raw units, NaN where there is none
    deviations
        [t, n] from the usual values, in normalized units
    rows
        [t], the row of the profile of each step
    n_rows
        number of rows
    slots
        steps of a day; 1 if they are not known
    unit
        [n], the spread of each sensor in raw units
    """

    readings: Floats
    deviations: Floats
    rows: Whole
    n_rows: int
    slots: int
    unit: Floats


def learn_rules(training: Training, virtual: VirtualSensors) -> Rules:
    """Return the limits that the training suggests."""
    rest, sleepy = _rests(training)
    asleep = sleepy[training.rows] & (training.readings == rest)
    differences = all_differences(training.deviations, virtual)
    differences[asleep] = np.nan
    scales = Scales.of(training.slots)
    memory = _memory(differences)
    changes = differences[1:] - memory * differences[:-1]
    changes = np.concatenate([np.full((1, changes.shape[1]), np.nan), changes])
    days = np.arange(len(differences)) // scales.day
    by_day = np.stack([_daily(each, days) for each in (differences, -differences, changes, -changes)])  # [4, d, n]
    instant = np.stack([np.maximum(_MARGIN * _largest(each), _LEAST_DIFFERENCE) for each in by_day])
    habits = Habits(
        memory,
        -instant[1] / _MARGIN,
        instant[0] / _MARGIN,
        np.maximum(instant[2], instant[3]) / _MARGIN,
        _mean(np.abs(differences)),
        np.sqrt(_mean(changes**2)),
        _mean(np.where(asleep[1:], np.nan, np.abs(np.diff(training.readings, axis=0))) / training.unit),
        training.unit,
    )
    lasting, lasting_suspect = _lasting_limits(training.readings, differences, asleep, habits, scales, days)
    run, rest_run = _longest_runs(training.readings, rest, asleep)
    return Rules(
        habits,
        scales,
        instant,
        np.stack([np.maximum(_quantile(each), _LEAST_DIFFERENCE) for each in by_day]),
        lasting,
        lasting_suspect,
        rest,
        sleepy,
        run,
        rest_run,
        _longest_gaps(training.readings, scales),
    )


def all_differences(deviations: Floats, virtual: VirtualSensors) -> Floats:
    """Return the differences of all steps [t, n]; all sensors with a reading are trusted."""
    known = ~np.isnan(deviations)
    clipped = np.clip(deviations, -CLIP, CLIP)
    result = np.full(deviations.shape, np.nan)
    _, group = np.unique(np.packbits(known, axis=1), axis=0, return_inverse=True)
    order = np.argsort(group.ravel(), kind="stable")
    for steps in np.split(order, np.cumsum(np.bincount(group.ravel()))[:-1]):
        mask = known[steps[0]]
        if mask.any():
            result[steps] = virtual.differences(clipped[steps], mask)
    return result


def _memory(differences: Floats) -> Floats:
    """Return the correlation of each sensor's difference with the one a step before, from 0 to 0.99."""
    both = ~np.isnan(differences[1:]) & ~np.isnan(differences[:-1])
    now, before = (np.where(both, part, 0.0) for part in (differences[1:], differences[:-1]))
    product, square = (now * before).sum(axis=0), (before * before).sum(axis=0)
    return np.clip(np.divide(product, square, out=np.zeros_like(square), where=square > 0), 0.0, 0.99)


def _lasting_limits(
    readings: Floats, differences: Floats, asleep: Mask, habits: Habits, scales: Scales, days: Whole
) -> tuple[Floats, Floats]:
    """Return the limits and the suspect limits of the lasting numbers, by replaying the training."""
    signals = Signals(habits, scales)
    nobody = np.zeros(readings.shape[1], dtype=bool)
    largest: list[Floats] = []
    day = -1
    for step in range(len(readings)):
        signals.advance(readings[step], differences[step], asleep[step], nobody)
        signals.believe(differences[step], ~nobody)
        numbers = signals.lasting()
        if days[step] != day:
            day = days[step]
            largest.append(numbers)
        else:
            largest[-1] = np.maximum(largest[-1], numbers)
    by_day = np.stack(largest, axis=1)  # [10, d, n]
    least = np.array([_LEAST_LEVEL] * 8 + [_LEAST_LEVEL, 0.0])[:, None]
    return (
        np.maximum(_MARGIN * np.stack([_largest(each) for each in by_day]), least),
        np.maximum(np.stack([_quantile(each) for each in by_day]), least),
    )


def _daily(numbers: Floats, days: Whole) -> Floats:
    """Return the largest number of each day, [d, n]; NaN for a day without one."""
    first = np.flatnonzero(np.diff(days, prepend=-1))
    return np.fmax.reduceat(numbers, first, axis=0)


def _largest(by_day: Floats) -> Floats:
    """Return the largest of the days' values [d, n] of each sensor, without days that stand apart; large if none."""
    limits = np.full(by_day.shape[1], _NONE)
    for sensor in range(by_day.shape[1]):
        values = np.sort(by_day[~np.isnan(by_day[:, sensor]), sensor])
        if values.size:
            limits[sensor] = values[_last_usual(values, _APART, int(_FEW_DAYS * values.size))]
    return limits


def _last_usual(ordered: Floats, apart: float, few: int) -> int:
    """Return the place of the largest value that does not stand apart, of values in increasing order."""
    for place in range(max(len(ordered) - few, 1), len(ordered)):
        if ordered[place] > apart * max(ordered[place - 1], 0.0) and ordered[place] > 0:
            return place - 1
    return len(ordered) - 1


def _quantile(by_day: Floats) -> Floats:
    """Return the value that only strange days exceed, for each sensor; large if there is none."""
    known = ~np.isnan(by_day)
    filled = np.where(known, by_day, -np.inf)
    count = known.sum(axis=0)
    place = len(by_day) - count + np.floor(_SUSPECT * np.maximum(count - 1, 0)).astype(np.int64)
    ordered = np.sort(filled, axis=0)
    return np.where(count > 0, np.take_along_axis(ordered, np.minimum(place, len(by_day) - 1)[None], axis=0)[0], _NONE)


def _mean(values: Floats) -> Floats:
    """Return the mean of each sensor's known values; 0 if there is none."""
    known = ~np.isnan(values)
    total = np.where(known, values, 0.0).sum(axis=0)
    return np.asarray(total / np.maximum(known.sum(axis=0), 1))


# Rest, runs and gaps


def _rests(training: Training) -> tuple[Floats, Mask]:
    """Return the reading at which each sensor rests [n], and when it sleeps [rows, n]."""
    n = training.readings.shape[1]
    rest, sleepy = np.full(n, np.nan), np.zeros((training.n_rows, n), dtype=bool)
    for sensor in range(n):
        readings = training.readings[:, sensor]
        known = ~np.isnan(readings)
        values, counts = np.unique(readings[known], return_counts=True)
        if not values.size or counts.max() < _REST_SHARE * known.sum():
            continue
        rest[sensor] = values[counts.argmax()]
        total = np.bincount(training.rows[known], minlength=training.n_rows)
        at_rest = np.bincount(training.rows[known & (readings == rest[sensor])], minlength=training.n_rows)
        share = at_rest / np.maximum(total, 1)
        if (share[total > 0] < _AWAKE).any():
            sleepy[:, sensor] = share >= _ASLEEP
    return rest, sleepy


def _longest_runs(readings: Floats, rest: Floats, asleep: Mask) -> tuple[Whole, Whole]:
    """Return the longest possible runs of equal readings of each sensor, elsewhere and at rest, [n] each."""
    n = readings.shape[1]
    run, rest_run = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    for sensor in range(n):
        awake = ~np.isnan(readings[:, sensor]) & ~asleep[:, sensor]
        values = readings[awake, sensor]
        starts = np.flatnonzero(np.diff(values, prepend=np.nan) != 0)
        lengths = np.diff(starts, append=len(values)) - 1
        resting = values[starts] == rest[sensor]
        run[sensor], rest_run[sensor] = _longest(lengths[~resting]), _longest(lengths[resting])
    return run, np.maximum(run, rest_run)


def _longest(lengths: Whole) -> int:
    """Return the longest possible length by the lengths seen, without those that stand apart."""
    seen = np.unique(lengths).astype(np.float64)
    if not seen.size:
        return _LEAST_RUN
    ends = np.flatnonzero(seen[1:] > _RUN_APART * seen[:-1] + _LEAST_RUN)
    longest = seen[ends[0]] if ends.size else seen[-1]
    return max(_LEAST_RUN, int(np.ceil(_RUN_MARGIN * longest)))


def _longest_gaps(readings: Floats, scales: Scales) -> Whole:
    """Return the longest gap after which a sensor is not yet dead, [n]: no more than a day, unless that is usual."""
    longest = np.zeros(readings.shape[1], dtype=np.int64)
    for sensor in range(readings.shape[1]):
        places = np.flatnonzero(~np.isnan(readings[:, sensor]))
        gaps = np.diff(places) - 1
        gaps = gaps[gaps > 0]
        if gaps.size:
            longest[sensor] = min(_longest(gaps), max(scales.day, 3 * int(np.median(gaps))))
    return np.maximum(longest, _LEAST_GAP)
