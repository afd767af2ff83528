"""The profile by class of day and slot of the day, or by day of the year."""

import numpy as np
import pytest

from subcast.profile import DAY_CLASSES, Profile

WEEKDAYS, WEEKEND = (0, 0, 0, 0, 0, 0, 0), (0, 0, 0, 0, 0, 1, 1)


def hours(weeks, start="2024-01-01"):
    return np.datetime64(start) + np.arange(24 * 7 * weeks) * np.timedelta64(1, "h")


def is_weekend(times):
    return np.array([day.weekday() >= 5 for day in times.astype("datetime64[s]").astype(object)])


def readings(times, low=5.0, seed=0):
    """A wave over the day, `low` lower on weekends, with noise."""
    rng = np.random.default_rng(seed)
    hour = (times - times.astype("datetime64[D]")) / np.timedelta64(1, "h")
    wave = 10 + 3 * np.sin(2 * np.pi * hour / 24)
    return (wave - low * is_weekend(times))[:, None] + 0.5 * rng.normal(size=(len(times), 2))


def plain_table(values, times, day_classes):
    """Mean by class and hour, by plain loops (no smoothing at hourly steps)."""
    groups = {}
    for value, moment in zip(values, times.astype("datetime64[s]").astype(object), strict=True):
        for variable, reading in enumerate(value):
            if reading == reading:
                groups.setdefault((day_classes[moment.weekday()], moment.hour, variable), []).append(float(reading))
    return {key: sum(group) / len(group) for key, group in groups.items()}


@pytest.mark.parametrize("day_classes", list(DAY_CLASSES.values()))
def test_the_center_equals_the_mean_by_class_and_hour(day_classes):
    times = hours(5)
    values = readings(times)
    values[np.random.default_rng(1).random(values.shape) < 0.2] = np.nan
    profile = Profile.fit(values, times, day_classes=day_classes)
    for (day_class, hour, variable), mean in plain_table(values, times, day_classes).items():
        assert profile.center[day_class * 24 + hour, variable] == pytest.approx(mean, rel=1e-9)


def test_weekends_are_told_apart_where_they_differ():
    times = hours(8)
    assert Profile.fit(readings(times), times).cycle.day_classes == WEEKEND


def test_days_are_not_told_apart_where_they_do_not_differ():
    times = hours(8)
    assert Profile.fit(readings(times, low=0), times).cycle.day_classes == WEEKDAYS


def test_days_are_not_told_apart_in_less_than_four_weeks():
    times = hours(3)
    assert Profile.fit(readings(times), times).cycle.day_classes == WEEKDAYS


def test_each_day_may_have_a_class_of_its_own():
    times = hours(10)
    weekday = np.array([day.weekday() for day in times.astype("datetime64[s]").astype(object)])
    values = readings(times, low=0) + 4 * (weekday * 3 % 7)[:, None]
    assert Profile.fit(values, times).cycle.day_classes == DAY_CLASSES["each day of the week"]


def test_a_holiday_is_a_sunday():
    times = hours(8)
    profile = Profile.fit(readings(times), times, holidays=["2024-03-05"])  # a Tuesday
    noon = np.array(["2024-03-05T12", "2024-03-10T12", "2024-03-12T12"], dtype="datetime64[h]")
    usual = profile.usual(noon)
    np.testing.assert_array_equal(usual[0], usual[1])
    assert (usual[2] > usual[0] + 3).all()


def test_a_time_just_before_midnight_belongs_to_the_next_day():
    times = hours(8)
    profile = Profile.fit(readings(times), times)
    late = np.array(["2024-03-01T23:40", "2024-03-02T00:00"], dtype="datetime64[m]")  # Friday night, Saturday
    assert profile.rows_of(late).tolist() == [24, 24]


@pytest.mark.parametrize("times", [None, np.datetime64("2024-01-01") + np.arange(90)])
def test_without_a_time_of_day_there_is_one_row(times):
    values = readings(hours(8))[:90]
    profile = Profile.fit(values, times)
    assert profile.center.shape == (1, 2)
    np.testing.assert_allclose(profile.center[0], values.mean(axis=0))
    assert (profile.rows_of(times, (4,)) == 0).all()


def test_nearby_slots_are_averaged_also_across_midnight():
    times = np.datetime64("2024-01-01") + np.arange(288 * 8) * np.timedelta64(5, "m")
    values = np.zeros((len(times), 1))
    values[::288] = 7.0  # midnight
    center = Profile.fit(values, times).center[:, 0]
    np.testing.assert_allclose(center[[285, 286, 287, 0, 1, 2, 3]], 1.0)
    np.testing.assert_allclose(center[4:284], 0.0, atol=1e-12)


def test_the_spread_has_a_floor():
    times = hours(8)
    values = np.random.default_rng(0).normal(size=(len(times), 1))
    values[::24] = 0.0
    profile = Profile.fit(values, times)
    assert profile.spread[0, 0] > 0.25
    constant = Profile.fit(np.full((len(times), 1), 4.0), times)
    assert (constant.spread == 1).all()
    np.testing.assert_allclose(constant.center, 4.0)


def test_a_variable_without_readings_has_no_influence():
    times = hours(8)
    values = readings(times)
    with_silent = np.concatenate([values, np.full((len(times), 1), np.nan)], axis=1)
    profile = Profile.fit(with_silent, times)
    assert np.isfinite(profile.center).all()
    assert (profile.spread > 0).all()
    np.testing.assert_array_equal(profile.center[:, :2], Profile.fit(values, times).center)


# The year


def days(years, start="2021-01-01"):
    return np.datetime64(start) + np.arange(round(365.25 * years))


def seasonal_days(times, seed=0, height=3.0):
    """A wave over the year with noise; the days of the year by Python's calendar."""
    day = np.array([date.timetuple().tm_yday for date in times.astype(object)])
    noise = np.random.default_rng(seed).normal(size=(len(times), 2))
    return 20 + height * np.sin(2 * np.pi * day / 366)[:, None] + noise


@pytest.mark.parametrize("years", [2, 3, 5])
def test_seasonal_days_choose_the_year(years):
    times = days(years)
    profile = Profile.fit(seasonal_days(times), times)
    assert profile.cycle.yearly
    assert profile.center.shape == (366, 2)
    summer, winter = (profile.usual(np.array([day], dtype="datetime64[D]"))[0] for day in ("2030-04-01", "2030-10-01"))
    np.testing.assert_allclose(summer, 23, atol=0.6)
    np.testing.assert_allclose(winter, 17, atol=0.6)


def test_the_year_is_the_mean_over_the_days_around():
    times = days(3)
    values = seasonal_days(times)
    values[np.random.default_rng(1).random(values.shape) < 0.1] = np.nan
    profile = Profile.fit(values, times)
    day = [date.timetuple().tm_yday - 1 for date in times.astype(object)]
    for row in (0, 7, 59, 200, 360, 365):
        near = [step for step in range(len(times)) if min((day[step] - row) % 366, (row - day[step]) % 366) <= 15]
        np.testing.assert_allclose(profile.center[row], np.nanmean(values[near], axis=0), rtol=1e-6)


@pytest.mark.parametrize("seed", range(6))
def test_a_random_walk_does_not_choose_the_year(seed):
    times = days(3)
    walk = np.cumsum(np.random.default_rng(seed).normal(size=(len(times), 2)), axis=0)
    assert not Profile.fit(walk, times).cycle.yearly


def test_less_than_two_years_do_not_choose_the_year():
    times = days(1.9)
    assert not Profile.fit(seasonal_days(times), times).cycle.yearly


def test_a_season_that_only_one_year_has_does_not_choose_the_year():
    times = days(2)
    values = seasonal_days(times, height=6.0)
    values[366:] = 20 + np.random.default_rng(2).normal(size=values[366:].shape)
    assert not Profile.fit(values, times).cycle.yearly


def test_daily_steps_tell_the_days_of_the_week_apart():
    times = days(0.5)
    values = np.random.default_rng(0).normal(size=(len(times), 1)) / 3
    values[[date.weekday() >= 5 for date in times.astype(object)]] += 4
    cycle = Profile.fit(values, times).cycle
    assert (cycle.slots, cycle.day_classes) == (1, WEEKEND)


# Missing readings


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("known", [0, 30])
@pytest.mark.parametrize("step", ["h", "D"])
def test_hardly_any_reading_gives_a_plain_cycle(known, step):
    times = np.datetime64("2020-01-01") + np.arange(1000) * np.timedelta64(1, step)
    values = np.full((1000, 2), np.nan)
    values[:known] = np.random.default_rng(0).normal(size=(known, 2))
    profile = Profile.fit(values, times)
    assert profile.cycle.day_classes == WEEKDAYS
    assert not profile.cycle.yearly
    assert np.isfinite(profile.center).all()
    assert (profile.spread > 0).all()


def test_hours_at_half_past_have_a_row_each():
    times = hours(5) + np.timedelta64(30, "m")
    values = (np.arange(len(times)) % 24.0)[:, None]
    profile = Profile.fit(values, times)
    assert sorted(profile.center[:, 0].round(6).tolist()) == list(range(24))
