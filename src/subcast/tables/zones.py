"""Time zones: names of zones, the wall clock of moments, and the moments of a wall clock.

Times without a zone are kept as they are written (a wall clock). Times with a zone are kept as moments in UTC beside
the name of the zone: "UTC", an offset such as "+05:30", or a name of the time zone database such as "Europe/Berlin".
"""

from __future__ import annotations

import datetime
import re
import zoneinfo
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subcast.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

HOUR = 3_600_000_000_000
"""Nanoseconds; clocks are set by an hour (on Lord Howe Island by half of one)."""

_OFFSET = re.compile(r"([+-])(\d\d):?(\d\d)")
_COMMON_ZONES = (
    *("Europe/Berlin", "Europe/London", "America/New_York", "America/Chicago", "America/Denver"),
    *("America/Los_Angeles", "Europe/Athens", "Australia/Sydney", "Australia/Adelaide", "Pacific/Auckland"),
    *("America/Halifax", "America/St_Johns", "America/Anchorage", "Asia/Jerusalem", "America/Santiago"),
)
"""Zones that are tried first, since many share the rules of one of them."""

Moments = NDArray[np.int64]
"""Nanoseconds since 1970, in UTC or of a wall clock."""


@lru_cache(maxsize=64)
def open_zone(name: str) -> datetime.tzinfo:
    """Return the zone of a name, or refuse a name that no zone has.

    >>> open_zone("+05:30").utcoffset(None)
    datetime.timedelta(seconds=19800)
    >>> open_zone("Mars/Olympus")
    Traceback (most recent call last):
        ...
    subcast.errors.InputError: zone must be a name such as 'Europe/Berlin', 'UTC' or '+05:30', got 'Mars/Olympus'
    """
    if isinstance(name, str) and name:
        offset = _OFFSET.fullmatch(name)
        if offset is not None and int(offset[2]) < 24 and int(offset[3]) < 60:
            minutes = (60 * int(offset[2]) + int(offset[3])) * (-1 if offset[1] == "-" else 1)
            return datetime.timezone(datetime.timedelta(minutes=minutes))
        try:
            return datetime.UTC if name.upper() in ("UTC", "Z") else zoneinfo.ZoneInfo(name)
        except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
            pass
    raise InputError(f"zone must be a name such as 'Europe/Berlin', 'UTC' or '+05:30', got {name!r}")


def zone_name(zone: datetime.tzinfo | None) -> str | None:
    """Return the name of a zone object of any library; None without a zone, and for zones that have no name.

    >>> zone_name(datetime.UTC), zone_name(zoneinfo.ZoneInfo("Asia/Tokyo"))
    ('UTC', 'Asia/Tokyo')
    """
    if zone is None:
        return None
    name = getattr(zone, "key", None) or getattr(zone, "zone", None)
    if name:
        return "UTC" if name in ("Etc/UTC", "UCT", "Zulu") else str(name)
    fixed = zone.utcoffset(None)
    if fixed is not None:
        return offset_name(round(fixed.total_seconds() / 60))
    path = str(getattr(zone, "_filename", "")).partition("zoneinfo/")[2]  # as dateutil has it
    return path if path in zoneinfo.available_timezones() else None


def checked_zone(zone: str | datetime.tzinfo | None) -> str | None:
    """Return the name of a zone that a user gave by name or as an object."""
    if zone is None:
        return None
    name = zone_name(zone) if isinstance(zone, datetime.tzinfo) else zone
    return zone_name(open_zone(zone if name is None else name))


def offset_name(minutes: int) -> str:
    """Write an offset from UTC.

    >>> offset_name(0), offset_name(-210)
    ('UTC', '-03:30')
    """
    if minutes == 0:
        return "UTC"
    return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02d}:{abs(minutes) % 60:02d}"


def sets_clocks(zone: str | None) -> bool:
    """Return whether the offset of a zone may change, as it does with summer time.

    >>> sets_clocks("Europe/Berlin"), sets_clocks("+01:00"), sets_clocks(None)
    (True, False, False)
    """
    return zone is not None and open_zone(zone).utcoffset(None) is None


def wall_clock(moments: NDArray[np.datetime64], zone: str | None) -> NDArray[np.datetime64]:
    """Return the wall clock of moments of any shape: what a clock in the zone shows; without a zone the same times.

    >>> wall_clock(np.array(["2024-07-01T00:00"], dtype="datetime64[ns]"), "Europe/Berlin")
    array(['2024-07-01T02:00:00.000000000'], dtype='datetime64[ns]')
    """
    if zone is None or zone == "UTC":
        return moments
    import pandas as pd

    index = pd.DatetimeIndex(moments.ravel().astype("datetime64[ns]"), tz="UTC").tz_convert(open_zone(zone))
    wall: NDArray[np.datetime64] = index.tz_localize(None).to_numpy(dtype="datetime64[ns]")
    return wall.reshape(moments.shape)


def time_index(times: NDArray[np.datetime64], zone: str | None) -> pd.DatetimeIndex:
    """Return times as a pandas index called "time", in their zone if they have one."""
    import pandas as pd

    index = pd.DatetimeIndex(times, name="time")
    return index if zone is None else index.tz_localize("UTC").tz_convert(open_zone(zone))


def offsets_of(moments: Moments, zone: str) -> Moments:
    """Return the offsets of a zone from UTC at moments, in nanoseconds."""
    return wall_clock(moments.view("datetime64[ns]"), zone).view(np.int64) - moments


class Localized(NamedTuple):
    """The moments of a wall clock.

    Attributes
    ----------
    moments
        [t] in UTC; where the clock skipped a time, the first moment after it
    skipped
        [t], whether the clock of the zone never showed the time, since it was set forward over it
    unclear
        [t], whether the clock showed the time twice and the rows do not tell which of the two it was
    """

    moments: Moments
    skipped: NDArray[np.bool_]
    unclear: NDArray[np.bool_]


def to_moments(wall: Moments, zone: str, *, in_order: bool = True) -> Localized:
    """Return the moments at which the clock of a zone showed these times.

    Of the two passes of an hour that comes twice, the first is taken until the times go back, then the second. A run of
    such times that begins the table, and does not go back, is the second pass if that one leads to the next row.

    Parameters
    ----------
    wall
        [t] times of the clock, NaT for none
    zone
        its name
    in_order
        whether the times follow one another; else the first pass is taken

    Examples
    --------
    >>> wall = np.array(["2024-10-27T02:30", "2024-10-27T02:30", "2024-10-27T03:30"], dtype="datetime64[ns]")
    >>> np.diff(to_moments(wall.view(np.int64), "Europe/Berlin").moments) // HOUR
    array([1, 1])
    """
    if not sets_clocks(zone):
        fixed = open_zone(zone).utcoffset(None) or datetime.timedelta(0)
        nothing = np.zeros(wall.shape, dtype=bool)
        unreadable = np.isnat(wall.view("datetime64[ns]"))
        offset = np.int64(round(fixed.total_seconds()) * 1_000_000_000)
        return Localized(np.where(unreadable, wall, wall - offset), nothing, nothing)
    import pandas as pd

    index, tz = pd.DatetimeIndex(wall.view("datetime64[ns]")), open_zone(zone)
    known = np.asarray(index.notna())
    first = index.tz_localize(tz, ambiguous=known, nonexistent="shift_forward").asi8
    second = index.tz_localize(tz, ambiguous=~known, nonexistent="shift_forward").asi8
    exact = np.asarray(index.tz_localize(tz, ambiguous=known, nonexistent="NaT").isna())
    twice = first != second
    later, unclear = _second_pass(wall, first, second, twice) if in_order else (np.zeros_like(twice), twice)
    return Localized(np.where(later, second, first), exact & known, unclear)


def _second_pass(
    wall: Moments, first: Moments, second: Moments, twice: NDArray[np.bool_]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which times that come twice belong to the second pass, and of which that is unclear."""
    later, unclear = np.zeros_like(twice), np.zeros_like(twice)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], twice, [False]]).astype(np.int8)))
    for begin, end in edges.reshape(-1, 2):
        back = np.flatnonzero(wall[begin + 1 : end] <= wall[begin : end - 1])
        if back.size:
            later[begin + 1 + back[0] : end] = True
            continue
        to_next = first[end] - second[end - 1] if end < wall.size else None
        to_before = first[begin] - first[begin - 1] if begin else None
        if to_before is None and to_next is not None and to_next <= HOUR:
            later[begin:end] = True
        elif to_before is None or to_before > HOUR:
            unclear[begin:end] = True
    return later, unclear


def find_zone(moments: Moments, offsets: Moments, first: Iterable[str] = ()) -> str | None:
    """Return a zone of the time zone database that has these offsets from UTC at these moments; None if none has.

    Zones named in `first`, then common ones, are preferred among several that fit.

    >>> moments = np.array(["2024-01-01", "2024-07-01"], dtype="datetime64[ns]").view(np.int64)
    >>> find_zone(moments, np.array([1, 2]) * HOUR)
    'Europe/Berlin'
    """
    changes = np.flatnonzero(np.diff(offsets))
    some = np.unique(np.concatenate([[0, moments.size - 1], changes, changes + 1, _spread(moments.size)]))
    sample = [
        (datetime.datetime.fromtimestamp(int(moments[i]) // 1_000_000_000, datetime.UTC), int(offsets[i])) for i in some
    ]
    for name in (*first, *_COMMON_ZONES, *_other_zones()):
        if _has_offsets(name, sample) and np.array_equal(offsets_of(moments, name), offsets):
            return name
    return None


def _spread(size: int) -> NDArray[np.int64]:
    return np.linspace(0, size - 1, 12).astype(np.int64)


def _has_offsets(name: str, sample: list[tuple[datetime.datetime, int]]) -> bool:
    try:
        zone = open_zone(name)
    except InputError:
        return False
    for moment, offset in sample:
        found = moment.astimezone(zone).utcoffset()
        if found is None or round(found.total_seconds()) * 1_000_000_000 != offset:
            return False
    return True


class RepeatedHour(NamedTuple):
    """A zone whose clock was set back, and by how many nanoseconds."""

    zone: str
    back: int


@lru_cache(maxsize=64)
def repeated_hour(before: int, after: int) -> RepeatedHour | None:
    """Return a zone whose clock showed both times twice, so that `after` may follow the later time `before`; or None.

    >>> night = int(np.datetime64("2024-10-27T02:00", "ns").view(np.int64))
    >>> repeated_hour(night, night)
    RepeatedHour(zone='Europe/Berlin', back=3600000000000)
    >>> repeated_hour(night + 24 * HOUR, night + 24 * HOUR)
    """
    if not 0 <= before - after < HOUR:
        return None
    times = [datetime.datetime.fromtimestamp(wall // 1_000_000_000, datetime.UTC) for wall in (before, after)]
    for name in (*_COMMON_ZONES, *_other_zones()):
        back = [_set_back(time, open_zone(name)) for time in times]
        if min(back) > 0:
            return RepeatedHour(name, back[1])
    return None


def _set_back(wall: datetime.datetime, zone: datetime.tzinfo) -> int:
    """Return by how many nanoseconds a clock was set back that shows this time twice; 0 if it shows it once."""
    first, second = (wall.replace(tzinfo=zone, fold=fold).utcoffset() for fold in (0, 1))
    if first is None or second is None or first <= second:
        return 0
    return round((first - second).total_seconds()) * 1_000_000_000


def nearest_moment(wall: int, zone: str, near: int | None) -> int | None:
    """Return the moment at which a clock showed a time; of two the one nearer to a moment; None if it skipped it.

    >>> wall = int(np.datetime64("2024-10-27T02:30", "ns").view(np.int64))
    >>> (nearest_moment(wall, "Europe/Berlin", wall) - nearest_moment(wall, "Europe/Berlin", None)) // HOUR
    1
    """
    one = np.array([wall])
    first = to_moments(one, zone, in_order=False)
    if first.skipped[0]:
        return None
    moment = int(first.moments[0])
    if near is None or not first.unclear[0]:
        return moment
    second = int(to_moments(np.array([wall, wall]), zone).moments[1])
    return moment if abs(moment - near) <= abs(second - near) else second


@lru_cache(maxsize=1)
def _other_zones() -> tuple[str, ...]:
    names = (name for name in zoneinfo.available_timezones() if "/" in name and not name.startswith("Etc/"))
    return tuple(sorted(set(names) - set(_COMMON_ZONES)))
