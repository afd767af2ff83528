"""Times of day, days of the week and slots of the day, against the text of the times."""

import datetime as dt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from subcast.calendar import (
    TIME_FEATURES,
    circle_of_day,
    day_of_week,
    share_of_day,
    slot_of_day,
    slot_of_share,
    slots_a_day,
    time_features_of,
    time_of_day,
)


def times_every(minutes, count, start="2024-03-01T05:00"):
    return np.datetime64(start) + np.arange(count) * np.timedelta64(minutes, "m")


def minutes_of(moment):
    """Return the minutes since midnight, from the text of a moment."""
    clock = str(moment)[11:16]
    return int(clock[:2]) * 60 + int(clock[3:])


@given(st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2100, 1, 1)))
def test_features_against_the_standard_library(moment):
    times = np.array([moment], dtype="datetime64[us]")
    midnight = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    share = (moment - midnight) / dt.timedelta(days=1)
    assert share_of_day(times)[0] == pytest.approx(share, abs=1e-12)
    assert time_of_day(times)[0] == pytest.approx(share, abs=1e-6)
    assert 0 <= time_of_day(times)[0] < 1
    assert day_of_week(times)[0] == np.float32(moment.weekday() / 7)


def test_features_are_columns_in_the_order_of_their_names():
    times = times_every(37, 50)
    for names in (["day_of_week", "time_of_day"], ["time_of_day", "day_of_week"], ["day_of_week"]):
        features = time_features_of(times, names)
        assert features.shape == (50, len(names))
        for column, name in enumerate(names):
            np.testing.assert_array_equal(features[:, column], TIME_FEATURES[name](times))


@pytest.mark.parametrize(("minutes", "slots"), [(5, 288), (10, 144), (15, 96), (60, 24), (720, 2), (1, 1440)])
def test_slots_of_a_rate(minutes, slots):
    assert slots_a_day(times_every(minutes, 6 * 1440 // minutes)) == slots


def test_a_gap_does_not_change_the_slots():
    times = np.concatenate([times_every(10, 600), times_every(10, 600, start="2024-03-20T05:00")])
    assert slots_a_day(times) == 144


@pytest.mark.parametrize(
    "times",
    [
        pytest.param(None, id="no times"),
        pytest.param(times_every(5, 2), id="two times"),
        pytest.param(times_every(5, 4 * 288), id="less than four days"),
        pytest.param(times_every(1440, 400), id="daily steps"),
        pytest.param(
            np.datetime64("2024-01-01", "s") + np.arange(5 * 2880) * np.timedelta64(30, "s"), id="half minutes"
        ),
    ],
)
def test_one_slot_where_the_time_of_day_is_not_used(times):
    assert slots_a_day(times) == 1


@pytest.mark.parametrize(
    ("moment", "slots", "slot"),
    [
        ("2024-03-01T00:00:00", 288, 0),
        ("2024-03-01T23:55:00", 288, 287),
        ("2024-03-01T23:59:50", 288, 0),  # a little early
        ("2024-03-01T00:00:40", 288, 0),  # a little late
        ("2024-03-01T12:00:00", 24, 12),
        ("1969-12-31T23:00:00", 24, 23),
        ("2024-03-01T18:00:00", 1, 0),
    ],
)
def test_slot_of_a_moment(moment, slots, slot):
    assert slot_of_day(np.array([moment], dtype="datetime64[ns]"), slots).tolist() == [slot]


def test_slots_against_the_text_of_the_moments():
    times = times_every(10, 400)
    assert slot_of_day(times, 144).tolist() == [minutes_of(moment) // 10 for moment in times]


def test_slots_of_shares_of_a_day():
    times = times_every(5, 288, start="2024-03-01T00:00")
    shares = np.array([minutes_of(moment) / 1440 for moment in times], dtype=np.float32)
    assert slot_of_share(shares, 288).tolist() == list(range(288))
    assert slot_of_share(np.nextafter(np.float32(1), np.float32(0)), 288) == 0


@given(st.integers(0, 10**6), st.sampled_from([24, 96, 144, 288, 1440]))
def test_a_time_and_its_time_of_day_have_the_same_slot(minute, slots):
    times = np.array([minute], dtype="datetime64[m]")
    step = 1440 // slots
    if minute % step * 2 == step:
        return  # halfway between two slots, where float32 may round either way
    assert slot_of_day(times, slots).tolist() == slot_of_share(time_of_day(times), slots).tolist()


def test_circle_against_trigonometry():
    points = circle_of_day(np.arange(24), 24, 0.5)
    for hour in range(24):
        angle = 2 * np.pi * hour / 24
        assert points[hour] == pytest.approx([0.5 * np.sin(angle), 0.5 * np.cos(angle)], abs=1e-6)
    distances = np.linalg.norm(points - points[0], axis=1)
    assert distances[23] == pytest.approx(distances[1], abs=1e-6)
    assert distances.argmax() == 12
