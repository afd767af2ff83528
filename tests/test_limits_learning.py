"""Learned limits: what passes and what does not, for kinds of variables that differ in tails, drift and resolution."""

import os

import numpy as np
import pytest

from subcast.datasets import load_dataset
from subcast.limits_learning import learn_limits, longest_gap

HOURS = np.arange(24 * 90)


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def limits_of(readings):
    return learn_limits(np.asarray(readings, dtype=np.float32)[:, None], ("a",))


def beyond(limits, *readings):
    """Return which readings are beyond the limits, each one alone in its window."""
    windows = np.array(readings, dtype=np.float32)[:, None, None]
    return (limits.causes(windows)[:, 0, 0] > 0).tolist()


def weather(rng, hours, first_day=0.0):
    """Hourly temperatures in degrees Celsius with seasons, days and fronts."""
    days = hours / 24 + first_day
    fronts = np.convolve(rng.normal(size=hours.size + 100), np.ones(60) / 60**0.5, "same")[: hours.size]
    return 12 - 13 * np.cos(2 * np.pi * days / 365) + 5 * np.sin(2 * np.pi * (days - 0.4)) + 3 * fronts


class TestTemperature:
    def test_record_heat_wave_and_cold_spell_pass(self, rng):
        readings = weather(rng, np.arange(24 * 365 * 2))
        limits = limits_of(readings)
        highest, lowest = readings.max(), readings.min()
        assert beyond(limits, highest + 8, highest + 12, lowest - 8, lowest - 12) == [False] * 4

    def test_absurd_readings_do_not(self, rng):
        readings = 20 + 8 * np.sin(2 * np.pi * HOURS / 24) + rng.normal(size=HOURS.size)
        limits = limits_of(readings)
        usual = readings[::7]
        absurd = np.concatenate([[999999, -999, -9999, 9999, -99], usual * 1.8 + 32, usual + 273.15, usual * 1000])
        assert all(beyond(limits, *absurd))

    @pytest.mark.parametrize("month", [0, 2, 3, 6, 9])
    def test_the_next_season_passes(self, rng, month):
        readings = weather(rng, np.arange(24 * 150), first_day=30.4 * month)
        limits = limits_of(readings[: 24 * 90])
        assert not any(beyond(limits, *readings[24 * 90 :]))

    def test_fahrenheit_of_a_warm_day_after_years_of_training(self, rng):
        limits = limits_of(weather(rng, np.arange(24 * 365 * 2)))
        assert all(beyond(limits, 30 * 1.8 + 32, 35 * 1.8 + 32))


class TestHeavyTails:
    def test_rain_that_falls_in_a_tenth_of_the_hours(self, rng):
        rain = np.where(rng.random(HOURS.size) < 0.1, rng.gamma(0.5, 4, size=HOURS.size), 0)
        limits = limits_of(rain)
        assert beyond(limits, 0, 2 * rain.max(), -5, 999999, -999, 1000 * rain.max()) == [False, False] + [True] * 4

    def test_dust(self, rng):
        dust = rng.lognormal(4, 1, size=HOURS.size)
        assert beyond(limits_of(dust), 2 * dust.max(), -60, 1000 * np.median(dust), -999) == [False, True, True, True]

    def test_later_readings_pass(self, rng):
        for _ in range(20):
            readings = rng.standard_t(3, size=4000)
            assert sum(beyond(limits_of(readings[:2500]), *readings[2500:])) == 0


class TestDrift:
    def test_a_random_walk_may_leave_its_range(self, rng):
        outside = 0
        for _ in range(30):
            walk = np.cumsum(rng.normal(size=4000))
            outside += sum(beyond(limits_of(walk[:3000]), *walk[3000::20]))
        assert outside == 0

    def test_an_exchange_rate_is_not_a_thousand_times_larger(self, rng):
        rate = 0.8 + 0.002 * np.cumsum(rng.normal(size=3000))
        limits = limits_of(rate)
        assert beyond(limits, rate.max() + np.ptp(rate), 1000 * rate[-1], -999, 999999) == [False, True, True, True]

    def test_a_counter_goes_on(self, rng):
        counter = np.cumsum(rng.poisson(3, size=2000))
        limits = limits_of(counter)
        assert np.isinf(limits.high[0])
        assert beyond(limits, 100 * counter[-1], 999999, -999) == [False, True, True]

    def test_a_counter_that_jumps(self, rng):
        counter = np.cumsum(rng.poisson(3, size=2000)).astype(np.float32)
        window = np.append(counter[-11:], 50_000)[:, None]
        assert limits_of(counter).causes(window)[:, 0].tolist() == [0] * 11 + [4]

    def test_a_growing_variable(self):
        growth = np.exp(np.arange(600) / 150) + 0.1 * np.sin(np.arange(600))
        assert not any(beyond(limits_of(growth[:400]), *growth[400:]))


class TestFewDifferentReadings:
    def test_too_few_readings(self):
        limits = limits_of([1, 2, np.nan, 3, 4])
        assert np.isinf([limits.low[0], limits.high[0], limits.change[0]]).all()
        assert beyond(limits, 50, -999) == [False, True]

    def test_no_reading_at_all(self):
        limits = limits_of([np.nan] * 50)
        assert np.isnan(limits.seen_low[0])
        assert beyond(limits, 5, -1e6) == [False, False]

    def test_always_zero_may_not_have_begun_yet(self):
        assert beyond(limits_of(np.zeros(500)), 12, -3, 999999, -999) == [False, False, True, True]

    def test_constant(self):
        assert beyond(limits_of(np.full(500, 21.0)), 21, 25, 0, 21_000, -9999) == [False, False, False, True, True]

    def test_nearly_constant(self, rng):
        mains = 50 + 0.02 * rng.normal(size=4000)
        assert beyond(limits_of(mains), 49.2, 51, 0, 60, 50_000) == [False, False, True, True, True]

    def test_on_and_off_and_counts_of_people(self, rng):
        assert beyond(limits_of(np.arange(400) % 2), 0, 1, 2, -1, 999) == [False, False, False, True, True]
        assert beyond(limits_of(rng.poisson(1.5, size=4000)), 0, 14, -3, 1000) == [False, False, True, True]

    def test_an_event_that_happened_once(self):
        readings = np.zeros(1000)
        readings[400] = 3.0
        assert beyond(limits_of(readings), 0, 3, 12, 999999) == [False, False, False, True]


class TestPositive:
    def test_a_pump_may_stop_at_once(self, rng):
        flow = 60 + 5 * rng.normal(size=2000)
        window = np.array([61, 58, 0, 0, 60], dtype=np.float32)[:, None]
        assert not limits_of(flow).causes(window).any()

    def test_sign_flips(self, rng):
        speed = 55 + 10 * np.sin(2 * np.pi * HOURS / 24) + rng.normal(size=HOURS.size)
        assert np.mean(beyond(limits_of(speed), *-speed[::5])) > 0.7
        power = np.maximum(0, 40 * np.sin(2 * np.pi * HOURS / 24) + rng.normal(size=HOURS.size))
        assert all(beyond(limits_of(power), *-power[power > 10]))
        pressure = 1013 + 8 * np.sin(HOURS / 50) + rng.normal(size=HOURS.size)
        assert beyond(limits_of(pressure), -1013, 0, 1.013, 1013_000, 1040) == [True, True, True, True, False]

    def test_a_temperature_that_was_never_negative_may_become_so(self, rng):
        readings = weather(rng, np.arange(24 * 60), first_day=150)
        assert readings.min() > 0
        assert beyond(limits_of(readings), -3) == [False]

    def test_never_positive_is_the_mirror_of_never_negative(self, rng):
        flow = np.maximum(0, 40 * np.sin(2 * np.pi * HOURS / 24) + rng.normal(size=HOURS.size))
        limits, mirror = limits_of(flow), limits_of(-flow)
        assert mirror.high[0] == -limits.low[0]


class TestDirtyTraining:
    def test_codes_for_missing_readings_do_not_widen_the_range(self, rng):
        readings = 20 + 8 * np.sin(2 * np.pi * HOURS / 24) + rng.normal(size=HOURS.size)
        dirty = readings.copy()
        dirty[[5, 77, 901]] = -999
        dirty[30:200] = 999999
        limits, clean = limits_of(dirty), limits_of(readings)
        assert abs(limits.low[0] - clean.low[0]) < 1
        assert beyond(limits, -999, 68) == [True, True]
        assert limits.change[0] < 100

    def test_a_single_reading_far_from_all_others(self, rng):
        readings = 20 + 8 * np.sin(2 * np.pi * HOURS / 24) + rng.normal(size=HOURS.size)
        readings[700] = 5000
        assert beyond(limits_of(readings), 5000, 68, 33) == [True, True, False]

    def test_999_hectopascal_is_a_reading(self, rng):
        readings = np.round(1005 + 8 * np.sin(HOURS / 50) + rng.normal(size=HOURS.size))
        assert 999 in readings
        assert beyond(limits_of(readings), 999) == [False]


class TestChange:
    def test_a_change_that_training_came_near_is_possible(self, rng):
        readings = weather(rng, HOURS)
        largest = np.abs(np.diff(readings)).max()
        assert 1.5 * largest < limits_of(readings).change[0] < 10 * largest

    def test_readings_without_neighbors_have_no_limit_of_change(self, rng):
        readings = np.full(1000, np.nan)
        readings[::2] = rng.normal(size=500)
        assert np.isinf(limits_of(readings).change[0])


def test_longest_gap(rng):
    readings = rng.normal(size=100)
    readings[:7] = np.nan  # before the first reading: not a gap
    readings[40:45] = np.nan
    assert limits_of(readings).gap.tolist() == [5]
    assert longest_gap(np.ones(5, dtype=bool)) == 0


def test_each_variable_has_limits_of_its_own(rng):
    values = np.column_stack([rng.normal(size=500), 1000 + rng.normal(size=500)]).astype(np.float32)
    both = learn_limits(values, ("a", "b"))
    for column in range(2):
        alone = limits_of(values[:, column])
        assert (both.low[column], both.change[column]) == (alone.low[0], alone.change[0])


DATASETS = ["metr-la-week", "ecg5000", "ecg5000-test-first", "traffic-20", "exchange-rate"]


@pytest.mark.skipif("SUBCAST_DATA" not in os.environ, reason="needs the datasets in SUBCAST_DATA")
@pytest.mark.parametrize("name", DATASETS)
def test_no_test_reading_of_a_real_dataset_is_beyond_its_limits(name):
    series = load_dataset(name)
    train, _, test = series.split(lookback=12, horizon=12)
    limits = learn_limits(train.series.values[: max(train.starts) + 24], series.variables)
    assert not limits.causes(test.readings).any()


def test_no_test_reading_of_the_generated_dataset_is_beyond_its_limits():
    series = load_dataset("clouds", n_plants=6, n_steps=4000)
    train, _, test = series.split(lookback=12, horizon=12)
    limits = learn_limits(train.series.values[: max(train.starts) + 24], series.variables)
    assert not limits.causes(test.readings).any()
