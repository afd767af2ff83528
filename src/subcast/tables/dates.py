"""Read dates: from a column of dates, of numbers or of text to moments in UTC."""

from __future__ import annotations

import datetime
import warnings
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from subcast.errors import DataError
from subcast.tables.policy import Policy

TIME_NAMES = ("time", "times", "timestamp", "datetime", "date", "date_time", "ds")
_COMPACT_DATES = {8: "%Y%m%d", 10: "%Y%m%d%H", 12: "%Y%m%d%H%M", 14: "%Y%m%d%H%M%S"}
_FIRST_ENTRIES = 20
_EARLIEST, _LATEST = pd.Timestamp("1678-01-01"), pd.Timestamp("2262-01-01")
"""Dates outside of these cannot be held in nanoseconds and count as unreadable."""

EpochUnit = Literal["s", "ms", "us", "ns"]


class Ambiguity(NamedTuple):
    """Dates that can be read in two ways: the first of them, and what was taken to come first."""

    example: str
    order: str  # "day" or "month"


class Stamps(NamedTuple):
    """The moments of a column in UTC, NaT where an entry cannot be read, and how they were read."""

    moments: NDArray[np.datetime64]
    converted: bool  # from another zone to UTC
    ambiguity: Ambiguity | None


class _Moments(NamedTuple):
    """The moments of a column with their zone, if they have one."""

    moments: pd.Series[Any]
    ambiguity: Ambiguity | None = None


def is_time_name(name: str) -> bool:
    """Return whether a column of this name holds the times."""
    return name.strip().lower() in TIME_NAMES


def looks_like_times(column: pd.Series[Any]) -> bool:
    """Return whether a column of text or of date objects reads as dates, judged by its first entries."""
    if pd.api.types.is_datetime64_any_dtype(column.dtype) or isinstance(column.dtype, pd.PeriodDtype):
        return True
    if pd.api.types.is_numeric_dtype(column.dtype) or pd.api.types.is_bool_dtype(column.dtype):
        return False
    head = column.dropna().head(_FIRST_ENTRIES)
    if head.empty or not all(_may_be_date(entry) for entry in head):
        return False
    return bool(_parse_dates(head).moments.notna().all())


def _may_be_date(entry: object) -> bool:
    return isinstance(entry, datetime.date) or (isinstance(entry, str) and any(mark in entry for mark in "-/:."))


def to_stamps(column: pd.Series[Any], source: str) -> Stamps:
    """Return the moments of a column in UTC, NaT where an entry cannot be read as one."""
    moments, ambiguity = _moments_of(column, source)
    zone = getattr(moments.dtype, "tz", None)
    converted = False
    if zone is not None:
        converted = str(zone) != "UTC" or not pd.api.types.is_datetime64_any_dtype(column.dtype)
        moments = moments.dt.tz_convert("UTC").dt.tz_localize(None)
    moments = moments.where((moments >= _EARLIEST) & (moments < _LATEST))
    return Stamps(moments.to_numpy(dtype="datetime64[ns]"), converted, ambiguity)


def readable_stamps(column: pd.Series[Any], policy: Policy) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the times of a column in nanoseconds, and which of them can be read.

    Unreadable times, dates that can be read in two ways and times with a zone are reported to the policy.
    """
    stamps = to_stamps(column, policy.source)
    readable = check_readable(np.isnat(stamps.moments), column, policy)
    if stamps.ambiguity is not None:
        policy.ambiguous_dates(*stamps.ambiguity)
    if stamps.converted:
        policy.time_zone()
    return stamps.moments.view(np.int64), readable


def check_readable(unreadable: NDArray[np.bool_], entries: pd.Series[Any], policy: Policy) -> NDArray[np.bool_]:
    """Report the times that cannot be read to the policy, and return which of them can."""
    if unreadable.any():
        row = int(np.argmax(unreadable))
        policy.unreadable_times(row, entries.iloc[row], int(unreadable.sum()), unreadable.size)
    return ~unreadable


def _moments_of(column: pd.Series[Any], source: str) -> _Moments:
    """Read a column of any type."""
    if pd.api.types.is_bool_dtype(column.dtype):
        raise DataError(f"the times in {source} are true and false: name the column of times with time=")
    if pd.api.types.is_timedelta64_dtype(column.dtype):
        raise DataError(f"the times in {source} are durations: add the moment they count from (start + durations)")
    if pd.api.types.is_numeric_dtype(column.dtype):
        return _Moments(_numbers_to_moments(column, source))
    if isinstance(column.dtype, pd.PeriodDtype):
        return _Moments(column.dt.to_timestamp())
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        return _Moments(column)
    return _parse_dates(column)


def _numbers_to_moments(column: pd.Series[Any], source: str) -> pd.Series[Any]:
    """Read numbers such as 20240131 as dates, and others as counted from 1970."""
    first = column.dropna().head(1).to_numpy()
    if not first.size:
        return pd.Series(pd.NaT, index=column.index, dtype="datetime64[ns]")
    form = _COMPACT_DATES.get(len(f"{first[0]:.0f}"))
    if form is not None and str(first[0])[:2] in ("19", "20"):
        digits = column.map(lambda number: f"{number:.0f}", na_action="ignore")
        dates = pd.to_datetime(digits, format=form, errors="coerce")
        if dates.notna().equals(digits.notna()) and dates.dropna().dt.year.between(1900, 2099).all():
            return dates
    return pd.to_datetime(column, unit=_epoch_unit(column, source), errors="coerce")


def _epoch_unit(column: pd.Series[Any], source: str) -> EpochUnit:
    size = float(column.abs().median())
    units: tuple[tuple[EpochUnit, float], ...] = (("ns", 1e17), ("us", 1e14), ("ms", 1e11), ("s", 1e8))
    for unit, smallest in units:
        if size >= smallest:
            return unit
    raise DataError(
        f"the times in {source} are numbers around {size:g}, too small for seconds since 1970: "
        "give dates, or drop the column if the rows are simply in order"
    )


def _parse_dates(column: pd.Series[Any]) -> _Moments:
    """Read dates written as text, in one convention for the whole column.

    ISO, month first and day first are tried. The convention that reads the most entries is taken; among equals the
    one with the fewest rows out of order, then the one with the most even steps. (Reading each entry on its own would
    turn 12/02 and 13/02 into two months.)
    """
    has_zone = bool(column.astype(str).str.contains(r"(?:Z|[+-]\d\d:?\d\d)$", regex=True).any())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        iso = pd.to_datetime(column, errors="coerce", format="ISO8601", utc=has_zone)
        if iso.notna().all():
            return _Moments(iso)
        month_first = pd.to_datetime(column, errors="coerce", utc=has_zone)
        day_first = pd.to_datetime(column, errors="coerce", dayfirst=True, utc=has_zone)
    conventions = {"": iso, "month": month_first, "day": day_first}
    faults = {order: _count_faults(moments) for order, moments in conventions.items()}
    best = min(faults, key=lambda order: faults[order])
    undecided = faults["month"][:2] == faults["day"][:2] == faults[best][:2]
    if undecided and best and not month_first.equals(day_first):
        evener, less_even = sorted((faults["month"][2], faults["day"][2]))
        if less_even < 2 * evener:
            return _Moments(conventions[best], Ambiguity(str(column.dropna().iloc[0]), best))
    return _Moments(conventions[best])


def _count_faults(moments: pd.Series[Any]) -> tuple[int, int, float]:
    """Return how many entries are unread, how many out of order, and the longest step in shortest steps.

    The steps of months count as even.
    """
    steps = moments.dropna().diff().dropna().dt.total_seconds().to_numpy()
    forward = steps[steps > 0]
    unevenness = float(forward.max() / forward.min()) if forward.size else 1.0
    if (moments.dropna().dt.day == 1).all() and forward.size and forward.min() >= 28 * 86400:
        unevenness = 1.0
    return int(moments.isna().sum()), int((steps < 0).sum()), unevenness
