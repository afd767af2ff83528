"""Trees of each variable: when they are trained, what they forecast, and that any window and S serves."""

import numpy as np
import pytest

import subcast as sc
from subcast.series import Series
from subcast.storage.state import State
from subcast.subset.experts import Boosted, Linear, OwnTrees
from subcast.subset.experts import own_trees as module
from subcast.subset.experts.boosted import cells_of, features_of
from subcast.subset.experts.practice import Practice
from subcast.subset.fitted import Fitted
from subset.examples import HORIZON, LOOKBACK, done_with, few_trees, last_reading, waves


def trained(series, metric="mae", most_rows=6000, trees=8, follow=False):
    """The expert with a few trees, trained on windows of a series, and what was fitted."""
    train = series.windows(LOOKBACK, HORIZON)
    fitted = Fitted.fit(last_reading, train, sc.Settings(follow_levels=follow))
    expert = OwnTrees(metric)
    with few_trees(trees):
        expert.train(Boosted(metric, 0, most_rows).rows(Practice.of(train, fitted), fitted, 0.1), fitted)
    return expert, fitted


@pytest.fixture(scope="module")
def expert():
    return trained(waves(n=3, steps=1200))


@pytest.fixture(scope="module")
def test_windows():
    return waves(n=3, steps=1300).windows(LOOKBACK, HORIZON)[1200:1240]


def test_it_learns_what_differs_between_variables():
    """After a reading of either sign the first variable is high and the second low, in chaotic series."""
    values = np.full((1600, 2), 0.3)
    for step in range(1, len(values)):
        values[step] = [1 - 1.999 * values[step - 1, 0] ** 2, -1 + 1.999 * values[step - 1, 1] ** 2]
    series = Series(values)
    expert, fitted = trained(series[:1400], trees=40, most_rows=8000)
    windows = series.windows(LOOKBACK, HORIZON)[1400:1560]
    done = done_with(fitted, windows, np.arange(2))
    errors = [np.abs(each.forecast(done, np.arange(2)) - windows.targets)[:, 0].mean() for each in (expert, Linear())]
    assert errors[0] < 0.5 * errors[1]


def test_the_forecast_is_the_reading_that_the_trees_of_the_variable_say(expert, test_windows):
    own, fitted = expert
    present = np.array([0, 2])
    done = done_with(fitted, test_windows, present)
    cells = cells_of(done.moved, present).reshape(40, HORIZON, 2, -1)  # of few steps ahead all are learned
    found = own.forecast(done, present)
    levels = fitted.normalizer.levels
    for window in (0, 17, 39):
        for step in range(HORIZON):
            for place, variable in enumerate(present.tolist()):
                learned = own.models.predict(variable, cells[window, step, place][None])[0]
                expected = levels[0][variable] + levels[1][variable] * learned
                assert found[window, step, place] == pytest.approx(expected, rel=1e-4, abs=1e-3)


def test_the_column_of_the_variable(expert):
    _, fitted = expert
    features = features_of(fitted)
    numbers = np.array([2, 0])
    zeros = np.zeros((1, len(features.steps), 2), dtype=np.float32)
    rows = features.rows(
        np.zeros((1, LOOKBACK, 2), np.float32), zeros, np.zeros((1, LOOKBACK + HORIZON), int), numbers,
        np.zeros((1, 3), np.float32),
    )  # fmt: skip
    assert rows[:, features.variable_column].tolist() == [2, 0] * len(features.steps)


def test_few_rows_and_many_variables(monkeypatch):
    series = waves(n=3, steps=1200)
    assert trained(series, most_rows=3 * (module.LEAST_ROWS - 100))[0].models is None
    monkeypatch.setattr(module, "MOST_VARIABLES", 2)
    assert trained(series)[0].models is None


def test_a_variable_without_readings_gets_the_regression():
    values = waves(n=3, steps=1200).values.copy()
    values[:, 1] = np.where(np.arange(len(values)) % 90 == 0, values[:, 1], np.nan)
    expert, fitted = trained(Series(values))
    assert expert.models.known.tolist() == [True, False, True]
    windows = waves(n=3, steps=1300).windows(LOOKBACK, HORIZON)[1200:1210]
    done = done_with(fitted, windows, np.arange(3))
    found, linear = (each.forecast(done, np.arange(3)) for each in (expert, Linear()))
    np.testing.assert_array_equal(found[:, :, 1], linear[:, :, 1])
    assert not np.allclose(found[:, :, 0], linear[:, :, 0])


def test_absent_variables_get_the_forecast_of_the_regression(expert, test_windows):
    own, fitted = expert
    done = done_with(fitted, test_windows, np.array([1]))
    order = np.array([1, 0, 2])
    found, linear = own.forecast(done, order), Linear().forecast(done, order)
    np.testing.assert_array_equal(found[:, :, 1:], linear[:, :, 1:])
    assert not np.allclose(found[:, :, 0], linear[:, :, 0])


def test_a_variable_that_left_its_levels_is_followed():
    steps = 1300
    noise = np.random.default_rng(0).normal(size=(steps, 3))
    series = Series(0.02 * np.arange(steps)[:, None] + np.sin(np.arange(steps))[:, None] + 0.2 * noise)
    expert, fitted = trained(series, follow=True)
    present = np.array([0, 2])
    high = done_with(fitted, Series(series.values + 50.0).windows(LOOKBACK, HORIZON)[-1:], present)
    offsets = high.moved.arrived.offsets[:, None, present]
    assert (offsets > 45).all()
    expected = expert.forecast(high.moved, present)
    np.testing.assert_allclose(expert.forecast(high, present), expected, rtol=1e-3)


def test_a_forecast_does_not_depend_on_the_other_windows_or_variables(expert, test_windows):
    own, fitted = expert
    together = own.forecast(done_with(fitted, test_windows, np.arange(3)), np.arange(3))
    for number in (0, 39):
        done = done_with(fitted, test_windows[number : number + 1], np.arange(3))
        np.testing.assert_allclose(own.forecast(done, np.array([2, 0]))[0], together[number][:, [2, 0]], rtol=1e-5)


@pytest.mark.parametrize("metric", ["mae", "rmse"])
def test_a_saved_expert_forecasts_the_same(metric, test_windows):
    expert, fitted = trained(waves(n=3, steps=1200), metric=metric)
    state = expert.state()
    again = OwnTrees.from_state(State(state.facts, state.arrays))
    done = done_with(fitted, test_windows, np.arange(3))
    np.testing.assert_array_equal(again.forecast(done, np.arange(3)), expert.forecast(done, np.arange(3)))
    assert OwnTrees.from_state(OwnTrees().state()).models is None


def test_fit_forgets_earlier_trees(expert, test_windows):
    own = OwnTrees()
    own.models = expert[0].models
    own.fit(test_windows, expert[1])
    assert own.models is None
