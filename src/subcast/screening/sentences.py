"""Plain sentences that say why a reading or a sensor is not believed."""

from __future__ import annotations

import numpy as np

from subcast.names import plural

_UNITS = ((86400, "day"), (3600, "hour"), (60, "minute"), (1, "second"))


def duration(steps: int, step: int | None) -> str:
    """Write how long a number of steps is; `step` in nanoseconds, None if steps are only counted.

    >>> duration(7, 300 * 10**9), duration(30, 3600 * 10**9), duration(7, None)
    ('35 minutes', '30 hours', '7 steps')
    """
    if step is None:
        return plural(steps, "step")
    seconds = steps * step / 1e9
    for size, unit in _UNITS:
        if seconds >= (1.5 if size == 86400 else 1) * size or size == 1:
            count = round(seconds / size, 1 if seconds < 10 * size and seconds % size else None)
            return f"{count:g} {unit}{'' if count == 1 else 's'}"
    raise AssertionError("unreachable")


def number(value: float) -> str:
    """Write a reading with four significant digits.

    >>> number(61.53789), number(-0.00012), number(123456.0)
    ('61.54', '-0.00012', '1.235e+05')
    """
    return f"{value:.4g}"


def out_of_range(reading: float, low: float, high: float) -> str:
    """Say that a reading is beyond the possible ones."""
    if not np.isfinite(reading):
        return f"sent {reading:g}, which is no reading"
    return f"reads {number(reading)}, and only {_range(low, high)} is possible"


def _range(low: float, high: float) -> str:
    if np.isinf(low) and np.isinf(high):
        return "a reading that is no code for a missing one"
    if np.isinf(low) or np.isinf(high):
        return f"at most {number(high)}" if np.isinf(low) else f"at least {number(low)}"
    return f"{number(low)} to {number(high)}"


def silent(gap: str, longest: str) -> str:
    """Say that a sensor has sent nothing for long."""
    return f"has sent nothing for {gap}; the longest usual gap is {longest}"


def stuck(reading: float, run: str, longest: str, *, alone: bool = False) -> str:
    """Say that a sensor repeats its reading, maybe while the others say something else."""
    others, then = (" while the other sensors say something else", " then") if alone else ("", "")
    return f"has read {number(reading)} for {run} without a change{others}; up to {longest} is usual{then}"


def still(while_: str) -> str:
    """Say that a sensor hardly moves."""
    return f"has hardly moved for about {while_}, less than ever in training"


def differs(reading: float, expected: float, low: float, high: float) -> str:
    """Say that a reading is not what the other sensors say."""
    return f"reads {number(reading)} where the other sensors say {number(expected)} ({number(low)} to {number(high)})"


def jumped(reading: float, before: float) -> str:
    """Say that a reading jumped alone."""
    return f"jumped from {number(before)} to {number(reading)} while the other sensors did not"


def biased(difference: float | None, side: str, while_: str) -> str:
    """Say that a sensor has been too high or too low for a while, by how much if that is known."""
    by = "" if difference is None else f"{number(difference)} "
    return f"has been {by}{side} what the other sensors say for about {while_}"


def mismatched(times: float, while_: str) -> str:
    """Say that a sensor does not follow the others."""
    return f"has differed from what the other sensors say {times:.1f} times as much as usual for about {while_}"


def unlike(while_: str) -> str:
    """Say that a sensor does not do what the others do."""
    return f"has not followed the other sensors for about {while_}: it stays where it is or shows something else"


def trembling(times: float, while_: str) -> str:
    """Say that a sensor jumps about."""
    return f"trembles: over {while_} its readings jumped {times:.1f} times as much as usual while the others did not"


def too_new(count: int, needed: int) -> str:
    """Say that a sensor has sent too little to judge it by its past."""
    return f"has sent {plural(count, 'reading')} so far, and {needed} are needed to judge it by them"


def alone() -> str:
    """Say that there is no other sensor to compare with."""
    return "no other sensor that is believed has sent a reading to compare it with"


def event(count: int) -> str:
    """Say why many sensors that differ at once are not taken for ill."""
    return f"so do {plural(count, 'other sensor')} at the same time, more than faults explain: taken as a real event"
