"""Running numbers about each sensor, by which the tests judge it: equal readings, gaps, smoothed differences.

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

INSTANT = ("above", "below", "jump up", "jump down")
"""Judged reading by reading: the difference from what the others say, and its change since the reading before."""

LASTING = (
    "fast above", "fast below", "slow above", "slow below", "day above", "day below", "mismatch", "tremble",
    "long tremble", "still",
)  # fmt: skip
"""Judged over a while: smoothed differences, their size, the size of their changes, and too little movement."""

_LEAST_MOVEMENT = 1e-3  # of the sensor's spread: less than this counts as this
_WHOLE = ("run", "gap", "age")
_STALE = 3  # steps after which the reading before says nothing about a jump


class Scales(NamedTuple):
    """The number of steps over which numbers are smoothed."""

    fast: int
    slow: int
    day: int

    @classmethod
    def of(cls, slots: int) -> Scales:
        """Return the scales for steps of which `slots` make a day: about half an hour, four hours and a day.

        >>> Scales.of(288), Scales.of(24)
        (Scales(fast=6, slow=48, day=288), Scales(fast=4, slow=12, day=48))
        """
        return cls(max(4, round(slots / 48)), max(12, round(slots / 6)), max(48, slots))


class Habits(NamedTuple):
    """What is usual for the differences of each sensor, [n] each, learned from the training.

    Attributes
    ----------
    memory
        correlation of a difference with the one a step before
    lowest, highest
        differences beyond these count as these, so that one wild reading does not make a sensor ill
    widest
        the same for changes of differences
    size, change, movement
        mean size of differences, of their changes (root of the mean square), and of movements
    unit
        the sensor's spread, in which movements are measured
    """

    memory: Floats
    lowest: Floats
    highest: Floats
    widest: Floats
    size: Floats
    change: Floats
    movement: Floats
    unit: Floats


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
    smooth
        [7, n]: differences smoothed over the three scales, their size, squares of their changes (fast and slow), and
        movements
    """

    def __init__(self, habits: Habits, scales: Scales) -> None:
        self.habits, self.scales = habits, scales
        n = len(habits.memory)
        self.last, self.before = np.full(n, np.nan), np.full(n, np.nan)
        self.run, self.gap, self.age = (np.zeros(n, dtype=np.int64) for _ in range(3))
        zero, change = np.zeros(n), habits.change**2
        self.smooth = np.stack([zero, zero, zero, habits.size, change, change, habits.movement])
        fast, slow, day = (2 / (1 + steps) for steps in scales)
        self._rate = np.array([fast, slow, day, slow, fast, slow, slow])[:, None]
        self._quick = np.maximum(self._rate, 2 / (1 + 2 * scales.fast))

    def changes(self, differences: Floats) -> Floats:
        """Return how much each difference changed since the last believed one, [n]; NaN if that was long ago."""
        recent = self.age < _STALE
        return np.where(recent, differences - self.habits.memory * self.before, np.nan)

    def instant(self, differences: Floats) -> Floats:
        """Return the instant numbers of a step, [4, n] in the order of `INSTANT`; NaN where there is none."""
        change = self.changes(differences)
        return np.stack([differences, -differences, change, -change])

    def advance(self, readings: Floats, differences: Floats, asleep: Mask, ill: Mask) -> None:
        """Take in the readings of one step before they are judged.

        Parameters
        ----------
        readings
            [n], NaN where none arrived or it is out of range
        differences
            [n] from what the others say, NaN where there is none
        asleep
            [n], sensors that rest at this time of day: nothing about them changes
        ill
            [n], ill sensors: all is smoothed over the fast scale, so that they can recover
        """
        known = ~np.isnan(readings)
        awake = known & ~asleep
        with np.errstate(invalid="ignore"):
            equal = readings == self.last
            moved = np.abs(readings - self.last) / self.habits.unit
        self.run = np.where(awake, np.where(equal, self.run + 1, 0), self.run)
        self.gap = np.where(known, 0, self.gap + 1)
        habits, change = self.habits, self.changes(differences)
        clipped = np.clip(differences, habits.lowest, habits.highest)
        square = np.clip(change, -habits.widest, habits.widest) ** 2
        new = np.stack([clipped, clipped, clipped, np.abs(clipped), square, square, moved])
        step = np.where(ill, self._quick, self._rate) * (new - self.smooth)
        self.smooth = np.where(awake & ~np.isnan(step), self.smooth + step, self.smooth)
        self.last = np.where(known, readings, self.last)

    def believe(self, differences: Floats, believed: Mask) -> None:
        """Note after a step was judged which of its differences the next step may be compared with."""
        taken = believed & ~np.isnan(differences)
        self.before = np.where(taken, differences, self.before)
        self.age = np.where(taken, 0, self.age + 1)

    def lasting(self) -> Floats:
        """Return the lasting numbers, [10, n] in the order of `LASTING`."""
        fast, slow, day, size, tremble, long_tremble, movement = self.smooth
        still = 1 / np.maximum(movement, _LEAST_MOVEMENT)
        return np.stack([fast, -fast, slow, -slow, day, -day, size, np.sqrt(tremble), np.sqrt(long_tremble), still])

    # Resuming

    def state(self) -> dict[str, list[float | None] | list[int]]:
        """Return the numbers as plain values, None for NaN."""
        floats = {"last": self.last, "before": self.before, "smooth": self.smooth.ravel()}
        whole = {name: getattr(self, name).tolist() for name in _WHOLE}
        return {
            **{name: [None if value != value else value for value in array.tolist()] for name, array in floats.items()},
            **whole,
        }

    def resume(self, state: Mapping[str, Any]) -> None:
        """Take the numbers that `state` returned; raises ValueError, KeyError or TypeError if they are none."""
        for name in ("last", "before", "smooth"):
            shape = getattr(self, name).shape
            setattr(
                self,
                name,
                np.array([np.nan if value is None else value for value in state[name]], dtype=np.float64).reshape(
                    shape
                ),
            )
        for name in _WHOLE:
            setattr(self, name, np.array(state[name], dtype=np.int64).reshape(self.run.shape))

    def skip(self, steps: int) -> None:
        """Pass over steps at which nothing at all arrived."""
        self.gap = self.gap + steps
        self.age = self.age + steps
