"""Zones by name, wall clocks and the moments of a wall clock, against zoneinfo one time at a time."""

import datetime as dt
import zoneinfo

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from subcast.errors import InputError
from subcast.tables.zones import (
    HOUR,
    checked_zone,
    find_zone,
    nearest_moment,
    offsets_of,
    open_zone,
    repeated_hour,
    sets_clocks,
    to_moments,
    wall_clock,
    zone_name,
)

ZONES = ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "UTC", "+05:45", "-03:30"]
MINUTE = HOUR // 60


def stamp(text):
    return int(np.datetime64(text, "ns").view(np.int64))


@pytest.mark.parametrize("zone", ZONES)
def test_a_name_names_its_zone(zone):
    assert zone_name(open_zone(zone)) == zone
    assert checked_zone(zone) == checked_zone(open_zone(zone)) == zone


@pytest.mark.parametrize(
    ("zone", "name"),
    [
        (dt.UTC, "UTC"),
        (dt.timezone(dt.timedelta(hours=-5)), "-05:00"),
        (zoneinfo.ZoneInfo("Etc/UTC"), "UTC"),
        (pd.Timestamp("2024-01-01", tz="dateutil/Europe/Berlin").tz, "Europe/Berlin"),
        (pd.Timestamp("2024-01-01T00:00+03:00").tz, "+03:00"),
        (None, None),
    ],
)
def test_zones_of_other_libraries(zone, name):
    assert zone_name(zone) == name


@pytest.mark.parametrize(
    "zone", ["Mars/Olympus", "", "../etc/passwd", "/etc/passwd", "America", "+25:00", "a\0b", 5, "x" * 999]
)
def test_what_is_no_zone_is_refused(zone):
    with pytest.raises(InputError, match="zone must be a name such as 'Europe/Berlin'"):
        checked_zone(zone)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(ZONES), st.lists(st.integers(-20 * 10**6, 40 * 10**6), min_size=1, max_size=6))
def test_wall_clocks_against_zoneinfo(zone, minutes):
    """Every moment is shown as the standard library shows it; and back, but for hours that come twice."""
    moments = np.array(minutes, dtype=np.int64) * MINUTE
    wall = wall_clock(moments.view("datetime64[ns]"), zone)
    for moment, shown in zip(minutes, wall.astype("datetime64[m]").astype(dt.datetime).tolist(), strict=True):
        expected = dt.datetime.fromtimestamp(moment * 60, dt.UTC).astimezone(open_zone(zone))
        assert shown == expected.replace(tzinfo=None, second=0)
    back = to_moments(wall.view(np.int64), zone, in_order=False)
    assert not back.skipped.any()
    np.testing.assert_array_equal(back.moments[~back.unclear], moments[~back.unclear])
    assert (moments - back.moments <= HOUR).all()


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from([("Europe/Berlin", "2024-10-26T20:00"), ("America/New_York", "2024-11-03T01:00"),
                     ("Australia/Lord_Howe", "2024-04-06T10:00"), ("Europe/Berlin", "2024-03-30T20:00")]),
    st.sampled_from([5, 10, 30, 60]),
    st.integers(0, 20),
)  # fmt: skip
def test_a_whole_night_of_local_times_is_read_as_it_was(night, minutes, skip):
    """A night with all its rows has one reading only, wherever it begins before the change."""
    zone, first = night
    if zone == "Australia/Lord_Howe" and minutes == 60:
        minutes = 30
    moments = stamp(first) + (min(skip, 120 // minutes) + np.arange(720 // minutes)) * minutes * MINUTE
    wall = wall_clock(moments.view("datetime64[ns]"), zone).view(np.int64)
    np.testing.assert_array_equal(to_moments(wall, zone).moments, moments)


def test_a_table_that_begins_in_the_second_pass():
    wall = np.array([stamp("2024-10-27T02:30"), stamp("2024-10-27T03:30"), stamp("2024-10-27T04:30")])
    np.testing.assert_array_equal(np.diff(to_moments(wall, "Europe/Berlin").moments), [HOUR, HOUR])


def test_one_time_of_an_hour_that_comes_twice_is_unclear():
    local = to_moments(np.array([stamp("2024-10-27T02:30")]), "Europe/Berlin")
    assert local.unclear.tolist() == [True]
    assert local.moments[0] == stamp("2024-10-27T00:30")


def test_a_time_that_clocks_skip_is_the_first_moment_after_it():
    wall = np.array([stamp("2024-03-31T01:30"), stamp("2024-03-31T02:30"), stamp("NaT")])
    local = to_moments(wall, "Europe/Berlin")
    assert local.skipped.tolist() == [False, True, False]
    assert local.moments[1] == stamp("2024-03-31T01:00")


def test_the_nearer_pass_is_taken():
    wall = stamp("2024-10-27T02:30")
    first, second = stamp("2024-10-27T00:30"), stamp("2024-10-27T01:30")
    assert nearest_moment(wall, "Europe/Berlin", None) == first
    assert nearest_moment(wall, "Europe/Berlin", first - HOUR) == first
    assert nearest_moment(wall, "Europe/Berlin", second) == second
    assert nearest_moment(stamp("2024-03-31T02:30"), "Europe/Berlin", None) is None


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "Pacific/Auckland", "Australia/Lord_Howe"])
def test_a_zone_is_found_by_its_offsets(zone):
    moments = stamp("2023-01-01") + np.arange(0, 400 * 24, 7) * HOUR
    offsets = offsets_of(moments, zone)
    found = find_zone(moments, offsets)
    np.testing.assert_array_equal(offsets_of(moments, found), offsets)
    assert find_zone(moments, offsets, [zone]) == zone
    offsets[40] += HOUR
    assert find_zone(moments, offsets, [zone]) is None


def test_hours_that_come_twice_somewhere():
    berlin, london = stamp("2024-10-27T02:10"), stamp("2024-10-27T01:10")
    assert repeated_hour(berlin + 40 * MINUTE, berlin) == ("Europe/Berlin", HOUR)
    assert repeated_hour(london, london) == ("Europe/London", HOUR)
    assert repeated_hour(stamp("2024-04-07T01:45"), stamp("2024-04-07T01:45")) == ("Australia/LHI", HOUR // 2)
    for before, after in (
        (berlin, berlin + MINUTE),  # goes on
        (berlin + 2 * HOUR, berlin),  # by more than an hour
        (berlin + 24 * HOUR, berlin + 24 * HOUR),  # on another day
        (stamp("2024-10-27T15:00"), stamp("2024-10-27T15:00")),
    ):
        assert repeated_hour(before, after) is None


def test_which_zones_set_their_clocks():
    assert [sets_clocks(zone) for zone in ("Europe/Berlin", "UTC", "+02:00", None)] == [True, False, False, False]
