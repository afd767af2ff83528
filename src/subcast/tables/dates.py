"""Read dates: from a column of dates, of numbers or of text to moments and their zone.

======================================= ====================================================================
times                                   zone
======================================= ====================================================================
of a column with a zone                 that zone
text that ends in Z or +00:00           UTC
text that ends in one offset, +02:00    that offset
text of several offsets                 a zone of the time zone database that has them, noted; else UTC, noted
seconds and the like since 1970         UTC, from which they are counted
everything else                         none, or the one that the caller named
======================================= ====================================================================
"""

from __future__ import annotations

import datetime
import re
import warnings
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from subcast.errors import DataError, InputError
from subcast.names import listed
from subcast.tables.policy import Policy
from subcast.tables.rates import moment_text
from subcast.tables.zones import (
    Localized,
    Moments,
    checked_zone,
    find_zone,
    offset_name,
    offsets_of,
    repeated_hour,
    to_moments,
    zone_name,
)

TIME_NAMES = ("time", "times", "timestamp", "datetime", "date", "date_time", "ds")
_COMPACT_DATES = {8: "%Y%m%d", 10: "%Y%m%d%H", 12: "%Y%m%d%H%M", 14: "%Y%m%d%H%M%S"}
_FIRST_ENTRIES = 20
_ZONE_IN_NAME = re.compile(r"\s*\[([\w+/:-]+)\]\s*$")
_WRITTEN_ZONE = re.compile(r"(?:T|\s)\d{1,2}(?::?\d\d){0,2}(?:[.,]\d+)?\s*(?:(Z|UTC)|([+-]\d\d)(?::?(\d\d))?)$", re.I)
_EARLIEST, _LATEST = pd.Timestamp("1678-01-01"), pd.Timestamp("2262-01-01")
"""Dates outside of these cannot be held in nanoseconds and count as unreadable."""

EpochUnit = Literal["s", "ms", "us", "ns"]


class Ambiguity(NamedTuple):
    """Dates that can be read in two ways: the first of them, and what was taken to come first."""

    example: str
    order: str  # "day" or "month"


class Stamps(NamedTuple):
    """The times of a column, and how they were read.

    Attributes
    ----------
    moments
        [t], in UTC with a zone, else as the clock showed them; NaT where an entry cannot be read
    zone
        the name of their zone, None without
    ambiguity
        of dates that can be read in two ways
    note
        what was assumed about the zone
    """

    moments: NDArray[np.datetime64]
    zone: str | None
    ambiguity: Ambiguity | None = None
    note: str = ""


class ReadTimes(NamedTuple):
    """The times of a table.

    Attributes
    ----------
    stamps
        [t] nanoseconds, in UTC with a zone, else as the clock showed them
    readable
        [t], which of them can be read
    zone
        the name of their zone, None without
    assumed
        whether the zone was not written, but is the one that the reader was told to assume
    """

    stamps: Moments
    readable: NDArray[np.bool_]
    zone: str | None = None
    assumed: bool = False


class _Dates(NamedTuple):
    """The moments of a column with their zone, if they have one."""

    moments: pd.Series[Any]
    ambiguity: Ambiguity | None = None
    zone: str | None = None
    note: str = ""


def is_time_name(name: str) -> bool:
    """Return whether a column of this name holds the times; it may end with their zone.

    >>> is_time_name("Date"), is_time_name("time [Europe/Berlin]"), is_time_name("time lost")
    (True, True, False)
    """
    zone = _ZONE_IN_NAME.search(name)
    return (name if zone is None else name[: zone.start()]).strip().lower() in TIME_NAMES


def _zone_in_name(name: object) -> str | None:
    """Return the zone that ends the name of a column of times, as `Series.save` writes it."""
    found = _ZONE_IN_NAME.search(str(name))
    try:
        return None if found is None else checked_zone(found[1])
    except InputError:
        return None


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


def to_stamps(column: pd.Series[Any], source: str, likely: str | None = None) -> Stamps:
    """Return the times of a column, NaT where an entry cannot be read as one; `likely` is the zone they may be in."""
    moments, ambiguity, zone, note = _moments_of(column, source, _zone_in_name(column.name) or likely)
    if getattr(moments.dtype, "tz", None) is not None:
        zone = zone or zone_name(moments.dt.tz) or "UTC"
        moments = moments.dt.tz_convert("UTC").dt.tz_localize(None)
    moments = moments.where((moments >= _EARLIEST) & (moments < _LATEST))
    return Stamps(moments.to_numpy(dtype="datetime64[ns]"), zone, ambiguity, note)


def readable_stamps(column: pd.Series[Any], policy: Policy, groups: NDArray[np.int64] | None = None) -> ReadTimes:
    """Return the times of a column, and which of them can be read.

    Unreadable times, dates that can be read in two ways and doubts about the zone are reported to the policy.

    Parameters
    ----------
    column
        the times, in any form
    policy
        decides about problems, and knows the zone of times that are written without one
    groups
        [t] the variable of each row of a long table, whose rows follow one another for each variable
    """
    stamps = to_stamps(column, policy.source, policy.zone)
    readable = check_readable(np.isnat(stamps.moments), column, policy)
    if stamps.ambiguity is not None:
        policy.ambiguous_dates(*stamps.ambiguity)
    if stamps.note:
        policy.inferred_zone(stamps.note)
    if stamps.zone is not None:
        return ReadTimes(stamps.moments.view(np.int64), readable, stamps.zone)
    return clock_times(stamps.moments.view(np.int64), readable, policy, groups)


def clock_times(
    wall: Moments, readable: NDArray[np.bool_], policy: Policy, groups: NDArray[np.int64] | None = None
) -> ReadTimes:
    """Return the moments of times without a zone if their zone is known, or if an hour comes twice; else the times.

    Live tables may hold the hour that comes twice when clocks are set back; its second pass goes back in time, on a
    date on which the clocks of some zone were set back by as much.
    """
    zone = policy.zone
    if zone is None and policy.sees_clocks_set_back:
        zone = _zone_of_repeated_hour(wall, groups)
    if zone is None:
        return ReadTimes(wall, readable)
    local = _by_group(wall, groups, zone)
    if local.skipped.any():
        policy.skipped_times(moment_text(wall[np.argmax(local.skipped)]), int(local.skipped.sum()), zone)
        readable = readable & ~local.skipped
    return ReadTimes(local.moments, readable, zone, assumed=True)


def _zone_of_repeated_hour(wall: Moments, groups: NDArray[np.int64] | None) -> str | None:
    for rows in _rows_of_groups(wall.size, groups):
        back = np.flatnonzero(wall[rows][1:] <= wall[rows][:-1])
        if back.size:
            found = repeated_hour(int(wall[rows][back[0]]), int(wall[rows][back[0] + 1]))
            return None if found is None else found.zone
    return None


def _by_group(wall: Moments, groups: NDArray[np.int64] | None, zone: str) -> Localized:
    """Return the moments of times of a clock, those of each variable in their own order."""
    local = Localized(np.empty_like(wall), np.zeros(wall.shape, bool), np.zeros(wall.shape, bool))
    for rows in _rows_of_groups(wall.size, groups):
        for found, part in zip(local, to_moments(wall[rows], zone), strict=True):
            found[rows] = part
    return local


def _rows_of_groups(size: int, groups: NDArray[np.int64] | None) -> list[NDArray[np.int64]]:
    if groups is None:
        return [np.arange(size)]
    order = np.argsort(groups, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(groups[order])) + 1)


def read_time(time: Any, likely: str | None = None) -> tuple[int, str | None]:
    """Return one time in nanoseconds (in UTC if it has a zone) and its zone; `likely` is the zone it may be in.

    >>> read_time("2024-01-01 01:00+01:00")
    (1704067200000000000, '+01:00')
    """
    try:
        if isinstance(time, datetime.datetime | np.datetime64):  # pandas' Timestamp is a datetime
            moment = pd.Timestamp(time)
            if not pd.isna(moment):
                zone = None if moment.tz is None else zone_name(moment.tz)
                if moment.tz is None or zone is not None:
                    return int(moment.as_unit("ns").value), zone
        stamps = to_stamps(pd.Series([time]), "time", likely)
    except (TypeError, ValueError):  # also dates that nanoseconds do not hold, and numbers that are no times
        raise _no_time(time) from None
    if np.isnat(stamps.moments[0]) or stamps.ambiguity is not None:
        raise _no_time(time)
    return int(stamps.moments.view(np.int64)[0]), stamps.zone


def _no_time(time: object) -> InputError:
    return InputError(f"time must be a moment such as '2024-01-31 12:00' between the years 1678 and 2262, got {time!r}")


def check_readable(unreadable: NDArray[np.bool_], entries: pd.Series[Any], policy: Policy) -> NDArray[np.bool_]:
    """Report the times that cannot be read to the policy, and return which of them can."""
    if unreadable.any():
        row = int(np.argmax(unreadable))
        policy.unreadable_times(row, entries.iloc[row], int(unreadable.sum()), unreadable.size)
    return ~unreadable


def _moments_of(column: pd.Series[Any], source: str, likely: str | None) -> _Dates:
    """Read a column of any type."""
    if pd.api.types.is_bool_dtype(column.dtype):
        raise DataError(f"the times in {source} are true and false: name the column of times with time=")
    if pd.api.types.is_timedelta64_dtype(column.dtype):
        raise DataError(f"the times in {source} are durations: add the moment they count from (start + durations)")
    if pd.api.types.is_numeric_dtype(column.dtype):
        return _numbers_to_moments(column, source)
    if isinstance(column.dtype, pd.PeriodDtype):
        return _Dates(column.dt.to_timestamp())
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        return _Dates(column)
    column = _stripped(column)
    dates = _parse_dates(column)
    return dates if dates.moments.dt.tz is None else _with_written_zone(dates, column, source, likely)


def _numbers_to_moments(column: pd.Series[Any], source: str) -> _Dates:
    """Read numbers such as 20240131 as dates, and others as counted from 1970 in UTC."""
    first = column.dropna().head(1).to_numpy()
    if not first.size:
        return _Dates(pd.Series(pd.NaT, index=column.index, dtype="datetime64[ns]"))
    form = _COMPACT_DATES.get(len(f"{first[0]:.0f}"))
    if form is not None and str(first[0])[:2] in ("19", "20"):
        digits = column.map(lambda number: f"{number:.0f}", na_action="ignore")
        dates = pd.to_datetime(digits, format=form, errors="coerce")
        if dates.notna().equals(digits.notna()) and dates.dropna().dt.year.between(1900, 2099).all():
            return _Dates(dates)
    return _Dates(pd.to_datetime(column, unit=_epoch_unit(column, source), errors="coerce"), zone="UTC")


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


def _with_written_zone(dates: _Dates, column: pd.Series[Any], source: str, likely: str | None) -> _Dates:
    """Return dates of which at least one has a zone, with the zone that all of them are in."""
    entries = column.where(dates.moments.notna())
    names = {zone_name(getattr(entry, "tzinfo", None)) for entry in entries.dropna()}
    if len(names) == 1 and None not in names:
        return dates._replace(zone=names.pop())
    minutes = np.array([_written_offset(entry) for entry in entries])  # NaN where unread or without an offset
    known = dates.moments.notna().to_numpy()
    without = known & np.isnan(minutes)
    if without.any():
        raise DataError(
            f"{source} has times with and without a zone ({str(column[known].iloc[0])!r} and "
            f"{str(column[without].iloc[0])!r}): write all of them in one way"
        )
    return _zone_of_offsets(dates, minutes[known].astype(np.int64), likely)


def _zone_of_offsets(dates: _Dates, minutes: NDArray[np.int64], likely: str | None) -> _Dates:
    different = np.unique(minutes)
    if not different.size:  # no time can be read, which is said elsewhere
        return dates._replace(zone="UTC")
    moments = dates.moments.dropna().dt.tz_convert("UTC").dt.tz_localize(None).to_numpy(dtype="datetime64[ns]")
    stamps, offsets = moments.view(np.int64), minutes * 60_000_000_000
    if different.size == 1:
        fits = likely is not None and different[0] and np.array_equal(offsets_of(stamps, likely), offsets)
        return dates._replace(zone=likely if fits else offset_name(int(different[0])))
    names = listed([offset_name(int(offset)) for offset in different])
    zone = find_zone(stamps, offsets, () if likely is None else (likely,))
    if zone is None:
        note = f"the times have the offsets {names}, which no zone has at these times: taken in UTC, name it with zone="
        return dates._replace(zone="UTC", note=note)
    if zone == likely:
        return dates._replace(zone=zone)
    note = f"the times have the offsets {names} as {zone} has them: taken in that zone, name another with zone="
    return dates._replace(zone=zone, note=note)


def _written_offset(entry: object) -> float:
    """Return the offset that a date ends with, in minutes; NaN without one."""
    found = _WRITTEN_ZONE.search(str(entry))
    if found is None:
        return np.nan
    if found[1]:
        return 0.0
    hours, minutes = int(found[2][1:]), int(found[3] or 0)
    return float((60 * hours + minutes) * (-1 if found[2][0] == "-" else 1))


def _converted(column: pd.Series[Any], has_zone: bool, **convention: Any) -> pd.Series[Any]:
    """Read text as dates in one convention, NaT where that fails."""
    try:
        return pd.to_datetime(column, errors="coerce", utc=has_zone, **convention)
    except ValueError:  # parts of the text look like different zones, whatever `errors` says
        return pd.Series(pd.NaT, index=column.index, dtype="datetime64[ns]")


def _stripped(column: pd.Series[Any]) -> pd.Series[Any]:
    """Return text without blanks at its ends, which would hide a zone."""
    return column.map(lambda entry: entry.strip() if isinstance(entry, str) else entry, na_action="ignore")


def _parse_dates(column: pd.Series[Any]) -> _Dates:
    """Read dates written as text, in one convention for the whole column.

    ISO, month first and day first are tried. The convention that reads the most entries is taken; among equals the
    one with the fewest rows out of order, then the one with the fewest gaps. (Reading each entry on its own would
    turn 12/02 and 13/02 into two months.)
    """
    column = _stripped(column)
    has_zone = any(_WRITTEN_ZONE.search(entry) for entry in column.dropna().astype(str))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        iso = _converted(column, has_zone, format="ISO8601")
        if iso.notna().all():
            return _Dates(iso)
        month_first = _converted(column, has_zone)
        day_first = _converted(column, has_zone, dayfirst=True)
    first, second = _leading_numbers(column)  # pandas may read each entry in its own order
    month_first, day_first = month_first.mask(first > 12), day_first.mask(second > 12)
    conventions = {"": iso, "month": month_first, "day": day_first}
    faults = {order: _count_faults(moments) for order, moments in conventions.items()}
    best = min(faults, key=lambda order: faults[order])
    undecided = faults["month"][:2] == faults["day"][:2] == faults[best][:2]
    if undecided and best and not month_first.equals(day_first):
        evener, less_even = sorted((faults["month"][2], faults["day"][2]))
        if less_even < 2 * evener:
            return _Dates(
                conventions[best], Ambiguity(str(column[month_first.ne(day_first) & column.notna()].iloc[0]), best)
            )
    return _Dates(conventions[best])


def _leading_numbers(column: pd.Series[Any]) -> tuple[pd.Series[Any], pd.Series[Any]]:
    """Return the first two numbers of dates such as 13.02.24, one of which is the month; NaN for other text."""
    numbers = column.astype(str).str.extract(r"^(\d{1,2})[./-](\d{1,2})[./-]\d{2}").astype(float)
    return numbers[0], numbers[1]


def _count_faults(moments: pd.Series[Any]) -> tuple[int, int, float]:
    """Return how many entries are unread, how many out of order, and how many steps there are for each time."""
    known = moments.dropna()
    backward = known.diff().dropna() < pd.Timedelta(0)
    return int(moments.isna().sum()), int(backward.sum()), _steps_for_each(known)


def _steps_for_each(moments: pd.Series[Any]) -> float:
    """Return how many of the shortest steps lie between the first and the last time, for each time; 1 without gaps.

    The order of the rows does not matter, and the steps of months count as equal.
    """
    times = np.unique(moments.to_numpy(dtype="datetime64[ns]").view(np.int64))
    if times.size < 2:
        return 1.0
    steps = np.diff(times)
    if (moments.dt.day == 1).all() and steps.min() >= 28 * 86_400 * 10**9:
        months = 12 * moments.dt.year + moments.dt.month
        return float(months.max() - months.min() + 1) / times.size
    return (float(times[-1] - times[0]) / float(steps.min()) + 1) / times.size
