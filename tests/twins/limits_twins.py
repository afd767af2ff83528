"""Slow twin of the limits: one reading at a time, and all subsets of a window."""

import math
from itertools import combinations, pairwise

CODES = {-99, -999, -9999, 999, 9999, 99999, 999999, -999999, 32767, -32768}


def causes(window, low, high, change, seen_low, seen_high):
    """Return why each reading of one variable's window is beyond its limits: "", "low", "high", "code", "change"."""
    reasons = []
    for reading in window:
        width = seen_high - seen_low
        if math.isnan(reading):
            reasons.append("")
        elif reading < low:
            reasons.append("low")
        elif reading > high:
            reasons.append("high")
        elif reading in CODES and (
            reading < seen_low - width or reading > seen_high + width or reading < 0 <= seen_low
        ):
            reasons.append("code")
        else:
            reasons.append("")
    steps = [step for step, reading in enumerate(window) if not math.isnan(reading) and reasons[step] == ""]
    kept = largest_possible(window, steps, change)
    return ["change" if step in steps and step not in kept else reason for step, reason in enumerate(reasons)]


def window_causes(window, limits):
    """Return the causes [n][t] of a window [n][t] of several variables with limits [n] as `causes` takes them."""
    found = [causes(column, **own) for column, own in zip(window, limits, strict=True)]
    for step in range(len(window[0])):
        possible = [
            reasons[step]
            for column, reasons in zip(window, found, strict=True)
            if not math.isnan(column[step]) and reasons[step] in ("", "change")
        ]
        if len(possible) >= 3 and possible.count("change") > len(possible) / 2:
            for reasons in found:
                reasons[step] = "" if reasons[step] == "change" else reasons[step]
    return found


def largest_possible(window, steps, change):
    """Return the largest set of steps whose readings can follow one another; of several, the one with the newest."""
    for size in range(len(steps), 0, -1):
        possible = [chosen for chosen in combinations(steps, size) if can_follow(window, chosen, change)]
        if possible:
            return max(possible, key=lambda chosen: chosen[::-1])
    return ()


def can_follow(window, chosen, change):
    return all(abs(window[after] - window[before]) <= change * (after - before) for before, after in pairwise(chosen))


def qartod(window, low, high, change, seen_low, seen_high):
    """Return the QARTOD code of each reading of one variable's window."""
    reasons = causes(window, low, high, change, seen_low, seen_high)
    codes = []
    for reading, reason in zip(window, reasons, strict=True):
        if math.isnan(reading):
            codes.append(9)
        elif reason == "change":
            codes.append(3)
        elif reason:
            codes.append(4)
        else:
            codes.append(2 if math.isinf(low) and math.isinf(high) and math.isinf(change) else 1)
    return codes
