"""Tests of Arrived: windows are views of a series, and slices record whether they are consecutive."""

import numpy as np
import pandas as pd
import pytest

import subcast as sc
from subcast.cycle import Cycle
from subcast.errors import InputError
from subcast.series import Series
from subcast.subset.arrived import Arrived, arrive_window, read_windows
from subcast.tables.live import Recent
from subset.examples import HORIZON, LOOKBACK, assert_one_sentence, hours_of, mixing, walk, waves


def test_windows_of_a_series_are_views_with_the_slot_of_their_first_step():
    series = waves(steps=60, features=("time_of_day",))
    windows = series.windows(6, 3)
    arrived = Arrived.of(windows, Cycle(24))
    assert arrived.slots.tolist() == hours_of(series)[: len(windows)]
    assert np.shares_memory(arrived.values, series.values)
    assert arrived.features.shape == (len(windows), 6, 1)
    assert arrived.consecutive


def test_without_times_the_slot_is_unknown():
    windows = walk(steps=40).windows(6, 3)
    assert (Arrived.of(windows, Cycle(24)).slots == -1).all()
    assert not Arrived.of(windows, Cycle(24)).consecutive
    assert (Arrived.of(windows, Cycle()).slots == 0).all()
    assert Arrived.of(windows, Cycle()).consecutive


def test_selected_windows_are_consecutive_only_for_a_slice_without_steps():
    arrived = Arrived.of(waves(steps=60).windows(6, 3), Cycle(24))
    assert arrived[3:9].consecutive
    assert not arrived[::2].consecutive
    assert not arrived[np.array([1, 2])].consecutive
    np.testing.assert_array_equal(arrived[3:9].values, arrived.values[3:9])
    np.testing.assert_array_equal(arrived[3:9].slots, arrived.slots[3:9])
    assert not Arrived.of(waves(steps=60).windows(6, 3)[::2], Cycle(24)).consecutive


@pytest.fixture(scope="module")
def parts():
    return waves(steps=400, features=("time_of_day",)).split(LOOKBACK, HORIZON)


@pytest.fixture(scope="module")
def robust(parts):
    return sc.SubsetForecaster(mixing, settings=sc.Settings(), progress=False).fit(parts.train)


def read(robust, windows, times=None):
    return read_windows(windows, times, robust.fitted_, robust.metadata_)


def test_an_array_arrives_like_the_windows_it_came_from(robust, parts):
    test = parts.test[:4]
    ours, ahead = read(robust, test)[:2]
    begins = test.series.times[np.asarray(test.starts)]
    for times in (begins, None):  # without times the feature says the hour
        array, also_ahead = read(robust, test.batch().inputs, times)[:2]
        np.testing.assert_array_equal(array.values, ours.values)
        np.testing.assert_array_equal(array.features, ours.features)
        np.testing.assert_array_equal(array.slots, ours.slots)
        assert (also_ahead is None) == (times is None)
        if times is not None:
            np.testing.assert_array_equal(also_ahead, ahead)
    assert ours.slots.tolist() == hours_of(test.series)[:4]


def test_features_may_be_missing_where_a_variable_is(robust, parts):
    inputs = parts.test[:4].batch().inputs
    inputs[:, :, [0, 2]] = np.nan
    array = read(robust, inputs).arrived
    np.testing.assert_array_equal(array.features, parts.test[:4].features)
    inputs[1, 3, :, 1] = np.nan
    with pytest.raises(InputError) as error:
        read(robust, inputs)
    assert_one_sentence(error, "time features", "every step")


@pytest.mark.parametrize(
    ("windows", "times", "words"),
    [
        (np.zeros((2, 3, 6, 2)), None, ("windows", "3")),
        (np.full((2, LOOKBACK, 6, 2), np.inf), None, ("windows", "NaN")),
        ([["a"]], None, ("windows", "numbers")),
        (np.zeros((2, LOOKBACK, 6, 2)), ["2024-01-01"], ("times", "2")),
        (np.zeros((2, LOOKBACK, 6, 2)), ["soon", "later"], ("times", "soon")),
    ],
    ids=["steps", "infinity", "text", "few times", "no times"],
)
def test_bad_arrays_are_refused_with_a_clear_error(robust, windows, times, words):
    with pytest.raises(InputError) as error:
        read(robust, windows, times)
    assert_one_sentence(error, *words)


def test_the_slot_of_a_window_comes_from_its_times_or_is_guessed(robust, parts):
    series = parts.test.series
    values, times = series.values[:LOOKBACK], series.times[:LOOKBACK]
    known = arrive_window(Recent(values, times, None), robust.fitted_, robust.metadata_)
    assert known.slots.tolist() == hours_of(series)[:1]
    guessed = arrive_window(Recent(values, None, None), robust.fitted_, robust.metadata_).slots
    expected = robust.fitted_.normalizer.guess_slots(values[None], np.arange(6))
    np.testing.assert_array_equal(guessed, expected)


def test_slots_of_windows_over_a_change_of_summer_time():
    """The hour that comes twice has one slot twice, and the hour that is missing has none."""
    for first, hours in (("2024-10-27", [0, 1, 2, 2, 3, 4, 5, 6, 7]), ("2024-03-31", [0, 1, 3, 4, 5, 6, 7, 8, 9])):
        times = pd.date_range(first, periods=9, freq="h", tz="Europe/Berlin")
        arrived = Arrived.of(Series(np.zeros((9, 2)), times=times).windows(6, 3), Cycle(24))
        assert arrived.step_slots.tolist() == [hours]
        assert arrived[:1].step_slots.tolist() == [hours]
        assert arrived.slots.tolist() == hours[:1]


# Time features without times


def weekly_series(features, weeks=6, minute=0):
    """Hourly readings that are low on weekends."""
    times = (
        np.datetime64("2024-01-01") + np.timedelta64(minute, "m") + np.arange(24 * 7 * weeks) * np.timedelta64(1, "h")
    )
    weekend = np.array([moment.weekday() >= 5 for moment in times.astype("datetime64[s]").astype(object)])
    hour = np.arange(len(times)) % 24
    rng = np.random.default_rng(0)
    values = (10 + 3 * np.sin(hour / 4) - 5 * weekend)[:, None] + 0.3 * rng.normal(size=(len(times), 3))
    return Series(values, times=times, freq="h", time_features=features)


@pytest.fixture(scope="module", params=[0, 30], ids=["on the hour", "at half past"])
def weekly(request):
    series = weekly_series(("time_of_day", "day_of_week"), minute=request.param)
    return sc.SubsetForecaster(mixing, settings=sc.Settings(), progress=False).fit(series.windows(6, 3)), series


def test_time_of_day_and_day_of_week_give_the_position(weekly):
    robust, series = weekly
    assert robust.fitted_.normalizer.cycle.has_classes
    windows = series.windows(6, 3)
    found = read(robust, windows.batch().inputs).arrived
    np.testing.assert_array_equal(found.slots, read(robust, windows).arrived.slots)


def test_the_day_is_guessed_among_those_with_the_time_of_day(parts):
    series = weekly_series(("time_of_day",))
    robust = sc.SubsetForecaster(mixing, settings=sc.Settings(), progress=False).fit(series.windows(6, 3))
    windows = series.windows(6, 3)[::11]
    known = robust.predict_many(windows, [0, 1])
    guessed = robust.predict_many(windows.batch().inputs, [0, 1])
    np.testing.assert_allclose(guessed.mean, known.mean, rtol=1e-4, atol=1e-3)


def test_readings_of_variables_that_are_not_present_are_not_used():
    series = weekly_series(("time_of_day",))
    robust = sc.SubsetForecaster(mixing, settings=sc.Settings(), progress=False, limits=None).fit(series.windows(6, 3))
    inputs = np.array(series.windows(6, 3).batch().inputs[::17])
    before = robust.predict_many(inputs, [0])
    inputs[:, :, 1:, 0] += 20 * np.random.default_rng(0).normal(size=inputs[:, :, 1:, 0].shape)
    np.testing.assert_array_equal(robust.predict_many(inputs, [0]).mean, before.mean)


def test_the_day_of_the_week_alone_gives_the_position_of_daily_windows():
    times = np.datetime64("2024-01-01") + np.arange(140)
    weekday = np.arange(140) % 7
    values = 5.0 * (weekday >= 5)[:, None] + 0.3 * np.random.default_rng(0).normal(size=(140, 3))
    series = Series(values, times=times, freq="D", time_features=("day_of_week",))
    windows = series.windows(6, 3)
    robust = sc.SubsetForecaster(mixing, settings=sc.Settings(), progress=False).fit(windows)
    assert robust.fitted_.normalizer.cycle.has_classes
    found = read(robust, windows.batch().inputs).arrived
    assert found.slots.tolist() == weekday[: len(windows)].tolist()


def test_steps_of_windows_across_the_year_have_their_own_days():
    times = np.datetime64("2019-01-01") + np.arange(365 * 4)
    day = np.array([date.timetuple().tm_yday for date in times.astype(object)])
    values = 3 * np.sin(2 * np.pi * day / 366)[:, None] + np.random.default_rng(0).normal(size=(len(day), 2)) / 2
    series = Series(values, times=times, freq="D")
    robust = sc.SubsetForecaster(mixing, settings=sc.Settings(), progress=False).fit(series.windows(6, 3))
    assert robust.fitted_.normalizer.cycle.yearly
    windows = series.windows(6, 3)[355:370]
    for given in (read(robust, windows), read(robust, windows.batch().inputs[..., :1], times=np.array(times[355:370]))):
        slots = robust.fitted_.slots(given.arrived, 9)
        for window in range(15):
            assert (slots[window] % 366 + 1).tolist() == day[355 + window : 355 + window + 9].tolist()
            weekdays = [date.weekday() for date in times[355 + window : 355 + window + 9].astype(object)]
            assert (slots[window] // 366).tolist() == weekdays
