"""The ridge regression on S in units of the profile, against normal equations written out."""

import numpy as np
import pytest

from baselines.examples import PRESENT, parts
from subcast.baselines import ProfileRidge, UsualValue
from subcast.baselines.usual import training_profile
from subcast.errors import InputError


def by_hand(train, test, present, ridge):
    """Solve the regression of each target alone, with sums over the windows written as loops."""
    profile = training_profile(train)

    def normal(series, step, variable, value):
        row = int(profile.rows_of(series.times[[step]])[0])
        return (float(value) - profile.center[row, variable]) / profile.spread[row, variable]

    def inputs(windows, number):
        start = windows.starts[number]
        return [
            normal(windows.series, start + lag, v, windows.series.values[start + lag, v])
            for lag in range(windows.lookback)
            for v in present
        ]

    rows = np.array([inputs(train, number) for number in range(len(train))])
    gram = rows.T @ rows / len(train) + ridge * np.eye(rows.shape[1])
    forecast = np.empty((len(test), test.horizon, len(present)))
    for step in range(test.horizon):
        for place, v in enumerate(present):
            ahead = [start + train.lookback + step for start in train.starts]
            target = np.array([normal(train.series, a, v, train.series.values[a, v]) for a in ahead])
            weights = np.linalg.solve(gram, rows.T @ target / len(train))
            for number in range(len(test)):
                a = test.starts[number] + test.lookback + step
                row = int(profile.rows_of(test.series.times[[a]])[0])
                deviation = float(np.array(inputs(test, number)) @ weights)
                forecast[number, step, place] = profile.center[row, v] + profile.spread[row, v] * deviation
    return forecast


def test_it_equals_the_regression_written_out():
    train, _, test = parts(steps=200)
    forecast = ProfileRidge.fit(train, ridge=0.3)(test[:3], PRESENT)
    np.testing.assert_allclose(forecast, by_hand(train, test[:3], PRESENT, 0.3), rtol=1e-4, atol=1e-4)


def test_with_a_large_ridge_it_is_the_usual_value():
    train, _, test = parts()
    np.testing.assert_allclose(
        ProfileRidge.fit(train, ridge=1e9)(test, PRESENT), UsualValue.fit(train)(test, PRESENT), rtol=1e-4
    )


def test_missing_readings_and_targets_are_left_out():
    train, _, test = parts(holes=0.2)
    error = np.nanmean(np.abs(ProfileRidge.fit(train)(test, PRESENT) - test.targets[:, :, PRESENT]))
    usual = np.nanmean(np.abs(UsualValue.fit(train)(test, PRESENT) - test.targets[:, :, PRESENT]))
    assert error < usual


def test_a_negative_ridge_is_refused():
    train, _, _ = parts(steps=130)
    with pytest.raises(InputError, match="ridge must be a number above 0, got -1"):
        ProfileRidge.fit(train, ridge=-1)
