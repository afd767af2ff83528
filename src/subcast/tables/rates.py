"""Rates and steps: how far apart the steps of a rate are, and how steps and times are written in messages."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from subcast.errors import DataError
from subcast.tables.zones import offset_name, wall_clock

FAR_FROM_GRID = 0.1
"""A time further than this share of a step from its grid point lies off the grid."""

SECOND = 1_000_000_000
DAY = 86_400 * SECOND


@lru_cache(maxsize=16)
def fixed_step(freq: str) -> int | None:
    """Return the step of a rate in nanoseconds, or None for a calendar rate such as months.

    >>> fixed_step("5min"), fixed_step("MS")
    (300000000000, None)
    """
    import pandas as pd

    try:
        offset = pd.tseries.frequencies.to_offset(freq)
    except (ValueError, AttributeError):
        raise _wrong_rate(freq) from None
    try:
        return int(pd.Timedelta(offset).value)  # type: ignore[arg-type]
    except (ValueError, TypeError):
        return None


def check_rate(freq: str) -> int | None:
    """Return the step of a rate that a user gave, or refuse it when it is not a rate that leads forward.

    >>> check_rate("often")
    Traceback (most recent call last):
        ...
    subcast.errors.DataError: freq must be a rate as pandas writes it, such as '5min', 'h', 'D' or 'MS', got 'often'
    """
    import pandas as pd

    step = fixed_step(freq)
    offset = pd.tseries.frequencies.to_offset(freq)
    if offset is None or offset.n <= 0:
        raise _wrong_rate(freq)
    return step


def _wrong_rate(freq: object) -> DataError:
    return DataError(f"freq must be a rate as pandas writes it, such as '5min', 'h', 'D' or 'MS', got {freq!r}")


def step_name(step: int) -> str:
    """Write a step in nanoseconds as pandas does.

    >>> step_name(300 * 10**9), step_name(3600 * 10**9), step_name(2 * 86400 * 10**9)
    ('5min', '1h', '2D')
    """
    for size, unit in ((86400, "D"), (3600, "h"), (60, "min"), (1, "s")):
        if step % (size * SECOND) == 0:
            return f"{step // (size * SECOND)}{unit}"
    for size, unit in ((1_000_000, "ms"), (1000, "us")):
        if step % size == 0:
            return f"{step // size}{unit}"
    return f"{step}ns"


def moment_text(stamp: int | np.int64, counted: bool = False, zone: str | None = None) -> str:
    """Write a time (in the zone, if it has one) or a step number for a message.

    >>> moment_text(3600 * 10**9), moment_text(7, counted=True)
    ('1970-01-01 01:00:00', 'step 7')
    >>> moment_text(3600 * 10**9 + 2_500_000), moment_text(3600 * 10**9, zone="Asia/Tokyo")
    ('1970-01-01 01:00:00.0025', '1970-01-01 10:00:00+09:00')
    """
    return f"step {int(stamp)}" if counted else time_texts(np.array([stamp]).view("datetime64[ns]"), zone, " ")[0]


def time_texts(times: NDArray[np.datetime64], zone: str | None = None, between: str = "T") -> list[str]:
    """Write times [t], with the offset of their zone if they have one, and no more digits than the seconds need.

    >>> time_texts(np.array(["2024-07-01T12:00"], dtype="datetime64[ns]"), "Europe/Berlin")
    ['2024-07-01T14:00:00+02:00']
    """
    exact = times.astype("datetime64[ns]")
    wall = wall_clock(exact, zone)
    texts = np.datetime_as_string(wall, unit="ns")
    offsets = (wall - exact).astype("timedelta64[m]").astype(np.int64) if zone is not None else None
    return [
        "NaT"
        if np.isnat(exact[row])
        else text.rstrip("0").rstrip(".").replace("T", between) + _offset_text(offsets, row)
        for row, text in enumerate(texts.tolist())
    ]


def _offset_text(offsets: NDArray[np.int64] | None, row: int) -> str:
    """Write the offset of a row from UTC, given in minutes; nothing without offsets."""
    if offsets is None:
        return ""
    return "+00:00" if offsets[row] == 0 else offset_name(int(offsets[row]))


def commonest_step(times: NDArray[np.int64]) -> tuple[int, float]:
    """Return the commonest difference of consecutive times (the shortest of equally common ones), and its share.

    >>> commonest_step(np.array([0, 5, 10, 20]))
    (5, 0.6666666666666666)
    """
    steps, counts = np.unique(np.diff(times), return_counts=True)
    return int(steps[np.argmax(counts)]), float(counts.max() / counts.sum())


def counts_on_wall(times: NDArray[np.int64], wall: NDArray[np.int64], step: int) -> bool:
    """Return whether times lie on steps of their wall clock rather than of UTC; whole days, if they lie on both.

    >>> hour = 3600 * SECOND
    >>> counts_on_wall(np.array([0, 23, 47]) * hour, np.array([0, 24, 48]) * hour, 24 * hour)
    True
    """
    odd, odd_on_wall = (int(np.count_nonzero(np.diff(stamps) % step)) for stamps in (times, wall))
    return odd_on_wall < odd or (odd_on_wall == odd and step % DAY == 0)


def jitter_limit(step: int) -> float:
    """Return how far from its grid point a time may lie, in nanoseconds: a tenth of a step, at most half a day."""
    return min(FAR_FROM_GRID * step, DAY // 2)


def calendar_positions(times: NDArray[np.int64], freq: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the grid of a calendar rate from the first to the last time, and the position of each time on it.

    A time that is not on the grid has the position -1.

    >>> days = np.array(["2024-01-01", "2024-03-01", "2024-03-02"], dtype="datetime64[ns]").view(np.int64)
    >>> calendar_positions(days, "MS")[1]
    array([ 0,  2, -1])
    """
    import pandas as pd

    stamps = pd.DatetimeIndex(times.view("datetime64[ns]"))
    grid = pd.date_range(stamps[0], stamps[-1], freq=freq).as_unit("ns")
    return grid.asi8, grid.get_indexer(stamps).astype(np.int64)


def calendar_after(stamp: int, count: int, freq: str) -> NDArray[np.int64]:
    """Return `count` times of a calendar rate, beginning with a time that lies on it.

    >>> calendar_after(0, 3, "MS").view("datetime64[ns]").astype("datetime64[D]")
    array(['1970-01-01', '1970-02-01', '1970-03-01'], dtype='datetime64[D]')
    """
    import pandas as pd

    start = pd.Timestamp(int(stamp))
    return pd.date_range(start, periods=count, freq=freq).as_unit("ns").asi8
