"""from_sklearn: the order of flattening is the same in fitting and in forecasting."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from subcast.adapters import flatten, from_sklearn
from subcast.errors import InputError
from subcast.series import Series


def a_series(n=3, steps=60, features=(), seed=0):
    values = np.random.default_rng(seed).normal(size=(steps, n)).cumsum(axis=0)
    times = np.datetime64("2024-01-01T00:00") + np.arange(steps) * np.timedelta64(1, "h")
    return Series(values, times=times, time_features=features)


def loop_rows(windows):
    """X and y in plain loops over window, step, variable and feature, leaving out what has NaN."""
    X, y = [], []
    values, targets = windows.series.values, windows.target_values
    features = windows.series.features
    for start in windows.starts:
        row = []
        for step in range(start, start + windows.lookback):
            for variable in range(values.shape[1]):
                row.append(values[step, variable])
                if features is not None:
                    row.extend(features[step])
        follow = []
        for step in range(start + windows.lookback, start + windows.lookback + windows.horizon):
            for variable in range(values.shape[1]):
                follow.append(targets[step, variable])
        if not any(np.isnan(number) for number in row + follow):
            X.append(row)
            y.append(follow)
    return X, y


@settings(max_examples=30, deadline=None)
@given(
    n=st.integers(1, 4),
    lookback=st.integers(1, 5),
    horizon=st.integers(1, 4),
    features=st.sampled_from([(), ("time_of_day",), ("time_of_day", "day_of_week")]),
    stride=st.integers(1, 3),
    holes=st.integers(0, 3),
)
def test_flatten_against_loops(n, lookback, horizon, features, stride, holes):
    series = a_series(n, 30, features)
    values = series.values.copy()
    values[np.arange(holes) * 7, 0] = np.nan
    windows = Series(values, times=series.times, time_features=features).windows(lookback, horizon)[::stride]
    X, y = loop_rows(windows)
    if not X:
        with pytest.raises(InputError, match="nothing to fit on"):
            flatten(windows)
        return
    got_X, got_y = flatten(windows)
    np.testing.assert_array_equal(got_X, np.array(X, dtype=np.float32))
    np.testing.assert_array_equal(got_y, np.array(y, dtype=np.float32))


@pytest.mark.parametrize("features", [(), ("time_of_day",)])
@pytest.mark.parametrize(
    "regressor",
    [LinearRegression(), make_pipeline(StandardScaler(), Ridge()), MultiOutputRegressor(Ridge())],
    ids=["linear", "pipeline", "multi-output"],
)
def test_forecasts_are_the_regressor_s_own(regressor, features):
    windows = a_series(3, 90, features).windows(lookback=4, horizon=2)
    X, y = flatten(windows)
    regressor.fit(X, y)
    forecaster = from_sklearn(regressor, lookback=4, horizon=2, n_features=1 + len(features))
    assert forecaster.n_variables == 3
    forecasts = forecaster(windows.batch().inputs)
    rows = regressor.predict(X)
    for window in range(len(windows)):
        for step in range(2):
            for variable in range(3):
                assert forecasts[window, step, variable] == pytest.approx(rows[window, step * 3 + variable], rel=1e-4)


def test_a_rule_that_only_the_right_order_can_learn():
    """Variable 1 repeats what variable 0 was two steps ago; a linear regression finds that exactly."""
    first = np.random.default_rng(0).normal(size=202)
    series = Series(np.column_stack([first[2:], first[:-2]]))
    windows = series.windows(lookback=3, horizon=2)
    forecaster = from_sklearn(LinearRegression().fit(*flatten(windows)), lookback=3, horizon=2)
    batch = windows.batch()
    np.testing.assert_allclose(forecaster(batch.inputs)[:, :, 1], batch.targets[:, :, 1], atol=1e-4)


def test_one_number_a_window():
    windows = a_series(1).windows(lookback=4, horizon=1)
    X, y = flatten(windows)
    forecaster = from_sklearn(LinearRegression().fit(X, y[:, 0]), lookback=4, horizon=1)
    assert forecaster(windows.batch().inputs).shape == (len(windows), 1, 1)


def test_a_regressor_without_n_features_in():
    class Plain:
        def predict(self, X):
            return X[:, -4:]

    x = np.random.default_rng(0).normal(size=(5, 3, 2, 1))
    forecaster = from_sklearn(Plain(), lookback=3, horizon=2)
    np.testing.assert_allclose(forecaster(x), x[:, -2:, :, 0], rtol=1e-6)
    with pytest.raises(InputError, match=r"must give 2 x 3 = 6 numbers a window .* but gave shape \(5, 4\)"):
        forecaster(np.zeros((5, 3, 3, 1)))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"lookback": 5}, r"fitted on 12 columns, which are not 5 x 2 x 1 \(lookback x variables x features\)"),
        ({"lookback": 4, "n_variables": 2}, "fitted on 12 columns, which are not 4 x 2 x 1"),
        ({"lookback": 4, "variables": ["a", "b"]}, "fitted on 12 columns, which are not 4 x 2 x 1"),
        ({"lookback": 4, "n_features": 2}, "fitted on 12 columns, which are not 4 x 1 x 2"),
        ({"lookback": 40}, "fitted on 12 columns, which are not 40 x n x 1"),
        ({"lookback": 4, "n_variables": 3, "variables": ["a", "b"]}, "has 3 variables, but variables names 2"),
    ],
)
def test_sizes_that_do_not_fit(options, sentence):
    regressor = LinearRegression().fit(*flatten(a_series(3).windows(lookback=4, horizon=2)))
    with pytest.raises(InputError, match=sentence):
        from_sklearn(regressor, horizon=2, **options)


def test_a_horizon_that_does_not_fit():
    windows = a_series(3).windows(lookback=4, horizon=2)
    forecaster = from_sklearn(LinearRegression().fit(*flatten(windows)), lookback=4, horizon=3)
    with pytest.raises(InputError, match="must give 3 x 3 = 9 numbers a window"):
        forecaster(windows.batch().inputs)


def test_other_objects_than_regressors_are_refused():
    for thing in (LinearRegression, 3):
        with pytest.raises(InputError, match="regressor must be a fitted scikit-learn regressor"):
            from_sklearn(thing, lookback=1, horizon=1)
