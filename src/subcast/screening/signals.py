"""Running numbers about each sensor, by which the tests judge it: equal readings, gaps, smoothed deviations.

All of them are updated one step at a time and need a few numbers for each sensor. The larger a number, the worse; the
limits they are compared with are learned from the training (`subcast.screening.learning`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
Mask = NDArray[np.bool_]

INSTANT = ("above", "below", "jump up", "jump down", "unusually above", "unusually below")
"""Judged reading by reading: the difference from what the others say, its change since the reading before, and the
difference relative to large ones at that time of day."""

JUMPS, UNUSUAL = slice(2, 4), 4
"""Where the changes are among these, and the first of the relative ones."""

SPIKE = ("up and down", "down and up")
"""Judged one reading later: how far the reading before stood out, from the one before it and from the one after."""

LASTING = (
    "fast above", "fast below", "slow above", "slow below", "long above", "long below", "long mismatch",
    "long unlike", "slow tremble", "still",
    "fast unusually above", "fast unusually below", "slow unusually above", "slow unusually below",
)  # fmt: skip
"""Judged over a while: differences of smoothed readings; clipped differences, their size, whether they undo what the
others do (as those of a stuck sensor), and their changes, smoothed; stillness; and differences relative to large ones
at that time of day, smoothed."""

SIDES = [place for place, name in enumerate(LASTING) if name.startswith(("fast", "slow")) and "tremble" not in name]
"""Those that say how far a sensor is above or below the others over half an hour or four hours."""

N_LEVELS = 2
"""The deviations are smoothed over so many scales."""

_OF_LEVELS = (np.arange(10) < N_LEVELS)[:, None]  # what is smoothed
_LEAST_MOVEMENT = 1e-3  # of what is usual: less than this counts as this
_MOST_SIDE, _MOST_SIZE, _MOST_CHANGE = 2.0, 4.0, 4.0  # times the usual size: more counts as this
_MOST_BASE, _FIRST_DAYS, _BASE_DAYS = 2.0, 3.0, 7.0  # spreads, and days over which the base follows, at first and later
_MOST_SAID, _LEAST_SAID = 3.0, 0.2  # spreads, and squares of them
_INEXACT = 0.2  # of a deviation that the others say
MOST_UNUSUAL = 12.0
"""Differences of more times the size of large ones at that time of day count as this when they are smoothed."""
_STALE = 3  # steps after which the reading before says nothing about a jump
_FLOATS = ("last", "before", "rise", "former", "base", "crowd", "smooth")
_WHOLE = ("run", "gap", "age", "heard")


class Scales(NamedTuple):
    """The number of steps over which numbers are smoothed."""

    fast: int
    slow: int
    long: int

    @classmethod
    def of(cls, slots: int) -> Scales:
        """Return the scales for steps of which `slots` make a day: about half an hour, four hours and half a day.

        >>> Scales.of(288), Scales.of(24)
        (Scales(fast=6, slow=48, long=144), Scales(fast=4, slow=12, long=24))
        """
        return cls(max(4, round(slots / 48)), max(12, round(slots / 6)), max(24, round(slots / 2)))


class Habits(NamedTuple):
    """What is usual for each sensor, [n] unless it says otherwise, learned from the training.

    Attributes
    ----------
    unit
        the spread of a sensor's deviations from its usual values, in which all is measured
    memory
        correlation of a difference with the one a step before
    lowest, highest
        deviations beyond these count as these, so that one wild reading does not make a sensor ill
    movement
        mean size of movements relative to `activity`
    activity, change, size
        [rows, n] each: mean size of movements, of changes of differences, and of differences, in each row of the
        profile: nights are calm
    tail
        [rows, n], size of large differences in each row of the profile: fourth root of the mean fourth power
    """

    unit: Floats
    memory: Floats
    lowest: Floats
    highest: Floats
    movement: Floats
    activity: Floats
    change: Floats
    size: Floats
    tail: Floats


class Arrival(NamedTuple):
    """The readings of one step, [n] each.

    Attributes
    ----------
    readings
        in raw units, NaN where none arrived or it is out of range
    deviations
        from the usual values, in units of the sensor's spread
    differences
        from what the other sensors say
    asleep
        sensors that rest at this time of day: nothing about them changes
    row
        of the profile
    """

    readings: Floats
    deviations: Floats
    differences: Floats
    asleep: Mask
    row: int


class Signals:
    """The running numbers of n sensors, which begin with what is usual.

    Attributes
    ----------
    last
        [n], the reading before, NaN if there was none
    run, gap
        [n], how many readings equal to the one before came in a row, and how many steps had no reading
    before, age
        [n], the difference of the last believed reading, and how many steps ago it was
    rise
        [n], how much the difference of the step before had changed; NaN if that is not known
    former
        [n], the difference of the reading before relative to large ones, clipped
    base
        [n], the mean deviation of about the last week, which is taken from deviations: a sensor that changed long ago,
        or a season, is no fault
    heard
        [n], how many readings the base has followed, at most those of a week
    crowd
        [1], mean size of the differences of all sensors, relative to usual sizes and clipped, over the slow scale: on a
        strange day (a holiday) all of them are larger
    smooth
        [10, n]: deviations smoothed over two scales; over the long scale differences and their sizes, relative to usual
        sizes and clipped, products of differences with what the others say, and squares of the latter; squares of
        changes, relative and clipped, and movements, over the slow scale; over two scales the smaller of this and the
        former difference relative to large ones, 0 if they are on two sides: one reading alone says nothing here
    """

    def __init__(self, habits: Habits, scales: Scales) -> None:
        self.habits, self.scales = habits, scales
        n = len(habits.memory)
        self.last, self.before, self.base = np.full(n, np.nan), np.full(n, np.nan), np.zeros(n)
        self.rise, self.former, self.crowd = np.full(n, np.nan), np.zeros(n), np.ones(1)
        self.run, self.gap, self.age, self.heard = (np.zeros(n, dtype=np.int64) for _ in range(4))
        zero, one = np.zeros(n), np.ones(n)
        self._usual = np.stack([zero, zero, zero, one, zero, zero, one, habits.movement, zero, zero])
        self.smooth = self._usual
        fast, slow, long = (2 / (1 + steps) for steps in scales)
        self._rate = np.array([fast, slow, long, long, long, long, slow, slow, fast, slow])[:, None]
        self._quick = np.maximum(self._rate, 2 / (1 + 2 * scales.fast))

    def changes(self, differences: Floats) -> Floats:
        """Return how much each difference changed since the last believed one, [n]; NaN if that was long ago."""
        return np.where(self.age < _STALE, differences - self.habits.memory * self.before, np.nan)

    def instant(self, arrival: Arrival) -> Floats:
        """Return the instant numbers of a step, [6, n] in the order of `INSTANT`; NaN where there is none."""
        differences = arrival.differences
        change, unusual = self.changes(differences), differences / self.allowance(arrival)
        return np.stack([differences, -differences, change, -change, unusual, -unusual])

    def allowance(self, arrival: Arrival) -> Floats:
        """Return the size of differences that are large for this step, [n].

        It is that of large ones at this time of day, more on a strange day, and more where the others say that the
        sensor is far from its usual value: they are less exact then.
        """
        by_others = arrival.deviations - arrival.differences
        return allowance(self.habits.tail[arrival.row], self.crowd, by_others)

    def spike(self, differences: Floats) -> Floats:
        """Return how far the reading of the step before stood out, [2, n] in the order of `SPIKE`; NaN if not known."""
        fall = np.where(self.age == 0, self.before - differences, np.nan)
        return np.stack([np.minimum(self.rise, fall), np.minimum(-self.rise, -fall)])

    def advance(self, arrival: Arrival, wild: Mask, ill: Mask, frozen: Mask) -> None:
        """Take in the readings of one step.

        Parameters
        ----------
        arrival
            the readings; deviations without `base`
        wild
            [n], readings that are bad by themselves: of the first few in a row only what the others say is smoothed,
            so that a spike makes no sensor ill
        ill
            [n], sensors whose numbers are smoothed less, so that they can recover
        frozen
            [n], sensors whose base follows what the others say, and not their own readings
        """
        habits, readings = self.habits, arrival.readings
        known = ~np.isnan(readings)
        awake = known & ~arrival.asleep
        with np.errstate(invalid="ignore"):
            equal = readings == self.last
            moved = np.abs(readings - self.last) / (habits.unit * habits.activity[arrival.row])
        self.run = np.where(awake, np.where(equal, self.run + 1, 0), self.run)
        self.gap = np.where(known, 0, self.gap + 1)
        relative = arrival.differences / habits.size[arrival.row]
        square = np.minimum((self.changes(arrival.differences) / habits.change[arrival.row]) ** 2, _MOST_CHANGE**2)
        taken = awake & ~(wild & (self.age < _STALE))
        by_others = arrival.deviations - arrival.differences
        deviation = np.clip(np.where(taken, arrival.deviations, by_others), habits.lowest, habits.highest)
        side, size = np.clip(relative, -_MOST_SIDE, _MOST_SIDE), np.minimum(np.abs(relative), _MOST_SIZE)
        said = np.clip(by_others, -_MOST_SAID, _MOST_SAID)
        product = said * np.clip(arrival.differences, -_MOST_SAID, _MOST_SAID)
        unusual = np.clip(arrival.differences / self.allowance(arrival), -MOST_UNUSUAL, MOST_UNUSUAL)
        steady = np.where(
            unusual * self.former > 0, np.sign(unusual) * np.minimum(np.abs(unusual), np.abs(self.former)), 0.0
        )
        new = np.stack([deviation, deviation, side, size, product, said**2, square, moved, steady, steady])
        step = np.where(ill, self._quick, self._rate) * (new - self.smooth)
        taken_in = np.where(_OF_LEVELS, awake, taken) & ~np.isnan(step)
        self.smooth = np.where(taken_in, self.smooth + step, self.smooth)
        self.former = np.where(taken & ~np.isnan(unusual), unusual, self.former)
        followed = np.where(frozen, by_others, arrival.deviations)
        self.base, self.heard = follow(self.base, followed, taken, self.scales, self.heard)
        self.last = np.where(known, readings, self.last)
        self.crowd = self.crowd + 2 / (1 + self.scales.slow) * (crowd_of(relative, awake & ~ill) - self.crowd)

    def believe(self, differences: Floats, believed: Mask) -> None:
        """Note after a step was judged which of its differences the next step may be compared with."""
        taken = believed & ~np.isnan(differences)
        self.rise = np.where(taken & (self.age == 0), differences - self.before, np.nan)
        self.before = np.where(taken, differences, self.before)
        self.age = np.where(taken, 0, self.age + 1)

    def skip(self, steps: int) -> None:
        """Pass over steps at which nothing at all arrived."""
        self.gap = self.gap + steps
        self.age = self.age + steps

    def reset(self, well: Mask) -> None:
        """Let the lasting numbers of sensors [n] that recovered begin anew."""
        self.smooth = np.where(well, self._usual, self.smooth)

    @property
    def levels(self) -> Floats:
        """The deviations smoothed over two scales, [2, n]."""
        return self.smooth[:N_LEVELS]

    def lasting(self, levels: Floats) -> Floats:
        """Return the lasting numbers, [14, n] in the order of `LASTING`.

        Parameters
        ----------
        levels
            [2, n], how much the smoothed deviations differ from what those of the other sensors say
        """
        fast, slow = levels
        side, size, product, said, square, movement, soon, later = self.smooth[N_LEVELS:]
        still = 1 / np.maximum(movement, _LEAST_MOVEMENT)
        unlike = -product / (said + _LEAST_SAID)
        return np.stack([fast, -fast, slow, -slow, side, -side, size, unlike, np.sqrt(square), still,
                         soon, -soon, later, -later])  # fmt: skip

    # Resuming

    def state(self) -> dict[str, list[Any]]:
        """Return the numbers as plain values, None for NaN."""
        floats = {name: _plain(getattr(self, name)) for name in _FLOATS}
        return {**floats, **{name: getattr(self, name).tolist() for name in _WHOLE}}

    def resume(self, state: Mapping[str, Any]) -> None:
        """Take the numbers that `state` returned; raises ValueError, KeyError or TypeError if they are none."""
        for name in _FLOATS:
            values = [np.nan if value is None else value for value in state[name]]
            setattr(self, name, np.array(values, dtype=np.float64).reshape(getattr(self, name).shape))
        for name in _WHOLE:
            setattr(self, name, np.array(state[name], dtype=np.int64).reshape(self.run.shape))


def allowance(tail: Floats, crowd: Floats, by_others: Floats) -> Floats:
    """Return the size of large differences, [..., n], for deviations `by_others` that the other sensors say."""
    return np.asarray(tail * np.maximum(crowd, 1.0) + _INEXACT * np.abs(by_others))


def crowd_of(relative: Floats, chosen: Mask) -> float:
    """Return the mean size of relative differences [n] of the chosen sensors, clipped; 1, the usual, without any."""
    sizes = np.minimum(np.abs(relative), _MOST_SIDE)[chosen & ~np.isnan(relative)]
    return float(sizes.mean()) if sizes.size else 1.0


def follow(base: Floats, deviations: Floats, moving: Mask, scales: Scales, heard: Whole) -> tuple[Floats, Whole]:
    """Return the base after a step with these deviations from it, and how many readings it has followed, [n] each.

    At first it follows faster, as the mean of three days of usual values and of all readings so far.
    """
    first, week = (round(days * 2 * scales.long) for days in (_FIRST_DAYS, _BASE_DAYS))
    step = np.clip(deviations, -_MOST_BASE, _MOST_BASE) / np.minimum(first + heard, week)
    taken = moving & ~np.isnan(step)
    return np.where(taken, base + step, base), np.where(taken, np.minimum(heard + 1, week), heard)


def _plain(array: Floats) -> list[float | None]:
    return [None if np.isnan(value) else value for value in array.ravel().tolist()]
