"""Slow twins of the table readers: plain Python loops that share nothing with the package."""

from __future__ import annotations

import itertools
import math

NAN = float("nan")


def grid(times, rows, step):
    """Put rows on a regular grid with dicts: (times, rows, rows out of order, repeated times, missing steps)."""
    backward = sum(1 for before, after in itertools.pairwise(times) if after < before)
    by_time = {}
    repeated = 0
    for time, row in zip(times, rows, strict=True):
        if time in by_time:
            repeated += 1
            for position, reading in enumerate(row):
                if not math.isnan(reading):
                    by_time[time][position] = reading
        else:
            by_time[time] = list(row)
    first, last = min(by_time), max(by_time)
    steps, filled, missing = [], [], 0
    time = first
    while time <= last:
        steps.append(time)
        if time not in by_time:
            missing += 1
        filled.append(by_time.get(time, [NAN] * len(rows[0])))
        time += step
    return steps, filled, backward, repeated, missing


def looks_long(times, rows):
    """Whether half of the rows or more repeat a time, and a variable changes from one such row to the next."""
    order = sorted(range(len(times)), key=lambda row: times[row])
    repeats, changes = 0, 0
    for before, after in itertools.pairwise(order):
        if times[before] == times[after]:
            repeats += 1
            for old, new in zip(rows[before], rows[after], strict=True):
                changes += old == old and new == new and old != new
    return 2 * repeats >= len(times) and changes > 0


def window(stamps, rows, names, variables, lookback, step, limit=0):
    """Look up every reading of the last `lookback` steps by its name and its time: (times, readings).

    `rows` are lists of readings of the variables `names`; a row belongs to a step when its time lies within `limit` of
    it, and the last row is the last step.
    """
    times, readings = [], []
    for back in range(lookback - 1, -1, -1):
        time = stamps[-1] - back * step
        values = []
        for variable in variables:
            value = NAN
            for stamp, row in zip(stamps, rows, strict=True):
                if abs(stamp - time) <= limit:
                    for name, reading in zip(names, row, strict=True):
                        if name == variable:
                            value = reading
            values.append(value)
        times.append(time)
        readings.append(values)
    return times, readings


def pivot(ids, stamps, readings):
    """Turn long rows into wide ones: (variables in order of appearance, sorted times, rows)."""
    variables, times, cells = [], [], {}
    for variable, stamp, reading in zip(ids, stamps, readings, strict=True):
        if variable not in variables:
            variables.append(variable)
        if stamp not in times:
            times.append(stamp)
        if not math.isnan(reading):
            cells[variable, stamp] = reading
    times.sort()
    return variables, times, [[cells.get((variable, time), NAN) for variable in variables] for time in times]
