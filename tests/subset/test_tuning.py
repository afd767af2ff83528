"""Tests of tuning: it uses only its validation windows, keeps given settings, and respects the time limit."""

import time

import numpy as np
import pytest

import subcast as sc
from subcast.errors import FitWarning
from subcast.series import Series
from subcast.subset.shares import parts_of_rows
from subcast.subset.validation import split_validation
from subset.examples import HORIZON, LOOKBACK, few_trees, last_reading, mixing, walk, waves

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
    assert one.settings_ == other.settings_
    assert [case["error"] for case in one.report_["tried"]] == [case["error"] for case in other.report_["tried"]]
    for present in ([1], [0, 2, 3]):
        a, b = (robust.predict_many(windows, present, absent=True) for robust in (one, other))
        np.testing.assert_array_equal(a.mean, b.mean)
        np.testing.assert_array_equal(a.bounds, b.bounds)
        assert a.expected_gap == b.expected_gap


@pytest.mark.parametrize("garbage", ["other readings", "missing"])
def test_test_data_do_not_change_the_fit(garbage):
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
def test_steps_after_the_windows_do_not_change_the_fit(hours):
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


def test_calibration_steps_change_only_the_intervals(walk_parts, walk_tuned):
    train, val, test = walk_parts
    tuning, calibration = split_validation(val)
    other = with_garbage_at(val, steps_only_of(val, calibration, tuning))
    one, two = walk_tuned, fitted(train, other)
    assert one.settings_ == two.settings_
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


def test_tuning_depends_on_the_tuning_windows(walk_parts, walk_tuned):
    """Which the tests above would not notice if it listened to nothing."""
    train, val, _ = walk_parts
    tuning, calibration = split_validation(val)
    other = with_garbage_at(val, steps_only_of(val, tuning, calibration))
    one, two = walk_tuned, fitted(train, other)
    assert [t["error"] for t in one.report_["tried"]] != [t["error"] for t in two.report_["tried"]]


def test_the_same_seed_gives_the_same_settings(walk_parts, walk_tuned):
    train, val, test = walk_parts
    assert_same_wrapper(walk_tuned, fitted(train, val, seed=0), test)


def test_fitting_again_gives_the_same_settings(walk_parts, walk_tuned):
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
def test_given_settings_are_not_tuned(walk_parts, given):
    robust = fitted(walk_parts.train, walk_parts.val[::2], model=last_reading, **given)
    for name, value in given.items():
        assert getattr(robust.settings_, name) == getattr(sc.Settings(**given), name), value
    assert np.isfinite(robust.predict_many(walk_parts.test, [0, 3]).mean).all()


def test_a_given_blend_of_virtual_sensors_is_not_tuned(walk_parts):
    assert fitted(walk_parts.train, walk_parts.val, blend_absent=BLEND).settings_.blend_absent == {"specialist": BLEND}


def test_nothing_is_tuned_when_all_settings_are_given(walk_parts):
    by_hand = sc.Settings(neighbors=3, blend=BLEND)
    robust = fitted(walk_parts.train, walk_parts.val, settings=by_hand)
    assert robust.settings_ == by_hand
    assert list(robust.report_) == ["model"]  # nothing is tuned, and the model is compared all the same


@pytest.mark.parametrize(
    ("given", "fades_from"), [({}, 0.95), ({"fades_from": 0.9}, 0.9), ({"blend": BLEND}, 0.0), ({"neighbors": 4}, 0.95)]
)
def test_tuned_parts_fade_when_nearly_everything_is_present(walk_parts, given, fades_from):
    robust = fitted(walk_parts.train, walk_parts.val, **given)
    assert robust.settings_.fades_from == fades_from


def test_without_validation_windows_the_defaults_are_used(walk_parts):
    robust = sc.SubsetForecaster(mixing, progress=False, ridge=0.4).fit(walk_parts.train)
    assert robust.settings_ == sc.Settings(ridge=0.4)
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


def test_metric_rmse_tunes_for_rmse(walk_parts, walk_tuned):
    robust = fitted(walk_parts.train, walk_parts.val, metric="rmse")
    assert robust.report_["metric"] == "rmse"
    assert robust.settings_.center == "mean"
    assert walk_tuned.settings_.center == "median"


@pytest.mark.parametrize(("metric", "power"), [("mae", 1), ("rmse", 2)])
def test_tuning_reduces_the_error_on_test_windows(wave_parts, learned, metric, power):
    train, val, test = wave_parts
    tuned = fitted(train, val, model=learned, metric=metric)
    default = sc.SubsetForecaster(learned, progress=False).fit(train)
    borrowed = sc.SubsetForecaster(learned, progress=False, settings=sc.Settings(neighbors=1, correction=0.0)).fit(
        train
    )
    error = error_on(tuned, test, power)
    assert error < 0.92 * error_on(borrowed, test, power)
    assert error < 1.05 * error_on(default, test, power)


def test_the_report_lists_the_settings_that_were_tried(walk_tuned):
    robust = walk_tuned
    tried = robust.report_["tried"]
    assert robust.report_["metric"] == "mae"
    assert robust.report_["windows"] > 0
    assert all(np.isfinite(case["error"]) for case in tried)
    assert {case.get("neighbors") for case in tried} >= {robust.settings_.neighbors}


class TestClock:
    """With a clock that only the model moves: the speed of a machine decides nothing."""

    @pytest.fixture
    def taking(self, monkeypatch):
        now = [1000.0]
        monkeypatch.setattr(time, "monotonic", lambda: now[0])
        monkeypatch.setattr(time, "perf_counter", lambda: now[0])

        def make(seconds):
            def model(x):
                now[0] += seconds * len(x)
                return last_reading(x)

            return model

        return make

    def test_slow_and_fast_machines_choose_the_same_settings(self, walk_parts, taking):
        quick = fitted(walk_parts.train, walk_parts.val, model=taking(1e-7))
        slow = fitted(walk_parts.train, walk_parts.val, model=taking(100.0))
        assert slow.settings_ == quick.settings_
        assert slow.report_["tried"] == quick.report_["tried"]
        assert slow.report_["windows"] == quick.report_["windows"]
        assert not slow.report_["cut_short"]

    def test_a_time_limit_that_is_not_reached_changes_nothing(self, walk_parts, taking):
        free = fitted(walk_parts.train, walk_parts.val, model=taking(1e-3))
        guarded = fitted(walk_parts.train, walk_parts.val, model=taking(1e-3), seconds=3600.0)
        assert guarded.settings_ == free.settings_

    def test_a_time_limit_that_stops_tuning_warns(self, walk_parts, taking):
        free = fitted(walk_parts.train, walk_parts.val, model=taking(10.0))
        with pytest.warns(FitWarning, match="tuning was cut short after 10 seconds"):
            cut = fitted(walk_parts.train, walk_parts.val, model=taking(10.0), seconds=10.0)
        assert cut.report_["cut_short"]
        assert len(cut.report_["tried"]) < len(free.report_["tried"])

    def test_effort_sets_the_number_of_windows(self, walk_parts):
        whole = fitted(walk_parts.train, walk_parts.val)
        less = fitted(walk_parts.train, walk_parts.val, effort=0.15)
        assert 0 < less.report_["windows"] < whole.report_["windows"] <= 160


# Few of anything


@pytest.mark.parametrize("n", [1, 2])
def test_one_or_two_variables(n):
    train, val, test = walk(n=n).split(LOOKBACK, HORIZON, shares=SHARES)
    robust = fitted(train, val, model=last_reading)
    found = robust.predict_many(test, [0], absent=True)
    assert found.mean.shape == (len(test), HORIZON, n)
    assert np.isfinite(found.mean).all()


@pytest.mark.parametrize("count", [1, 2, 10])
def test_very_few_validation_windows(walk_parts, count):
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


# Shares of the experts


def parts_by_step(robust, share):
    """The part of each expert at each step, {name: [h]}, for one of the shares of variables present."""
    settings = robust.settings_
    by_step = [parts_of_rows(settings.blend, share, step) for step in range(robust.horizon)]
    return {name: [parts[name] for parts in by_step] for name in by_step[0]}


def noise(x):
    """A useless model: numbers that have nothing to do with the readings."""
    return 50 * np.sin(1e3 * x[:, -1:, :, 0] * np.arange(1, HORIZON + 1)[None, :, None])


class Seeing:
    """A perfect model of a series: it finds each window by its last readings and returns what follows."""

    def __init__(self, series):
        self.series, values = series, series.values
        self.places = {values[place].tobytes(): place for place in range(LOOKBACK, len(values))}
        self.steps = np.arange(1, HORIZON + 1)

    def __call__(self, x):
        places = [self.places.get(np.float32(row).tobytes()) for row in x[:, -1, :, 0]]
        last = len(self.series) - HORIZON - 1
        return np.stack(
            [
                self.series.values[min(place, last) + self.steps] if place is not None else x[number, -HORIZON:, :, 0]
                for number, place in enumerate(places)
            ]
        )


@pytest.fixture(scope="module")
def boosted_windows():
    return waves(n=3, steps=1500).split(LOOKBACK, HORIZON, shares=(0.75, 0.12, 0.13))


def tuned_for_shares(parts, model, **options):
    with few_trees():
        return fitted(parts.train, parts.val, model, neighbors=5, correction=0.0, exponent=0.5, ridge=0.1, **options)


@pytest.mark.filterwarnings("ignore::subcast.errors.FitWarning")
@pytest.mark.parametrize("metric", ["mae", "rmse"])
def test_a_useless_model_gets_almost_no_share(boosted_windows, metric):
    robust = tuned_for_shares(boosted_windows, noise, metric=metric)
    assert "boosted" in robust.fitted_.experts
    for share in range(3):
        parts = parts_by_step(robust, share)
        assert list(parts) == ["model", "specialist", "linear", "own_linear", "boosted", "own_trees"]
        assert max(parts["model"]) <= 0.05
        np.testing.assert_allclose(np.sum(list(parts.values()), axis=0), 1, atol=1e-3)


def test_a_perfect_model_gets_the_largest_share():
    """With all but one of many variables present; with few present no model can be perfect."""
    parts = waves(n=8, steps=600).split(LOOKBACK, HORIZON, shares=SHARES)
    robust = fitted(
        parts.train, parts.val, Seeing(parts.val.series), shares=(1.0,), assist="always", neighbors=5, correction=0.0,
        exponent=0.5,
    )  # fmt: skip
    own = parts_by_step(robust, 0)
    assert min(own["model"]) > 0.95


@pytest.mark.filterwarnings("ignore::subcast.errors.FitWarning")
def test_the_report_has_the_shares_with_and_without_the_model(walk_parts):
    robust = fitted(walk_parts.train, walk_parts.val, neighbors=5, correction=0.5, exponent=0.5)
    tried = {part["part"]: part for part in robust.report_["tried"] if "rows" in part}
    assert list(tried) == ["shares", "shares without the model"]
    assert list(tried["shares"]["error_alone"]) == ["model", "specialist", "linear", "own_linear"]
    assert list(tried["shares without the model"]["error_alone"]) == ["specialist", "linear", "own_linear"]
    for part in tried.values():
        assert part["error"] <= min(part["error_alone"].values()) * 1.05
        assert part["error"] <= part["error_of_usual_shares"] * 1.05
    rows = {name: tuple(map(tuple, own)) for name, own in tried["shares"]["rows"].items()}
    assert rows == robust.settings_.blend


@pytest.mark.filterwarnings("ignore::subcast.errors.FitWarning")
def test_calibration_and_later_steps_do_not_change_the_trees():
    """Only the training windows teach the boosted expert."""
    series = waves(n=3, steps=1500)
    first = series.split(LOOKBACK, HORIZON, shares=(0.75, 0.12, 0.13))
    other = changed(series, len(first.train.series), 1500).split(LOOKBACK, HORIZON, shares=(0.75, 0.12, 0.13))
    states = []
    for parts in (first, other):
        robust = tuned_for_shares(parts, mixing, limits=None)
        states.append(robust.fitted_.experts["boosted"].state())
    for state in states:
        state.facts.pop("level_share")  # of the bounds, which validation windows choose
    assert states[0].facts == states[1].facts
    for name, array in states[0].arrays.items():
        np.testing.assert_array_equal(array, states[1].arrays[name])
