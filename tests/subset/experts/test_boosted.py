"""Boosted trees: when they are trained, what they may see, and that any window and S serves."""

import pickle

import numpy as np
import pytest

import subcast as sc
from subcast.series import Series
from subcast.storage.state import State
from subcast.subset.experts import Boosted, Linear
from subcast.subset.experts.boosted import LEAST_WINDOWS, features_of
from subcast.subset.experts.practice import Practice
from subcast.subset.fitted import Fitted
from subset.examples import HORIZON, LOOKBACK, done_with, few_trees, last_reading, waves


def trained(series, metric="mae", most_rows=3000, trees=8, count=None, follow=False):
    """A boosted expert with a few trees, trained on windows of a series, and what was fitted."""
    train = series.windows(LOOKBACK, HORIZON)[:count]
    fitted = Fitted.fit(last_reading, train, sc.Settings(follow_levels=follow))
    boosted = Boosted(metric, 0, most_rows)
    with few_trees(trees):
        rows = boosted.rows(Practice.of(train, fitted), fitted, 0.1)
        if rows is not None:
            boosted.train(rows)
    return boosted, fitted


@pytest.fixture(scope="module")
def expert():
    return trained(waves(n=3, steps=1200))


@pytest.fixture(scope="module")
def test_windows():
    return waves(n=3, steps=1300).windows(LOOKBACK, HORIZON)[1200:1240]


# Training


def test_it_needs_a_thousand_windows():
    lags = LOOKBACK + HORIZON
    enough = LEAST_WINDOWS + 2 * (lags - 1)  # windows across the middle belong to no half
    assert trained(waves(n=2, steps=enough - 2), most_rows=400)[0].models is None
    assert trained(waves(n=2, steps=enough), most_rows=400)[0].models is not None


def test_it_steps_aside_where_almost_all_targets_are_missing():
    values = waves(n=2, steps=1200).values.copy()
    values[5:] = np.nan
    values[::200] = 1.0
    assert trained(Series(values))[0].models is None


def test_fit_forgets_earlier_trees(expert, test_windows):
    boosted = Boosted()
    boosted.models = expert[0].models
    boosted.fit(test_windows, expert[1])
    assert boosted.models is None


def test_steps_that_no_window_reaches_do_not_matter():
    values = waves(n=2, steps=1300).values.copy()
    times = waves(n=2, steps=1300).times
    states = []
    for garbage in (0.0, 500.0):
        values[1150:] = garbage
        series = Series(values.copy(), times=times)
        states.append(trained(series, most_rows=1500, count=1150 - LOOKBACK - HORIZON + 1)[0].state())
    for name, array in states[0].arrays.items():
        np.testing.assert_array_equal(array, states[1].arrays[name])


def test_absolute_and_squared_errors_give_other_trees(expert):
    other, _ = trained(waves(n=3, steps=1200), metric="rmse")
    cells = np.zeros((1, expert[0].models[0].n_features), dtype=np.float32)
    assert other.models[1].predict(cells) != expert[0].models[1].predict(cells)


def test_it_learns_what_a_regression_cannot():
    """The next reading of a chaotic series is a parabola of the last one, and not correlated with it."""
    values = np.full((1500, 1), 0.3)
    for step in range(1, len(values)):
        values[step] = 1 - 1.999 * values[step - 1] ** 2
    series = Series(values)
    boosted, fitted = trained(series[:1200], most_rows=6000, trees=25)
    windows = series.windows(LOOKBACK, HORIZON)[1200:1400]
    done = done_with(fitted, windows, np.arange(1))
    errors = {
        each.name: np.abs(each.forecast(done, np.arange(1)) - windows.targets)[:, 0].mean()
        for each in (boosted, Linear())
    }
    assert errors["boosted"] < 0.5 * errors["linear"]


# Forecasts


def test_the_forecast_is_the_regression_plus_half_of_both_corrections(expert, test_windows):
    boosted, fitted = expert
    present = np.array([0, 2])
    done = done_with(fitted, test_windows, present)
    features = features_of(fitted)
    linear = Linear().forecast(done, present)
    slots = fitted.slots(done.arrived, LOOKBACK + HORIZON)
    readings = fitted.normalize(done.arrived, present)
    crowd = np.stack([readings[:, -1].mean(axis=1), readings[:, -4:].mean(axis=(1, 2)), np.full(40, 2 / 3)], axis=1)
    cells = features.rows(readings, done.deviation_ahead(present), slots, present, crowd.astype(np.float32))
    left, level = (trees.predict(cells).reshape(linear.shape) for trees in boosted.models)
    hours = slots[:, LOOKBACK:] % 24
    spread = fitted.normalizer.spread[:, present][hours]
    center = fitted.normalizer.center.astype(np.float64)
    overall = np.sqrt((fitted.normalizer.spread.astype(np.float64) ** 2).mean(axis=0) + center.var(axis=0))[present]
    by_level = center.mean(axis=0)[present] + overall * level
    expected = (linear + spread * left + by_level) / 2
    np.testing.assert_allclose(boosted.forecast(done, present), expected, rtol=1e-4, atol=1e-3)


def test_a_variable_that_left_its_levels_is_moved_back_and_forward_again():
    """Far above the training, the forecast is as far above that of the moved window as the regression demands."""
    steps = 1300
    noise = np.random.default_rng(0).normal(size=(steps, 3))
    series = Series(0.02 * np.arange(steps)[:, None] + np.sin(np.arange(steps))[:, None] + 0.2 * noise)
    boosted, fitted = trained(series, follow=True)
    present = np.array([0, 2])
    here = done_with(fitted, series.windows(LOOKBACK, HORIZON)[-1:], present)
    assert here.moved.arrived.offsets is None
    high = done_with(fitted, Series(series.values + 50.0).windows(LOOKBACK, HORIZON)[-1:], present)
    offsets = high.moved.arrived.offsets[:, None, present]
    assert (offsets > 45).all()
    linear, moved = Linear().forecast(high, present), Linear().forecast(high.moved, present)
    expected = boosted.forecast(high.moved, present) + (linear - moved) / 2  # both add the offsets to the level
    np.testing.assert_allclose(boosted.forecast(high, present), expected, rtol=1e-3)


def test_a_forecast_does_not_depend_on_the_other_windows(expert, test_windows):
    boosted, fitted = expert
    present = np.array([0, 2])
    together = boosted.forecast(done_with(fitted, test_windows, present), present)
    for number in (0, 7, 39):
        alone = boosted.forecast(done_with(fitted, test_windows[number : number + 1], present), present)
        np.testing.assert_allclose(alone[0], together[number], rtol=1e-5, atol=1e-5)


def test_a_forecast_does_not_depend_on_what_is_asked_for_together(expert, test_windows):
    boosted, fitted = expert
    done = done_with(fitted, test_windows, np.arange(3))
    all_of_them = boosted.forecast(done, np.array([2, 0, 1]))
    np.testing.assert_allclose(boosted.forecast(done, np.array([0])), all_of_them[:, :, [1]], rtol=1e-5)


def test_absent_variables_get_the_forecast_of_the_regression(expert, test_windows):
    boosted, fitted = expert
    done = done_with(fitted, test_windows, np.array([1]))
    order = np.array([1, 0, 2])
    found, linear = boosted.forecast(done, order), Linear().forecast(done, order)
    np.testing.assert_array_equal(found[:, :, 1:], linear[:, :, 1:])
    assert not np.allclose(found[:, :, 0], linear[:, :, 0])


def test_without_trees_it_is_the_regression(expert, test_windows):
    done = done_with(expert[1], test_windows, np.arange(3))
    np.testing.assert_array_equal(Boosted().forecast(done, np.arange(3)), Linear().forecast(done, np.arange(3)))


@pytest.mark.parametrize("holes", ["first", "last", "all but one", "random", "everywhere"])
def test_holes_anywhere_give_finite_forecasts(boosted_wrapper, boosted_parts, holes):
    windows = np.array(boosted_parts.test.readings[:30])
    rng = np.random.default_rng(0)
    masks = {
        "first": np.arange(LOOKBACK)[None, :, None] < 2,
        "last": np.arange(LOOKBACK)[None, :, None] >= 2,
        "all but one": np.arange(LOOKBACK)[None, :, None] != 3,
        "random": rng.random(windows.shape) < 0.5,
        "everywhere": rng.random(windows.shape) < 0.95,
    }
    windows[np.broadcast_to(masks[holes], windows.shape)] = np.nan
    times = boosted_parts.test.series.times[:30]
    forecast = boosted_wrapper.predict_many(windows, [0, 1, 2], times=times, absent=True)
    assert np.isfinite(forecast.mean).all()
    silent = windows.copy()
    silent[:, :, 1] = np.nan
    assert np.isfinite(boosted_wrapper.predict_many(silent, [0, 1, 2], times=times).mean).all()


def test_windows_without_times_get_finite_forecasts(boosted_wrapper, boosted_parts):
    forecast = boosted_wrapper.predict_many(np.array(boosted_parts.test.readings[:5]), [0, 2], absent=True)
    assert np.isfinite(forecast.mean).all()


def test_constant_and_silent_variables(test_windows):
    values = waves(n=3, steps=1200).values.copy()
    values[:, 1], values[:, 2] = 7.0, np.nan
    boosted, fitted = trained(Series(values, times=waves(n=3, steps=1200).times), most_rows=2000)
    readings = np.array(test_windows.series.values)
    readings[:, 1], readings[:, 2] = 7.0, np.nan
    windows = Series(readings, times=test_windows.series.times).windows(LOOKBACK, HORIZON)[1200:1240]
    forecast = boosted.forecast(done_with(fitted, windows, np.arange(3)), np.arange(3))
    assert np.isfinite(forecast).all()
    np.testing.assert_allclose(forecast[:, :, 1], 7.0, atol=0.1)


@pytest.mark.parametrize("unit", [1e-25, 1e15])
def test_other_units_give_the_same_forecast(expert, test_windows, unit):
    boosted, fitted = trained(Series(waves(n=3, steps=1200).values * unit, times=waves(n=3, steps=1200).times))
    series = test_windows.series
    windows = Series(series.values * np.float32(unit), times=series.times).windows(LOOKBACK, HORIZON)[1200:1240]
    present = np.array([0, 2])
    scaled = boosted.forecast(done_with(fitted, windows, present), present) / unit
    usual = expert[0].forecast(done_with(expert[1], test_windows, present), present)
    assert np.abs(scaled - usual).mean() < 0.1 * np.abs(usual - usual.mean(axis=0)).mean()


# State


def test_the_state_gives_the_same_forecast_to_the_bit(expert, test_windows):
    boosted, fitted = expert
    again = Boosted.from_state(boosted.state())
    assert (again.metric, again.seed, again.most_rows) == ("mae", 0, 3000)
    done = done_with(fitted, test_windows, np.arange(3))
    np.testing.assert_array_equal(again.forecast(done, np.arange(3)), boosted.forecast(done, np.arange(3)))


def test_untrained_it_has_a_state_too():
    again = Boosted.from_state(Boosted("rmse", 3, 99).state())
    assert (again.metric, again.seed, again.most_rows, again.models) == ("rmse", 3, 99, None)


@pytest.mark.parametrize(("name", "value"), [("metric", "huber"), ("seed", -1), ("most_rows", 0), ("seed", 0.5)])
def test_damaged_facts_are_refused(name, value):
    state = Boosted().state()
    with pytest.raises(sc.DataError, match=name):
        Boosted.from_state(State({**state.facts, name: value}, state.arrays, source="plant"))


def test_a_wrapper_with_trees_can_be_pickled(boosted_wrapper, boosted_parts):
    boosted = boosted_wrapper.fitted_.experts["boosted"]
    cells = np.random.default_rng(0).normal(size=(9, boosted.models[0].n_features)).astype(np.float32)
    again = pickle.loads(pickle.dumps(boosted))
    for trees, copy in zip(boosted.models, again.models, strict=True):
        np.testing.assert_array_equal(trees.predict(cells), copy.predict(cells))
    plain = sc.SubsetForecaster(last_reading, settings=sc.Settings(), progress=False).fit(boosted_parts.train)
    copy = pickle.loads(pickle.dumps(plain))
    windows = boosted_parts.test[:3]
    np.testing.assert_array_equal(copy.predict_many(windows, [0]).mean, plain.predict_many(windows, [0]).mean)
