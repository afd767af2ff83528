"""Time of day, day of the week and slots of the day: the only module that computes them from times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

_DAY = np.timedelta64(1, "D")
_NANOSECONDS = 86_400_000_000_000  # of a day
_LEAST_DAYS = 4
"""Days that the times must span before a daily profile is used."""

MOST_SLOTS = 1440
"""Slots of a day at most: one for each minute."""

HALF_SLOT = 0.5001
"""What is added before rounding down to a slot: times half way between two slots all belong to the later one."""


def spans_two_years(times: NDArray[np.datetime64]) -> bool:
    """Return whether steps at these times, in their order, cover at least two years of 365 days.

    >>> spans_two_years(np.arange("2021-01-01", "2023-01-01", dtype="datetime64[D]"))
    True
    """
    step = times[1] - times[0] if times.size > 1 else np.timedelta64(0, "s")
    return bool(times.size and (times[-1] - times[0] + step) / _DAY >= 2 * 365)


def share_of_day(times: NDArray[np.datetime64]) -> NDArray[np.float64]:
    """Return the share of the day that has passed at each time, in [0, 1).

    >>> share_of_day(np.array(["2024-01-01T18:00"], dtype="datetime64[m]"))
    array([0.75])
    """
    return np.asarray((times - times.astype("datetime64[D]")) / _DAY)


def time_of_day(times: NDArray[np.datetime64]) -> NDArray[np.float32]:
    """Return the time of day as a feature of a model: a share of the day in [0, 1), as float32."""
    share = share_of_day(times).astype(np.float32)
    return np.minimum(share, np.nextafter(np.float32(1), np.float32(0)))  # the last millisecond would round to 1


def day_of_week(times: NDArray[np.datetime64]) -> NDArray[np.float32]:
    """Return the day of the week as a share of the week in [0, 1); Monday is 0."""
    days = times.astype("datetime64[D]").view(np.int64)
    return ((days + 3) % 7 / 7).astype(np.float32)  # 1970-01-01 was a Thursday


TIME_FEATURES = {"time_of_day": time_of_day, "day_of_week": day_of_week}
"""Features that are computed from the times; each maps them to [0, 1)."""


def time_features_of(times: NDArray[np.datetime64], names: Sequence[str]) -> NDArray[np.float32]:
    """Compute time features [t, f - 1] from times [t].

    >>> time_features_of(np.array(["2024-01-01T06:00"], dtype="datetime64[m]"), ["time_of_day"])
    array([[0.25]], dtype=float32)
    """
    return np.stack([TIME_FEATURES[name](times) for name in names], axis=1)


def slots_a_day(times: NDArray[np.datetime64] | None) -> int:
    """Return the number of slots of a day at the rate of these times, one slot for each step.

    It is 1 when the time of day is not used: without times, with steps longer than half a day or shorter than a minute,
    or when the times span less than four days.

    >>> slots_a_day(np.arange("2024-01-01", "2024-01-09", 10, dtype="datetime64[m]"))
    144
    >>> slots_a_day(np.arange("2024-01-01", "2024-02-09", dtype="datetime64[D]"))
    1
    """
    if times is None or times.size < 3 or times[-1] - times[0] < _LEAST_DAYS * _DAY:
        return 1
    slots = round(1 / float(np.median(np.diff(times) / _DAY)))
    return slots if 2 <= slots <= MOST_SLOTS else 1


def slot_of_day(times: NDArray[np.datetime64], slots: int) -> NDArray[np.int64]:
    """Return the slot of the day of each time, 0 the first: the nearest one, so that a time may be a little off."""
    return np.floor(share_of_day(moved_into_slot(times, slots)) * slots).astype(np.int64)


def moved_into_slot(times: NDArray[np.datetime64], slots: int) -> NDArray[np.datetime64]:
    """Return the times half a slot later: each then lies inside the slot (and day) that it was nearest to.

    >>> moved_into_slot(np.array(["2024-01-01T23:50"], dtype="datetime64[m]"), 24).astype("datetime64[h]")
    array(['2024-01-02T00'], dtype='datetime64[h]')
    """
    return np.asarray(times + np.timedelta64(round(HALF_SLOT * _NANOSECONDS / slots), "ns"))


def slot_of_share(share: NDArray[np.floating[Any]], slots: int) -> NDArray[np.int64]:
    """Return the slots of times of day that are given as shares of a day in [0, 1).

    >>> slot_of_share(np.array([0.5, 1.5, 2.5, 3.5]) / 4, 4)            # readings half way between two slots
    array([1, 2, 3, 0])
    """
    return np.floor(np.asarray(share, dtype=np.float64) * slots + HALF_SLOT).astype(np.int64) % slots


def circle_of_day(slots: NDArray[np.int64], per_day: int, weight: float) -> NDArray[np.float32]:
    """Return each slot as a point on a circle of radius `weight`, [..., 2], on which 23:55 is near midnight."""
    angle = 2 * np.pi * slots / per_day
    return (weight * np.stack([np.sin(angle), np.cos(angle)], axis=-1)).astype(np.float32)
