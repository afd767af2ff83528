"""Slow references of the screening: plain loops, one sensor and one step at a time."""

from __future__ import annotations

import math

import numpy as np


def difference(covariance, ridge, deviations, trusted, sensor):
    """How much one sensor differs from what the trusted others say, by solving its own regression."""
    n = len(covariance)

    def solved(others):
        matrix = np.array([[covariance[a][b] + (ridge if a == b else 0.0) for b in others] for a in others])
        cross = np.array([covariance[a][sensor] for a in others])
        weights = np.linalg.solve(matrix.reshape(len(others), len(others)), cross) if others else np.zeros(0)
        variance = covariance[sensor][sensor] + ridge - float(weights @ cross)
        return weights, math.sqrt(variance)

    others = [place for place in range(n) if trusted[place] and place != sensor]
    weights, deviation = solved(others)
    _, best = solved([place for place in range(n) if place != sensor])
    said = sum(weight * deviations[place] for weight, place in zip(weights, others, strict=True))
    return (deviations[sensor] - said) * best / deviation


class OneSensor:
    """The running numbers of one sensor."""

    def __init__(self, habits, scales, sensor):
        self.unit, self.memory = float(habits.unit[sensor]), float(habits.memory[sensor])
        self.lowest, self.highest = float(habits.lowest[sensor]), float(habits.highest[sensor])
        self.activity, self.change, self.size, self.tail = (
            [float(row[sensor]) for row in table]
            for table in (habits.activity, habits.change, habits.size, habits.tail)
        )
        self.scales, self.last, self.before, self.base = scales, None, None, 0.0
        self.run = self.gap = self.age = self.heard = 0
        self.rise, self.former = None, 0.0
        spans = {name: float(span) for name, span in scales._asdict().items()}
        self.spans = [
            spans[name] for name in ("fast", "slow", "long", "long", "long", "long", "slow", "slow", "fast", "slow")
        ]
        self.smooth = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, float(habits.movement[sensor]), 0.0, 0.0]

    def advance(self, reading, deviation, difference, asleep, row, wild, ill, frozen, crowd):
        """Take in one reading; None for what is not known."""
        if reading is None:
            self.gap += 1
            return
        self.gap = 0
        if not asleep:
            self.run = self.run + 1 if reading == self.last else 0
        if not asleep and not (wild and self.age < 3):
            for place, value in enumerate(self.news(reading, deviation, difference, row, crowd)):
                if value is not None:
                    span = min(self.spans[place], 2 * self.scales.fast) if ill else self.spans[place]
                    self.smooth[place] += 2 / (1 + span) * (value - self.smooth[place])
            followed = deviation - difference if frozen else deviation
            day = 2 * self.scales.long
            self.base += min(max(followed, -2.0), 2.0) / min(3 * day + self.heard, 7 * day)
            self.heard = min(self.heard + 1, 7 * day)
        elif not asleep:
            for place in range(2):
                span = min(self.spans[place], 2 * self.scales.fast) if ill else self.spans[place]
                said = min(max(deviation - difference, self.lowest), self.highest)
                self.smooth[place] += 2 / (1 + span) * (said - self.smooth[place])
        self.last = reading

    def news(self, reading, deviation, difference, row, crowd):
        """What is smoothed, in order."""
        clipped = min(max(deviation, self.lowest), self.highest)
        relative = difference / self.size[row]
        said = min(max(deviation - difference, -3.0), 3.0)
        product = said * min(max(difference, -3.0), 3.0)
        square = None
        if self.before is not None and self.age < 3:
            square = min(((difference - self.memory * self.before) / self.change[row]) ** 2, 16.0)
        moved = None if self.last is None else abs(reading - self.last) / (self.unit * self.activity[row])
        side = min(max(relative, -2.0), 2.0)
        large = self.tail[row] * max(crowd, 1.0) + 0.2 * abs(deviation - difference)
        unusual = min(max(difference / large, -12.0), 12.0)
        steady = 0.0
        if unusual > 0 and self.former > 0:
            steady = min(unusual, self.former)
        if unusual < 0 and self.former < 0:
            steady = max(unusual, self.former)
        self.former = unusual
        return [clipped, clipped, side, min(abs(relative), 4.0), product, said**2, square, moved, steady, steady]

    def believe(self, difference, believed):
        """Keep the difference with which the next is compared, and how much it had changed."""
        self.rise = None
        if difference is not None and believed:
            if self.before is not None and self.age == 0:
                self.rise = difference - self.before
            self.before, self.age = difference, 0
        else:
            self.age += 1

    def spike(self, difference):
        """How far the reading before stood out, upwards and downwards; None if that is not known."""
        if self.rise is None or self.age or difference is None:
            return None
        fall = self.before - difference
        return min(self.rise, fall), min(-self.rise, -fall)


def crowd(sizes):
    """The mean of relative sizes, each at most 2; 1 without any."""
    return sum(min(abs(size), 2.0) for size in sizes) / len(sizes) if sizes else 1.0


def gross_range(reading, low, high):
    """Whether a reading is outside of its range."""
    return reading < low or reading > high


def run_lengths(readings):
    """How many readings equal to the one before came in a row, at each reading."""
    lengths = []
    for place, reading in enumerate(readings):
        lengths.append(lengths[-1] + 1 if place and reading == readings[place - 1] else 0)
    return lengths


def longest(lengths):
    """The longest possible length: half as long again as the last one that does not stand apart."""
    seen = sorted(set(lengths))
    if not seen:
        return 2
    last = seen[0]
    for each in seen[1:]:
        if each > 2 * last + 2:
            break
        last = each
    return max(2, math.ceil(1.5 * last))


def rare_level(days, chance, median_exponent=None):
    """The level that a day's largest value exceeds with a chance, for one sensor, and the exponent of its tail."""
    values = sorted((value for value in days if not math.isnan(value)), reverse=True)
    count = min(max(int(np.round(0.1 * len(values))), 1), 10)
    inner = max(count // 4, 1)
    start = values[count - 1]
    ratio = max(values[inner - 1], 1e-9) / max(start, 1e-9)
    exponent = min(max(math.log(ratio) / math.log(max(count / inner, 1.5)), 0.0), 0.5)
    if median_exponent is None:
        return exponent
    beyond = max(count / max(len(values) * chance, 1e-9), 1.0)
    return start * beyond ** ((exponent + median_exponent) / 2) if start > 0 else 0.0
