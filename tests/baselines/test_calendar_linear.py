"""The linear regression on own past, clock and weekday, against least squares written out."""

import math

import numpy as np
import pytest

from baselines.examples import HORIZON, LOOKBACK, PRESENT, hourly, parts
from subcast.baselines import CalendarLinear, LinearForecaster
from subcast.baselines.usual import training_profile
from subcast.errors import InputError
from subcast.series import Series


def inputs_by_hand(profile, series, start, step, mean, deviation, variable):
    """Readings of a window without holes, then what the calendar says of one step ahead, one number at a time."""
    row = [(float(series.values[start + lag, variable]) - mean) / deviation for lag in range(LOOKBACK)]
    when = series.times[start + LOOKBACK + step].astype("datetime64[s]").item()
    row.append(1.0)
    row += [1.0 if when.weekday() == day else 0.0 for day in range(1, 7)]
    hour = (when.hour + when.minute / 60) / 24
    waves = [f(2 * math.pi * k * hour) for k in (1, 2, 3, 4) for f in (math.sin, math.cos)]
    row += waves + [wave if when.weekday() >= 5 else 0.0 for wave in waves]
    usual = profile.usual(series.times[[start + LOOKBACK + step]])[0, variable]
    return [*row, (usual - mean) / deviation]


def by_hand(train, test, variable, step, ridge, rounds=0):
    """Solve one regression as least squares with extra rows for the penalty."""
    covered = train.series.values[: max(train.starts) + LOOKBACK, variable].astype(np.float64)
    mean, deviation, profile = np.nanmean(covered), np.nanstd(covered), training_profile(train)
    rows, target = [], []
    for start in train.starts:
        truth = (float(train.series.values[start + LOOKBACK + step, variable]) - mean) / deviation
        rows.append(inputs_by_hand(profile, train.series, start, step, mean, deviation, variable))
        target.append(truth)
    rows, target, weight = np.array(rows), np.array(target), np.ones(len(target))
    for _ in range(rounds + 1):
        penalty = np.diag([math.sqrt(weight.sum() * (1e-12 if i == LOOKBACK else ridge)) for i in range(rows.shape[1])])
        left = np.vstack([np.sqrt(weight)[:, None] * rows, penalty])
        right = np.concatenate([np.sqrt(weight) * target, np.zeros(rows.shape[1])])
        solution = np.linalg.lstsq(left, right, rcond=None)[0]
        weight = np.array([1 / max(abs(t - float(r @ solution)), 0.01) for r, t in zip(rows, target, strict=True)])
    ahead = [inputs_by_hand(profile, test.series, start, step, mean, deviation, variable) for start in test.starts]
    return mean + deviation * np.array(ahead) @ solution


@pytest.mark.parametrize(("loss", "rounds"), [("squared", 0), ("absolute", 3)])
def test_it_equals_least_squares_written_out(loss, rounds):
    train, _, test = parts()
    model = CalendarLinear.fit(train, loss=loss, ridge=0.01, rounds=max(1, rounds))
    forecast = model(test[:4], PRESENT)
    for column, variable in enumerate(PRESENT):
        for step in range(HORIZON):
            expected = by_hand(train, test[:4], int(variable), step, 0.01, rounds)
            np.testing.assert_allclose(forecast[:, step, column], expected, rtol=2e-4, atol=2e-4)


def test_it_learns_the_weekday_and_the_hour():
    steps = np.arange(24 * 7 * 8)
    level = np.where(steps // 24 % 7 < 5, 10.0, 3.0) + np.sin(2 * np.pi * steps / 24)
    noise = np.random.default_rng(0).normal(size=(len(steps), 3))
    train, _, test = hourly((level[:, None] + noise).astype(np.float32)).split(LOOKBACK, HORIZON)
    everyone = np.arange(3)
    error = np.abs(CalendarLinear.fit(train)(test, everyone) - test.targets).mean()
    assert error < 0.9  # the mean absolute value of the noise is 0.8
    assert error < np.abs(LinearForecaster.fit(train)(test, everyone) - test.targets).mean()


def test_other_variables_do_not_matter():
    train, _, test = parts(holes=0.1)
    model = CalendarLinear.fit(train)
    np.testing.assert_allclose(model(test, PRESENT)[:, :, :1], model(test, PRESENT[:1]), rtol=1e-5)


def test_holes_and_targets_that_do_not_count():
    train, _, test = parts(holes=0.3, protocol="paper")
    forecast = CalendarLinear.fit(train, loss="absolute")(test, PRESENT)
    assert np.isfinite(forecast).all()


def test_a_variable_without_readings_is_forecast():
    values = np.array(parts().train.series.values)
    values[:, 1] = np.nan
    windows = hourly(values).windows(LOOKBACK, HORIZON)
    assert np.isfinite(CalendarLinear.fit(windows)(windows, np.array([0, 1]))).all()


def test_windows_without_times_have_readings_alone():
    train, _, test = Series(np.random.default_rng(0).normal(size=(300, 4)).cumsum(axis=0)).split(3, 2)
    model = CalendarLinear.fit(train)
    assert model.coefficients.shape == (4, 2, 3 + 1 + 1)
    assert model(test, np.array([0, 3])).shape == (len(test), 2, 2)


def test_daily_data_of_two_years_have_a_wave_of_the_year():
    times = np.datetime64("2019-01-01") + np.arange(1000)
    wave = np.cos(2 * np.pi * np.arange(1000) / 365.2425)[:, None] + np.zeros((1, 2))
    windows = Series(wave, times=times).windows(LOOKBACK, HORIZON)
    assert CalendarLinear.fit(windows).coefficients.shape[2] == LOOKBACK + 1 + 6 + 2 + 1
    assert CalendarLinear.fit(windows[:500]).coefficients.shape[2] == LOOKBACK + 1 + 6 + 1


def test_many_windows_are_thinned():
    train, _, test = parts()
    thinned = CalendarLinear.fit(train, most_windows=50)(test, PRESENT)
    every_nth = CalendarLinear.fit(train[:: -(-len(train) // 50)])(test, PRESENT)  # its scaler sees fewer readings
    np.testing.assert_allclose(thinned, every_nth, rtol=1e-3)
    assert not np.allclose(thinned, CalendarLinear.fit(train)(test, PRESENT), rtol=1e-3)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"loss": "pinball"}, "loss must be one of squared, absolute, got 'pinball'"),
        ({"ridge": 0}, "ridge must be a number above 0, got 0"),
        ({"rounds": 0}, "rounds must be a whole number of at least 1"),
        ({"most_windows": 0}, "most_windows must be a whole number of at least 1"),
    ],
)
def test_bad_options_are_refused(options, sentence):
    train, _, _ = parts(steps=130)
    with pytest.raises(InputError, match=sentence):
        CalendarLinear.fit(train, **options)
