"""The regression on a variable's own past: against plain loops, with holes, saved, and where it steps aside."""

import numpy as np
import pytest

import subcast as sc
from subcast.cycle import Cycle
from subcast.errors import DataError
from subcast.series import Series
from subcast.subset.experts import OwnLinear
from subcast.subset.experts.own_linear import LEAST_WINDOWS
from subcast.subset.experts.own_regressions import calendar_inputs, learned_steps, n_inputs
from subcast.subset.fitted import Fitted
from subset.examples import HORIZON, LOOKBACK, done_with, last_reading, waves


def trained(series, metric="rmse"):
    train = series.windows(LOOKBACK, HORIZON)
    fitted = Fitted.fit(last_reading, train, sc.Settings())
    expert = OwnLinear(metric)
    expert.train(train, fitted)
    return expert, fitted


def noisy(n=3, steps=700, seed=3):
    """Variables that return to their mean, without times."""
    rng = np.random.default_rng(seed)
    values = np.zeros((steps, n))
    for step in range(1, steps):
        values[step] = 0.8 * values[step - 1] + rng.normal(size=n)
    return Series(10 + values)


def forecast_by_loops(series, variable, window):
    """Least squares on the last readings and a constant, one step and one variable at a time, without a library."""
    values = series.values[:, variable].astype(np.float64)
    mean, scale = values.mean(), values.std()
    units = (values - mean) / scale
    forecast = []
    for ahead in range(HORIZON):
        rows, targets = [], []
        for start in range(len(units) - LOOKBACK - HORIZON + 1):
            rows.append([*units[start : start + LOOKBACK], 1.0])
            targets.append(units[start + LOOKBACK + ahead])
        gram = [[sum(row[i] * row[j] for row in rows) for j in range(LOOKBACK + 1)] for i in range(LOOKBACK + 1)]
        right = [sum(row[i] * target for row, target in zip(rows, targets, strict=True)) for i in range(LOOKBACK + 1)]
        solution = np.linalg.solve(np.array(gram), np.array(right))
        own = [*((window - mean) / scale), 1.0]
        forecast.append(mean + scale * float(np.dot(solution, own)))
    return np.array(forecast)


def test_it_is_least_squares_on_own_readings():
    series = noisy()
    expert, fitted = trained(series)
    windows = series.windows(LOOKBACK, HORIZON)[100:103]
    forecast = expert.forecast(done_with(fitted, windows, np.array([0, 2])), np.array([0, 2]))
    for window in range(3):
        for place, variable in enumerate((0, 2)):
            expected = forecast_by_loops(series, variable, windows.readings[window, :, variable].astype(np.float64))
            np.testing.assert_allclose(forecast[window, :, place], expected, rtol=2e-3)


def test_absolute_errors_are_smaller_when_they_are_minimized():
    rng = np.random.default_rng(0)
    values = noisy(n=1, steps=2000).values.copy()
    values[rng.random(2000) < 0.05] += 30.0  # rare and on one side, so that mean and median differ
    series = Series(values)
    windows = series.windows(LOOKBACK, HORIZON)
    errors = {}
    for metric in ("mae", "rmse"):
        expert, fitted = trained(series, metric)
        forecast = expert.forecast(done_with(fitted, windows, np.array([0])), np.array([0]))
        error = forecast - windows.targets
        errors[metric] = np.abs(error).mean(), (error**2).mean()
    assert errors["mae"][0] < errors["rmse"][0]
    assert errors["mae"][1] > errors["rmse"][1]


def test_other_variables_do_not_matter():
    series = noisy()
    expert, fitted = trained(series)
    windows = series.windows(LOOKBACK, HORIZON)[50:52]
    alone = expert.forecast(done_with(fitted, windows, np.array([1])), np.array([1]))
    together = expert.forecast(done_with(fitted, windows, np.array([0, 1, 2])), np.array([1]))
    np.testing.assert_allclose(alone, together, rtol=1e-5)


def test_an_absent_variable_gets_its_usual_value():
    series = waves(n=3, steps=600)
    expert, fitted = trained(series)
    done = done_with(fitted, series.windows(LOOKBACK, HORIZON)[30:32], np.array([0]))
    slots = fitted.slots(done.arrived, HORIZON, LOOKBACK)
    usual = fitted.normalizer.restore(np.zeros((2, HORIZON, 1), dtype=np.float32), slots, np.array([2]))
    np.testing.assert_array_equal(expert.forecast(done, np.array([2])), usual)


def test_holes_are_filled_and_targets_may_be_missing():
    values = noisy(steps=900).values.copy()
    values[::7, 0] = np.nan
    values[:, 1] = np.nan
    values[::300, 1] = 4.0  # hardly any targets: the usual value
    series = Series(values)
    expert, fitted = trained(series)
    forecast = expert.forecast(done_with(fitted, series.windows(LOOKBACK, HORIZON)[:40], np.arange(3)), np.arange(3))
    assert np.isfinite(forecast).all()
    np.testing.assert_allclose(forecast[:, :, 1], 4.0, atol=1e-3)


def test_a_variable_that_wanders_is_not_drawn_back():
    rng = np.random.default_rng(5)
    series = Series(np.cumsum(rng.normal(size=(1500, 1)), axis=0))
    expert, fitted = trained(series)
    assert fitted.known_levels.wandering.tolist() == [0]
    windows = series.windows(LOOKBACK, HORIZON)[:50]
    raised = Series(series.values + 1000.0).windows(LOOKBACK, HORIZON)[:50]
    low, high = (expert.forecast(done_with(fitted, each, np.array([0])), np.array([0])) for each in (windows, raised))
    np.testing.assert_allclose(high - low, 1000.0, rtol=1e-4)


def test_it_needs_enough_windows():
    few = LOOKBACK + HORIZON - 1 + LEAST_WINDOWS
    assert trained(noisy(steps=few - 1))[0].coefficients is None
    assert trained(noisy(steps=few))[0].coefficients is not None


def test_long_horizons_are_learned_at_some_steps():
    series = noisy(n=2, steps=1200)
    train = series.windows(8, 40)
    fitted = Fitted.fit(lambda x: np.repeat(x[:, -1:, :, 0], 40, axis=1), train, sc.Settings())
    expert = OwnLinear("rmse")
    expert.train(train, fitted)
    assert expert.coefficients.shape == (2, len(learned_steps(fitted)), n_inputs(fitted))
    assert len(learned_steps(fitted)) <= 12
    assert expert.forecast(done_with(fitted, train[:3], np.array([0])), np.array([0])).shape == (3, 40, 1)


def test_calendar_inputs_name_weekdays_and_waves():
    week = Cycle(24, (0, 0, 0, 0, 0, 1, 1))
    monday, saturday = calendar_inputs(week, np.array([[6, 5 * 24 + 6]]))[0]
    assert monday[:7].tolist() == [1, 0, 0, 0, 0, 0, 0]
    assert saturday[:7].tolist() == [1, 0, 0, 0, 0, 1, 0]
    assert monday[7] == pytest.approx(1.0)  # sine of six o'clock
    assert monday[15:].tolist() == [0] * 8
    np.testing.assert_array_equal(saturday[15:], saturday[7:15])


def test_days_of_the_year_and_of_the_week_are_both_inputs():
    cycle = Cycle(weekly=True, yearly=True)
    positions = np.array([[0, 3 * 366 + 91, 6 * 366 + 183]])
    inputs = calendar_inputs(cycle, positions)
    assert inputs.shape == (1, 3, 9)  # one, six weekdays, a wave of the year
    assert inputs[0, :, 1:7].argmax(axis=1).tolist()[1:] == [2, 5]
    assert not inputs[0, 0, 1:7].any()
    np.testing.assert_allclose(inputs[0, :, 8], np.cos(2 * np.pi * np.array([0, 91, 183]) / 366), atol=1e-6)


def test_daily_data_with_a_year_and_a_week_keep_both():
    """The week is large beside the noise: what forecasts the year alone is far off."""
    rng = np.random.default_rng(0)
    day = np.arange(4 * 365)
    year = 8 * np.sin(2 * np.pi * day / 365.25)[:, None]
    week = np.array([0.0, 1, 3, -2, 0, 4, -5])[day % 7][:, None]
    times = np.datetime64("2016-01-01") + day
    series = Series(20 + year + week + 0.5 * rng.normal(size=(len(day), 3)), times=times, freq="D")
    windows = series.windows(LOOKBACK, HORIZON)
    fitted = Fitted.fit(last_reading, windows[:1200], sc.Settings())
    assert fitted.normalizer.cycle.yearly
    expert = OwnLinear("rmse")
    expert.train(windows[:1200], fitted)
    test = windows[1250:]
    error = expert.forecast(done_with(fitted, test, np.arange(3)), np.arange(3)) - test.targets
    assert np.abs(error).mean() < 0.7  # the mean size of the noise is 0.4, that of the week 2.3


def test_state_round_trip():
    expert, fitted = trained(waves(n=3, steps=600), "mae")
    again = OwnLinear.from_state(expert.state())
    done = done_with(fitted, waves(n=3, steps=600).windows(LOOKBACK, HORIZON)[:5], np.array([0, 1]))
    np.testing.assert_array_equal(again.forecast(done, np.array([0, 1])), expert.forecast(done, np.array([0, 1])))
    assert OwnLinear.from_state(OwnLinear().state()).coefficients is None


def test_fit_forgets_and_coefficients_of_another_shape_are_refused(tmp_path):
    series = waves(n=3, steps=900)
    train, val, _ = series.split(LOOKBACK, HORIZON)
    robust = sc.SubsetForecaster(last_reading, effort=0.1, progress=False).fit(train, val)
    expert = robust.fitted_.experts["own_linear"]
    expert.coefficients = expert.coefficients[:, :, 1:].copy()
    robust.save(tmp_path / "plant")
    with pytest.raises(DataError, match="coefficients"):
        sc.load(tmp_path / "plant", model=last_reading)
    expert.fit(train, robust.fitted_)
    assert expert.coefficients is None
