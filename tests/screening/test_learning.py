import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from subcast.screening import learning
from subcast.screening.learning import Training, learn, rare_level
from twins import screening_twins as twins


@given(st.lists(st.integers(0, 60), max_size=30))
def test_longest_possible_runs_equal_a_plain_loop(lengths):
    assert learning._longest(np.array(lengths, dtype=np.int64)) == twins.longest(lengths)


@given(st.integers(0, 10_000), st.integers(6, 200), st.floats(1e-4, 0.2))
def test_rare_levels_equal_a_plain_loop(seed, days, chance):
    by_day = np.random.default_rng(seed).pareto(3.0, size=(days, 3)) + 0.1
    by_day[0, 1] = np.nan
    median = float(np.median([twins.rare_level(column, chance) for column in by_day.T]))
    expected = [twins.rare_level(column, chance, median) for column in by_day.T]
    assert rare_level(by_day, chance) == pytest.approx(expected, rel=1e-9)


def test_a_rarer_level_is_higher():
    by_day = np.random.default_rng(0).exponential(size=(90, 4))
    assert (rare_level(by_day, 0.0005) > rare_level(by_day, 0.05)).all()


def training_of(readings, slots=24):
    rows = np.arange(len(readings)) % slots
    filled = np.nan_to_num(readings, nan=5.0)
    unit = np.where(filled.std(axis=0) > 0, filled.std(axis=0), 1.0)
    return Training(readings, (readings - filled.mean(axis=0)) / unit, rows, slots, slots, unit)


def walk(steps=24 * 40, n=3, seed=0):
    return np.random.default_rng(seed).normal(size=(steps, n)) + 10


def test_a_solar_plant_sleeps_at_night_and_a_rain_gauge_does_not():
    hours = np.arange(24 * 40) % 24
    rng = np.random.default_rng(1)
    sun = np.where((hours > 6) & (hours < 18), rng.uniform(1, 5, hours.size), 0.0)
    rain = np.where(rng.random(hours.size) < 0.04, rng.uniform(1, 9, hours.size), 0.0)
    rules = learn(training_of(np.stack([sun, rain, walk()[:, 0]], axis=1))).rules
    assert rules.rest[:2].tolist() == [0, 0]
    assert np.isnan(rules.rest[2])
    assert rules.sleepy[3, 0]
    assert not rules.sleepy[12, 0]
    assert not rules.sleepy[:, 1].any()
    assert rules.rest_run[1] > 24  # it may be dry for more than a day
    assert rules.run[2] <= 3


def test_a_week_of_being_stuck_in_the_training_gives_no_right_to_it():
    readings = walk(n=2)
    readings[100:268, 0] = readings[100, 0]
    rules = learn(training_of(readings)).rules
    assert rules.run[0] <= 3


def test_constant_and_empty_sensors_are_learned():
    readings = walk(n=4)
    readings[:, 1] = 7.0
    readings[:, 2] = np.nan
    rules = learn(training_of(readings)).rules
    assert np.isfinite(rules.lasting).all()
    assert np.isfinite(rules.instant).all()
    assert rules.rest_run[1] >= 24 * 40


def test_the_base_follows_a_season_and_not_a_spike():
    readings = np.full((24 * 30, 1), 0.0)
    training = training_of(readings)._replace(deviations=np.ones((24 * 30, 1)))
    assert abs(learning._without_base(training)[-1, 0]) < 0.13  # seven days take two thirds off, thirty nearly all
    spike = np.zeros((24 * 30, 1))
    spike[100] = 1000.0
    without = learning._without_base(training._replace(deviations=spike))
    assert abs(without[101, 0]) < 0.02
