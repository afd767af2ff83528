"""Tuning sees its part of validation and nothing else, keeps what was given by hand, and minds the time."""

import time

import numpy as np
import pytest

import subcast as sc
from subcast.series import Series
from subcast.subset.validation import split_validation
from subset.examples import HORIZON, LOOKBACK, last_reading, mixing, walk, waves

SHARES = (0.6, 0.2, 0.2)


def fitted(train, val, model=mixing, **options):
    return sc.SubsetForecaster(model, progress=False, **options).fit(train, val)


def changed(series, first, last, seed=0):
    """The same series with garbage in some steps."""
    values = series.values.copy()
    rng = np.random.default_rng(seed)
    values[first:last] = rng.normal(size=values[first:last].shape) * 50 - 30
    return Series(values, series.variables, series.times, freq=series.freq, time_features=series.time_features)


def assert_same_wrapper(one, other, windows):
    """The same settings and, from some S, the same forecasts with the same intervals."""
    assert one.settings == other.settings
    assert [case["error"] for case in one.report["tried"]] == [case["error"] for case in other.report["tried"]]
    for present in ([1], [0, 2, 3]):
        a, b = (robust.predict_many(windows, present, absent=True) for robust in (one, other))
        np.testing.assert_array_equal(a.mean, b.mean)
        np.testing.assert_array_equal(a.bounds, b.bounds)
        assert a.expected_gap == b.expected_gap


@pytest.mark.parametrize("garbage", ["other readings", "missing"])
def test_test_data_are_never_seen(garbage):
    series = waves(n=5, steps=520)
    parts = series.split(LOOKBACK, HORIZON, shares=SHARES)
    first = len(series) - len(parts.test.series)
    other = changed(series, first, None)
    if garbage == "missing":
        values = series.values.copy()
        values[first:] = np.nan
        other = Series(values, series.variables, series.times, freq=series.freq)
    others = other.split(LOOKBACK, HORIZON, shares=SHARES)
    assert not np.array_equal(parts.test.series.values, others.test.series.values)
    assert_same_wrapper(fitted(parts.train, parts.val), fitted(others.train, others.val), parts.val)


def cut_from_the_whole(series):
    """Training and validation windows that are views of the whole series, test steps and all."""
    every = series.windows(LOOKBACK, HORIZON)
    return every[:300], every[310:420]


@pytest.mark.parametrize("hours", [True, False], ids=["hours", "no times"])
def test_steps_after_the_windows_are_never_seen(hours):
    series = waves(n=5, steps=560, hours=hours)
    train, val = cut_from_the_whole(series)
    others = cut_from_the_whole(changed(series, 420 + LOOKBACK + HORIZON, None))
    assert_same_wrapper(fitted(train, val), fitted(*others), val)


@pytest.fixture(scope="module")
def walk_parts():
    return walk().split(LOOKBACK, HORIZON, shares=SHARES)


@pytest.fixture(scope="module")
def walk_tuned(walk_parts):
    """Fitted once for tests that only look at it."""
    return fitted(walk_parts.train, walk_parts.val)


def steps_only_of(val, mine, others):
    """The steps that only some windows use."""
    size = val.lookback + val.horizon
    mine, others = ({val.starts[int(p)] + s for p in places for s in range(size)} for places in (mine, others))
    return np.array(sorted(mine - others))


def with_garbage_at(val, steps):
    values = val.series.values.copy()
    values[steps] += np.random.default_rng(3).normal(size=values[steps].shape) * 20
    return Series(values, val.series.variables).windows(LOOKBACK, HORIZON)


def test_calibration_steps_change_the_intervals_alone(walk_parts, walk_tuned):
    train, val, test = walk_parts
    tuning, calibration = split_validation(val)
    other = with_garbage_at(val, steps_only_of(val, calibration, tuning))
    one, two = walk_tuned, fitted(train, other)
    assert one.settings == two.settings
    a, b = one.predict_many(test, [1, 4]), two.predict_many(test, [1, 4])
    np.testing.assert_array_equal(a.mean, b.mean)
    assert ((b.upper - b.lower) > (a.upper - a.lower)).all()


def test_tuning_steps_do_not_change_the_intervals(walk_parts):
    train, val, test = walk_parts
    tuning, calibration = split_validation(val)
    other = with_garbage_at(val, steps_only_of(val, tuning, calibration))
    by_hand = sc.Settings(blend=((0.5,) * HORIZON,) * 3)
    a, b = (fitted(train, part, settings=by_hand).predict_many(test, [1, 4]) for part in (val, other))
    np.testing.assert_array_equal(a.mean, b.mean)
    np.testing.assert_array_equal(a.bounds, b.bounds)


def test_tuning_listens_to_its_own_part(walk_parts, walk_tuned):
    """Which the tests above would not notice if it listened to nothing."""
    train, val, _ = walk_parts
    tuning, calibration = split_validation(val)
    other = with_garbage_at(val, steps_only_of(val, tuning, calibration))
    one, two = walk_tuned, fitted(train, other)
    assert [t["error"] for t in one.report["tried"]] != [t["error"] for t in two.report["tried"]]


def test_the_same_seed_gives_the_same(walk_parts, walk_tuned):
    train, val, test = walk_parts
    assert_same_wrapper(walk_tuned, fitted(train, val, seed=0), test)


def test_fitting_again_gives_the_same(walk_parts, walk_tuned):
    train, val, test = walk_parts
    twice = fitted(train, val).fit(train, val)
    assert_same_wrapper(walk_tuned, twice, test)


# By hand

BLEND = ((0.25, 0.5, 0.75),) * 3


@pytest.mark.parametrize(
    "given",
    [
        {"neighbors": 7},
        {"exponent": 2.0, "ridge": 0.7},
        {"regression_share": 0.25, "correction": 0.9},
        {"correction": 0, "regression_share": 0},
        {"blend": BLEND},
        {"center": "mean", "weighting": "rank"},
        {"shares": (0.3, 0.6)},
        {"daily_profile": False, "per_variable": False},
        {"neighbors": 100_000},
        {"pool": False, "weighting": "distance", "neighbors": 4},
        {"pool": False, "weighting": "forecast", "temperature": 0.3},
    ],
    ids=str,
)
def test_what_is_given_by_hand_stays(walk_parts, given):
    robust = fitted(walk_parts.train, walk_parts.val[::2], model=last_reading, **given)
    for name, value in given.items():
        assert getattr(robust.settings, name) == value
    assert np.isfinite(robust.predict_many(walk_parts.test, [0, 3]).mean).all()


def test_the_blend_of_virtual_sensors_given_by_hand_stays(walk_parts):
    assert fitted(walk_parts.train, walk_parts.val, blend_absent=BLEND).settings.blend_absent == BLEND


def test_all_settings_by_hand_leave_nothing_to_tune(walk_parts):
    by_hand = sc.Settings(neighbors=3, blend=BLEND)
    robust = fitted(walk_parts.train, walk_parts.val, settings=by_hand)
    assert robust.settings == by_hand
    assert robust.report == {}


def test_without_validation_the_defaults_serve(walk_parts):
    robust = sc.SubsetForecaster(mixing, progress=False, ridge=0.4).fit(walk_parts.train)
    assert robust.settings == sc.Settings(ridge=0.4)
    found = robust.predict_many(walk_parts.test, [1, 2])
    assert found.bounds is None
    assert found.expected_gap is None
    assert found.quality in ("good", "fair", "poor")


# What it is tuned for


def error_on(robust, windows, power):
    """The mean |error|^p from a third and half of the variables, in units of each variable's deviation."""
    scale = windows.series.values.std(axis=0)
    total = []
    for present in ([0, 1], [2, 4], [3, 5], [0, 2, 4], [1, 3, 5]):
        off = robust.predict_many(windows, present).mean - windows.targets[:, :, present]
        total.append((np.abs(off / scale[present]) ** power).mean())
    return float(np.mean(total))


def test_rmse_is_tuned_for_on_request(walk_parts, walk_tuned):
    robust = fitted(walk_parts.train, walk_parts.val, metric="rmse")
    assert robust.report["metric"] == "rmse"
    assert robust.settings.center == "mean"
    assert walk_tuned.settings.center == "median"


@pytest.mark.parametrize(("metric", "power"), [("mae", 1), ("rmse", 2)])
def test_tuning_pays_on_windows_it_has_not_seen(wave_parts, learned, metric, power):
    train, val, test = wave_parts
    tuned = fitted(train, val, model=learned, metric=metric)
    default = sc.SubsetForecaster(learned, progress=False).fit(train)
    borrowed = sc.SubsetForecaster(learned, progress=False, settings=sc.Settings(neighbors=1, correction=0.0)).fit(
        train
    )
    error = error_on(tuned, test, power)
    assert error < 0.92 * error_on(borrowed, test, power)
    assert error < 1.05 * error_on(default, test, power)


def test_the_report_tells_what_was_tried(walk_tuned):
    robust = walk_tuned
    tried = robust.report["tried"]
    assert robust.report["metric"] == "mae"
    assert robust.report["windows"] > 0
    assert all(np.isfinite(case["error"]) for case in tried)
    assert {case["neighbors"] for case in tried} >= {robust.settings.neighbors}


def test_a_slow_model_is_tuned_on_fewer_windows(walk_parts, monkeypatch):
    """With a clock that only the model moves."""
    now = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])

    def taking(seconds):
        def model(x):
            now[0] += seconds * len(x)
            return last_reading(x)

        return model

    quick = fitted(walk_parts.train, walk_parts.val, model=taking(1e-7), seconds=10.0)
    slow = fitted(walk_parts.train, walk_parts.val, model=taking(0.01), seconds=10.0)
    slower = fitted(walk_parts.train, walk_parts.val, model=taking(10.0), seconds=10.0)
    assert slow.report["windows"] < quick.report["windows"]
    assert 0 < slower.report["windows"] <= slow.report["windows"]
    assert len(slower.report["tried"]) < len(quick.report["tried"])  # it stopped early


# Few of anything


@pytest.mark.parametrize("n", [1, 2])
def test_one_or_two_variables(n):
    train, val, test = walk(n=n).split(LOOKBACK, HORIZON, shares=SHARES)
    robust = fitted(train, val, model=last_reading)
    found = robust.predict_many(test, [0], absent=True)
    assert found.mean.shape == (len(test), HORIZON, n)
    assert np.isfinite(found.mean).all()


@pytest.mark.parametrize("count", [1, 2, 10])
def test_hardly_any_validation_windows(walk_parts, count):
    robust = fitted(walk_parts.train, walk_parts.val[:count])
    assert np.isfinite(robust.predict_many(walk_parts.test, [0, 3]).mean).all()


def test_missing_readings_in_training_and_validation(walk_parts):
    values = walk().values.copy()
    values[np.random.default_rng(0).random(values.shape) < 0.1] = np.nan
    values[:, 2] = np.nan
    train, val, test = Series(values).split(LOOKBACK, HORIZON, shares=SHARES)
    robust = fitted(train, val)
    found = robust.predict_many(test, [0, 3], absent=True)
    assert np.isfinite(found.mean).all()
    assert np.isfinite(found.bounds).all()
