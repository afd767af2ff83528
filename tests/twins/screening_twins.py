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
        self.activity, self.change, self.size = (
            [float(row[sensor]) for row in table] for table in (habits.activity, habits.change, habits.size)
        )
        self.scales, self.last, self.before, self.base = scales, None, None, 0.0
        self.run = self.gap = self.age = 0
        spans = {name: float(span) for name, span in scales._asdict().items()}
        self.spans = [spans[name] for name in ("fast", "slow", "long", "long", "long", "long", "slow", "slow")]
        self.smooth = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, float(habits.movement[sensor])]

    def advance(self, reading, deviation, difference, asleep, row, wild, ill, frozen):
        """Take in one reading; None for what is not known."""
        if reading is None:
            self.gap += 1
            return
        self.gap = 0
        if not asleep:
            self.run = self.run + 1 if reading == self.last else 0
        if not asleep and not (wild and self.age < 3):
            for place, value in enumerate(self.news(reading, deviation, difference, row)):
                if value is not None:
                    span = min(self.spans[place], 2 * self.scales.fast) if ill else self.spans[place]
                    self.smooth[place] += 2 / (1 + span) * (value - self.smooth[place])
            followed = deviation - difference if frozen else deviation
            self.base += min(max(followed, -2.0), 2.0) / (7 * 2 * self.scales.long)
        self.last = reading

    def news(self, reading, deviation, difference, row):
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
        return [clipped, clipped, side, min(abs(relative), 4.0), product, said**2, square, moved]

    def believe(self, difference, believed):
        """Keep the difference with which the next is compared."""
        if difference is not None and believed:
            self.before, self.age = difference, 0
        else:
            self.age += 1


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
