"""Learn the limits of each sensor from its training readings: how far its numbers went, and how far they may yet go.

The training is replayed and the largest value of every number is noted for each day. A limit is the level that a day
reaches rarely by the tail of these values, times a margin: how far one half of the training went beyond the limits of
the other half, over all sensors. Days that stand far apart from all the others are left out: a sensor that was stuck
for a week of the training does not get the right to be stuck for a week.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from subcast.screening.rules import Rules
from subcast.screening.signals import (
    INSTANT,
    LASTING,
    MOST_UNUSUAL,
    N_LEVELS,
    SPIKE,
    Arrival,
    Floats,
    Habits,
    Mask,
    Scales,
    Signals,
    Whole,
    allowance,
    crowd_of,
    follow,
)
from subcast.screening.virtual import VirtualSensors

CLIP = 8.0
"""Deviations from the usual value, in spreads, beyond this count as this in what they say about other sensors."""

MATTERS = (1.0, 2.0, 4.0)
"""Differences from what the other sensors say, in spreads, from which a stuck sensor costs something, more and much."""

_RIDGE = 0.05  # of the mean variance
_APART = 2.0  # ratio to the next smaller day from which days stand apart
_FEW_DAYS = 0.03  # of the days may stand apart
_RATE, _SUSPECT_RATE = 0.01, 1.0  # how often a month each number of a sensor may exceed its limits
_UNUSUAL_RATE = 0.04  # the same of differences relative to large ones that are seen at once or within half an hour
_CHECKED = 2.0  # times as often may limits of one half of the training be exceeded in the other half
_MOST_MARGIN = 2.0
_FURTHER = 3.0  # times the largest value of the training: no limit is higher
_MOST_TAIL = 10
_TAIL = 0.1  # of the days show how far the others may go
_HEAVIEST = 0.5  # exponent of a tail
_FEWEST = 5  # days without which there is no limit
_LEAST_DIFFERENCE = 1.0  # spreads: smaller differences cost little
_LEAST_INSTANT = (*(_LEAST_DIFFERENCE,) * 4, 2.0, 2.0)  # the last ones in times the size of large ones
_LEAST_LASTING = (0.8, 0.8, 0.6, 0.6, 0.5, 0.5, 1.2, 0.3, 1.2, 1.2, 1.0, 1.0, 0.7, 0.7)  # in the order of LASTING
_MOST_LASTING = (1e33, 1e33, 1e33, 1e33, 2.0, 2.0, 4.0, 1e33, 4.0, 1e33, *(MOST_UNUSUAL,) * 4)
_LEAST_TAIL = 0.1  # spreads
_NEAREST = 1e-3
_REST_SHARE = 0.05  # of the readings are equal to the value at which a sensor rests
_ASLEEP, _AWAKE = 0.95, 0.5  # share of readings at rest when a sensor sleeps, and when it is awake
_RUN_MARGIN, _RUN_APART = 1.5, 2.0
_LEAST_RUN, _LEAST_GAP = 2, 2
_NONE = 1e30  # a limit that nothing exceeds
_CALMEST = 0.25  # of its mean movement: a sensor is never taken for calmer than this
_HALF_WIDTH = 1 / 24  # of a day, over which movements are averaged


class Training(NamedTuple):
    """The training readings of a screener.

    Attributes
    ----------
    readings
        [t, n] in raw units, NaN where there is none
    deviations
        [t, n] from the usual values, in units of each sensor's spread
    rows
        [t], the row of the profile of each step
    n_rows
        number of rows
    slots
        steps of a day; 1 if they are not known
    unit
        [n], the spread of each sensor
    """

    readings: Floats
    deviations: Floats
    rows: Whole
    n_rows: int
    slots: int
    unit: Floats


class Learned(NamedTuple):
    """What the training says: the limits, and what the sensors say about each other now and over each scale."""

    rules: Rules
    virtual: tuple[VirtualSensors, ...]


def learn(training: Training) -> Learned:
    """Return the limits that the training suggests, and the regressions of each sensor on the others."""
    training = training._replace(deviations=_without_base(training))
    rest, sleepy = _rests(training)
    asleep = sleepy[training.rows] & (training.readings == rest)
    scales = Scales.of(training.slots)
    days = np.arange(len(asleep)) // (2 * scales.long)
    now = VirtualSensors.fit(np.clip(training.deviations, -CLIP, CLIP), _RIDGE)
    differences = all_differences(np.clip(training.deviations, -CLIP, CLIP), now)
    differences[asleep] = np.nan
    memory = _memory(differences)
    changes = _changes(differences, memory)
    tail, size = _tail(differences, training), _usual_size(np.abs(differences), training)
    unusual = _unusual(differences, training, tail, size)
    numbers = (differences, -differences, changes, -changes, unusual, -unusual)
    by_day = np.stack([_daily(each, days) for each in numbers])  # [6, d, n]
    spikes = np.stack([_daily(each, days) for each in _spikes(differences)])  # [2, d, n]
    lowest, highest = -_largest(_daily(-training.deviations, days)), _largest(_daily(training.deviations, days))
    movements = _movements(training, asleep)
    activity = _usual_size(movements, training)
    movement, change = _mean(movements / activity[training.rows]), _usual_size(np.abs(changes), training)
    habits = Habits(training.unit, memory, lowest, highest, movement, activity, change, size, tail)
    replayed, levels = _replay(training, differences, asleep, habits, scales, days)
    rules = Rules(
        habits,
        scales,
        *_limits(by_day, INSTANT, np.array(_LEAST_INSTANT)),
        _limits(spikes, SPIKE, np.full(len(spikes), _LEAST_DIFFERENCE))[0],
        *_limits(replayed, LASTING, np.array(_LEAST_LASTING), np.array(_MOST_LASTING)),
        rest,
        sleepy,
        *_longest_runs(training.readings, rest, asleep),
        _longest_differing_runs(training.readings, differences, asleep),
        _longest_gaps(training.readings, scales),
    )
    return Learned(rules, (now, *levels))


# Replaying the training


def _tail(differences: Floats, training: Training) -> Floats:
    """Return the fourth root of the mean fourth power of differences at each time of day, [rows, n]."""
    slots = training.slots if training.n_rows % training.slots == 0 else training.n_rows
    daily = training._replace(rows=training.rows % slots, n_rows=slots)
    sizes = np.maximum(_usual_size(differences**4, daily) ** 0.25, _LEAST_TAIL)
    return np.tile(sizes, (training.n_rows // slots, 1))


def _without_base(training: Training) -> Floats:
    """Return the deviations without their mean of about the last week, [t, n]."""
    scales, deviations = Scales.of(training.slots), training.deviations.copy()
    base, heard = np.zeros(deviations.shape[1]), np.zeros(deviations.shape[1], dtype=np.int64)
    everyone = np.ones(len(base), dtype=bool)
    for step in range(len(deviations)):
        deviations[step] -= base
        base, heard = follow(base, deviations[step], everyone, scales, heard)
    return deviations


def _replay(
    training: Training, differences: Floats, asleep: Mask, habits: Habits, scales: Scales, days: Whole
) -> tuple[Floats, tuple[VirtualSensors, ...]]:
    """Return the largest lasting numbers of each day [14, d, n], and the regressions over each scale."""
    signals = Signals(habits, scales)
    nobody = np.zeros(len(habits.unit), dtype=bool)
    smooth = np.empty((len(days), *signals.smooth.shape))
    for step in range(len(days)):
        readings, row = training.readings[step], int(training.rows[step])
        arrival = Arrival(readings, training.deviations[step], differences[step], asleep[step], row)
        signals.advance(arrival, nobody, nobody, nobody)
        signals.believe(differences[step], ~nobody)
        smooth[step] = signals.smooth
    virtual = tuple(VirtualSensors.fit(smooth[:, scale], _RIDGE) for scale in range(N_LEVELS))
    known = ~np.isnan(training.deviations) & ~asleep
    for scale in range(N_LEVELS):
        smooth[:, scale] = all_differences(smooth[:, scale], virtual[scale])
    signals.smooth = smooth.transpose(1, 0, 2).reshape(smooth.shape[1], -1)
    numbers = signals.lasting(signals.levels).reshape(len(LASTING), *known.shape)
    return np.stack([_daily(np.where(known, each, np.nan), days) for each in numbers]), virtual


def all_differences(deviations: Floats, virtual: VirtualSensors) -> Floats:
    """Return the differences of all steps [t, n]; all sensors with a reading are trusted."""
    known = ~np.isnan(deviations)
    result = np.full(deviations.shape, np.nan)
    _, group = np.unique(np.packbits(known, axis=1), axis=0, return_inverse=True)
    order = np.argsort(group.ravel(), kind="stable")
    for steps in np.split(order, np.cumsum(np.bincount(group.ravel()))[:-1]):
        mask = known[steps[0]]
        if mask.any():
            result[steps] = virtual.differences(deviations[steps], mask)
    return result


def _memory(differences: Floats) -> Floats:
    """Return the correlation of each sensor's difference with the one a step before, from 0 to 0.99."""
    both = ~np.isnan(differences[1:]) & ~np.isnan(differences[:-1])
    now, before = (np.where(both, part, 0.0) for part in (differences[1:], differences[:-1]))
    product, square = (now * before).sum(axis=0), (before * before).sum(axis=0)
    return np.clip(np.divide(product, square, out=np.zeros_like(square), where=square > 0), 0.0, 0.99)


def _changes(differences: Floats, memory: Floats) -> Floats:
    """Return how much each difference changed since the step before, [t, n]; NaN at the first."""
    changes = np.full(differences.shape, np.nan)
    changes[1:] = differences[1:] - memory * differences[:-1]
    return changes


def _unusual(differences: Floats, training: Training, tail: Floats, size: Floats) -> Floats:
    """Return the differences relative to large ones, [t, n], as `Signals.instant` has them."""
    crowd = _crowds(differences / size[training.rows], Scales.of(training.slots))
    by_others = np.clip(training.deviations, -CLIP, CLIP) - differences
    return differences / allowance(tail[training.rows], crowd[:, None], by_others)


def _crowds(relative: Floats, scales: Scales) -> Floats:
    """Return what `Signals.crowd` is before each step, [t]."""
    crowds, crowd = np.ones(len(relative)), 1.0
    everyone = np.ones(relative.shape[1], dtype=bool)
    for step, row in enumerate(relative):
        crowds[step] = crowd
        crowd += 2 / (1 + scales.slow) * (crowd_of(row, everyone) - crowd)
    return crowds


def _spikes(differences: Floats) -> tuple[Floats, Floats]:
    """Return how far the reading before each stood out from its neighbors, upwards and downwards, [t, n]."""
    rise, fall = differences[1:-1] - differences[:-2], differences[1:-1] - differences[2:]
    up, down = (np.full(differences.shape, np.nan) for _ in range(2))
    up[2:], down[2:] = np.minimum(rise, fall), np.minimum(-rise, -fall)
    return up, down


def _movements(training: Training, asleep: Mask) -> Floats:
    """Return how much each sensor moved from step to step, [t, n]; NaN at the first step and where it slept."""
    moved = np.abs(np.diff(training.readings, axis=0, prepend=np.nan)) / training.unit
    return np.where(asleep, np.nan, moved)


def _usual_size(sizes: Floats, training: Training) -> Floats:
    """Return the mean of sizes [t, n] in each row of the profile, over an hour before and after, [rows, n]."""
    known = ~np.isnan(sizes)
    total, count = (np.zeros((training.n_rows, sizes.shape[1])) for _ in range(2))
    np.add.at(total, training.rows, np.where(known, sizes, 0.0))
    np.add.at(count, training.rows, known)
    around = training.slots if training.slots > 1 and training.n_rows % training.slots == 0 else training.n_rows
    reach = min(round(_HALF_WIDTH * around), (around - 1) // 2) if training.slots > 1 else 0
    total, count = (_around(table, around, reach) for table in (total, count))
    mean = np.where(known.any(axis=0), _mean(sizes), 1.0)
    by_row = np.divide(total, count, out=np.broadcast_to(mean, total.shape).copy(), where=count > 0)
    least = np.where(mean > 0, _CALMEST * mean, 1.0)
    return np.maximum(by_row, least)


def _around(table: Floats, around: int, reach: int) -> Floats:
    """Return the sum over each row and the rows up to `reach` before and after it, in cycles of `around` rows."""
    cycles = table.reshape(-1, around, table.shape[1])
    shifted = [np.roll(cycles, shift, axis=1) for shift in range(-reach, reach + 1)]
    return np.asarray(np.sum(shifted, axis=0).reshape(table.shape))


# Limits


def _limits(by_day: Floats, names: tuple[str, ...], least: Floats, most: Floats | None = None) -> tuple[Floats, Floats]:
    """Return the limits and the suspect limits [k, n] of numbers by their largest values of each day [k, d, n]."""
    most = np.full(len(by_day), 1e33) if most is None else most
    open_ended = by_day / (1 - np.minimum(by_day / most[:, None, None], 1 - _NEAREST))
    limits = np.stack([rare_level(each, _rate(name) / 30) for each, name in zip(open_ended, names, strict=True)])
    suspect = np.stack([rare_level(each, _SUSPECT_RATE / 30) for each in open_ended])
    furthest = np.stack([_largest(each) for each in open_ended])
    limits = np.minimum(limits * _margins(open_ended, names)[:, None], _FURTHER * furthest)
    suspect = np.minimum(limits, suspect)
    return tuple(np.maximum(each / (1 + each / most[:, None]), least[:, None]) for each in (limits, suspect))  # type: ignore[return-value]


def _rate(name: str) -> float:
    """Return how often a month a number may exceed its limit."""
    return _UNUSUAL_RATE if "unusually" in name and not name.startswith("slow") else _RATE


def _margins(by_day: Floats, names: tuple[str, ...]) -> Floats:
    """Return by how much the limits of each number [k] have to be larger to be exceeded as rarely as they should be.

    The limits of one half of the training are tried on the other half, on the days of all sensors.
    """
    half = by_day.shape[1] // 2
    margins = np.ones(len(by_day))
    if half < _FEWEST:
        return margins
    for number, days in enumerate(by_day):
        parts = (days[:half], days[half:]), (days[half:], days[:half])
        rate = _rate(names[number])
        ratios = np.concatenate([_ratios(tried, rare_level(seen, rate / 30)).ravel() for seen, tried in parts])
        ratios = np.sort(ratios[~np.isnan(ratios)])
        allowed = max(1, round(_CHECKED * rate * len(ratios) / 30))
        if len(ratios) >= allowed:
            margins[number] = np.clip(ratios[-allowed], 1.0, _MOST_MARGIN)
    return margins


def _ratios(values: Floats, limits: Floats) -> Floats:
    return np.divide(values, limits, out=np.full(values.shape, np.nan), where=limits > 0)


def rare_level(by_day: Floats, chance: float) -> Floats:
    """Return the level that the largest value of a day exceeds with a given chance, for each sensor [n].

    Where the training is too short to show it, the level is extrapolated along the tail of the days' values, from the
    tenth of the days with the largest ones (at most ten days). The exponent of the tail is the mean of the sensor's own
    and the median one.
    """
    known = ~np.isnan(by_day)
    days = known.sum(axis=0)
    count = np.clip(np.round(_TAIL * days), 1, _MOST_TAIL).astype(np.int64)
    ordered = -np.sort(np.where(known, -by_day, np.inf), axis=0)  # the largest first
    start = _pick(ordered, count)
    inner = np.maximum(count // 4, 1)
    ratio = np.maximum(_pick(ordered, inner), 1e-9) / np.maximum(start, 1e-9)
    exponent = np.clip(np.log(ratio) / np.log(np.maximum(count / inner, 1.5)), 0.0, _HEAVIEST)
    usable = days >= _FEWEST
    exponent = (exponent + (np.median(exponent[usable]) if usable.any() else 0.0)) / 2
    beyond = np.maximum(count / np.maximum(days * chance, 1e-9), 1.0)
    return np.where(usable & (start > 0), start * beyond**exponent, np.where(usable, 0.0, _NONE))


def _pick(ordered: Floats, place: Whole) -> Floats:
    """Return the value at a place (from 1) of each column."""
    return np.take_along_axis(ordered, np.minimum(place, len(ordered))[None] - 1, axis=0)[0]


def _daily(numbers: Floats, days: Whole) -> Floats:
    """Return the largest number of each day, [d, n]; NaN for a day without one."""
    return np.fmax.reduceat(numbers, np.flatnonzero(np.diff(days, prepend=-1)), axis=0)


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


def _longest_differing_runs(readings: Floats, differences: Floats, asleep: Mask) -> Whole:
    """Return the longest possible runs of equal readings that differ from what the other sensors say, [3, n]."""
    longest = np.zeros((len(MATTERS), readings.shape[1]), dtype=np.int64)
    for sensor in range(readings.shape[1]):
        awake = ~np.isnan(readings[:, sensor]) & ~asleep[:, sensor]
        values = readings[awake, sensor]
        starts = np.diff(values, prepend=np.nan) != 0
        lengths = np.arange(len(values)) - np.maximum.accumulate(np.where(starts, np.arange(len(values)), 0))
        size = np.abs(differences[awake, sensor])
        longest[:, sensor] = [_longest(lengths[(size > least) & (lengths > 0)]) for least in MATTERS]
    return np.minimum.accumulate(longest, axis=0)


def _longest(lengths: NDArray[np.int64]) -> int:
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
        gaps = np.diff(np.flatnonzero(~np.isnan(readings[:, sensor]))) - 1
        gaps = gaps[gaps > 0]
        if gaps.size:
            longest[sensor] = min(_longest(gaps), max(2 * scales.long, 3 * int(np.median(gaps))))
    return np.maximum(longest, _LEAST_GAP)
