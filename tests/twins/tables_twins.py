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


SPACES_AND_APOSTROPHES = {"\u00a0": " ", "\u2007": " ", "\u2009": " ", "\u202f": " ", "\u2019": "'"}


def number_in(text, decimal, thousands):
    """Read a cell character by character in one convention; None when it is no number in it."""
    text = "".join(SPACES_AND_APOSTROPHES.get(character, character) for character in text.strip())
    sign = 1
    if text[:1] in ("+", "-"):
        sign = -1 if text[0] == "-" else 1
        text = text[1:]
    mantissa, power = text, None
    for letter in "eE":
        if letter in text:
            mantissa, _, power = text.partition(letter)
    whole, mark, fraction = mantissa.partition(decimal)
    groups = whole.split(thousands) if thousands else [whole]
    if any(character not in "0123456789" for part in (*groups, fraction) for character in part):
        return None
    if len(groups) > 1:
        sizes = [len(group) for group in groups]
        if power is not None or not 1 <= sizes[0] <= 3 or set(sizes[1:]) != {3} or groups[0][0] == "0":
            return None
    elif not whole and not (mark and fraction):
        return None
    exponent = 0
    if power is not None:
        digits = power[1:] if power[:1] in ("+", "-") else power
        if not digits or any(digit not in "0123456789" for digit in digits):
            return None
        exponent = int(power)
    return sign * float(f"{''.join(groups) or '0'}.{fraction or '0'}e{exponent}")


def read_in_one_convention(columns, separator):
    """Read columns of cells by the rules of the guide: (rows of numbers, None), or (None, why it is refused)."""
    conventions = [(d, t) for d in ".," for t in ("", ".", ",", " ", "'", "_") if d != t]
    cells = [cell for column in columns for cell in column]
    numbers = [cell for cell in cells if any(number_in(cell, *each) is not None for each in conventions)]
    fitting = [each for each in conventions if all(number_in(number, *each) is not None for number in numbers)]
    if not fitting:
        return None, "two ways"
    two_meanings = {number for number in numbers if len({number_in(number, *each) for each in fitting}) > 1}
    if separator == ",":
        fitting = [each for each in fitting if "," not in each]
        if not fitting:
            return None, "commas"
    if two_meanings:
        mixed = any(
            cell in two_meanings
            and any(other.lstrip("+-").isdigit() and len(other.lstrip("+-")) <= 3 for other in column)
            for column in columns
            for cell in column
        )
        if separator in (";", "\t", "|") or mixed or any("," in number for number in two_meanings):
            return None, "two meanings"
        fitting = [each for each in fitting if each[0] == "."]
    return [[number_in(cell, *fitting[0]) for cell in column] for column in columns], None
