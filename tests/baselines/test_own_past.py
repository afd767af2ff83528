"""The boosted model on a variable's own past: what it may use, and what it learns."""

import numpy as np
import pytest

from baselines.examples import HORIZON, LOOKBACK, PRESENT, hourly, parts
from subcast.baselines import LastValue, OwnPast
from subcast.baselines.own_past import _last
from subcast.errors import InputError
from subcast.series import Series


def weekly(weeks=8, n=3, seed=0):
    """Readings that depend on the hour and the weekday alone, with a little noise."""
    steps = np.arange(24 * 7 * weeks)
    by_hour = np.random.default_rng(7).normal(size=(7, 24, n))
    values = by_hour[steps // 24 % 7, steps % 24] + 0.05 * np.random.default_rng(seed).normal(size=(len(steps), n))
    return hourly(values.astype(np.float32))


@pytest.mark.parametrize("each", [False, True])
def test_other_variables_do_not_matter(each):
    train, _, test = parts(holes=0.05)
    model = OwnPast.fit(train[::4], each=each, most_rows=600)
    alone = model(test[:5], PRESENT[:1])
    np.testing.assert_array_equal(alone, model(test[:5], PRESENT)[:, :, :1])
    changed = np.full_like(test.series.values, 99.0)
    changed[:, PRESENT[0]] = test.series.values[:, PRESENT[0]]
    same, other = (Series(v, times=test.series.times).windows(LOOKBACK, HORIZON) for v in (test.series.values, changed))
    np.testing.assert_array_equal(model(other[:5], PRESENT[:1]), model(same[:5], PRESENT[:1]))


def test_it_learns_the_weekday():
    train, _, test = weekly().split(LOOKBACK, HORIZON)
    everyone = np.arange(3)
    error = np.abs(OwnPast.fit(train)(test, everyone) - test.targets).mean()
    assert error < 0.3 * np.abs(LastValue.fit(train)(test, everyone) - test.targets).mean()


def test_a_longer_past_than_the_horizon_is_interpolated():
    train, _, test = weekly().split(30, 20)
    model = OwnPast.fit(train, most_rows=20000)
    forecast = model(test[:50], np.array([1]))
    assert forecast.shape == (50, 20, 1)
    assert np.abs(forecast - test[:50].targets[:, :, [1]]).mean() < 0.6 * np.abs(test.targets[:, :, 1]).mean()


def test_windows_without_times_have_no_calendar():
    train, _, test = Series(np.random.default_rng(0).normal(size=(300, 4)).cumsum(axis=0)).split(3, 2)
    assert OwnPast.fit(train)(test, np.array([0, 3])).shape == (len(test), 2, 2)


def test_targets_that_do_not_count_are_left_out():
    values = np.abs(weekly(weeks=2).values) + 5
    values[1::3] = 0.0
    train, _, test = hourly(values).split(LOOKBACK, HORIZON, protocol="paper")
    assert OwnPast.fit(train)(test, np.arange(3)).min() > 4


def test_a_variable_without_readings_is_forecast_by_its_usual_value():
    values = np.array(weekly(weeks=2).values)
    values[:, 1] = np.nan
    train, _, test = hourly(values).split(LOOKBACK, HORIZON)
    forecast = OwnPast.fit(train, each=True)(test, np.array([0, 1]))
    assert np.isfinite(forecast).all()
    assert (forecast[:, :, 1] == forecast[0, 0, 1]).all()


def test_missing_readings_are_features_too():
    train, _, test = parts(holes=0.3)
    assert np.isfinite(OwnPast.fit(train, most_rows=3000)(test, PRESENT)).all()


def test_absolute_loss_forecasts_the_median_and_squared_loss_the_mean():
    rng = np.random.default_rng(0)
    clean = weekly(weeks=8).values
    values = clean + (rng.random(clean.shape) < 0.2) * rng.exponential(8, size=clean.shape)  # mean 1.6, median 0
    train, _, test = hourly(values.astype(np.float32)).split(LOOKBACK, HORIZON)
    mean = {m: OwnPast.fit(train, metric=m)(test, np.arange(3)).mean() for m in ("mae", "rmse")}
    assert mean["mae"] < mean["rmse"] - 0.4


def test_lags_include_the_ends():
    for lookback in (1, 2, 12, 13, 96, 720):
        lags = _last(lookback, 12)
        assert (lags[0], lags[-1]) == (0, lookback - 1)
        assert len(lags) <= 12
        assert (np.diff(lags) > 0).all()


def test_bad_options_are_refused():
    train, _, _ = parts(steps=130)
    with pytest.raises(InputError, match="metric must be one of mae, rmse, got 'mape'"):
        OwnPast.fit(train, metric="mape")
    with pytest.raises(InputError, match="most_rows must be a whole number of at least 1"):
        OwnPast.fit(train, most_rows=0)


def test_the_day_of_the_year_is_used_only_after_two_years():
    daily = np.datetime64("2020-01-01") + np.arange(900)
    series = Series(np.random.default_rng(0).normal(size=(900, 2)), times=daily)
    assert OwnPast.fit(series.windows(LOOKBACK, HORIZON)).uses_year
    assert not OwnPast.fit(series[:700].windows(LOOKBACK, HORIZON)).uses_year
