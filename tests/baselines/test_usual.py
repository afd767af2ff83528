"""The usual value, as a forecast and to fill in absent variables."""

import numpy as np

from baselines.examples import PRESENT, parts
from subcast.baselines import UsualValue, imputed


def mean_by_hour(train, variable):
    """The mean of the training readings by hour of the day, by plain loops."""
    sums = {}
    last = max(train.starts) + train.lookback + train.horizon
    for step in range(min(train.starts), last):
        hour = train.series.times[step].astype("datetime64[h]").astype(int) % 24
        reading = float(train.series.values[step, variable])
        if reading == reading:
            sums.setdefault(int(hour), []).append(reading)
    return {hour: sum(own) / len(own) for hour, own in sums.items()}


def test_the_forecast_is_the_mean_at_that_hour():
    train, _, test = parts(holes=0.1)
    forecast = UsualValue.fit(train)(test[:6], PRESENT)
    for position, variable in enumerate(PRESENT):
        by_hour = mean_by_hour(train, variable)
        for window in range(6):
            hours = test.times[window].astype("datetime64[h]").astype(int) % 24
            np.testing.assert_allclose(forecast[window, :, position], [by_hour[int(h)] for h in hours], rtol=1e-5)


def test_absent_variables_and_missing_readings_are_filled_in_and_the_rest_is_kept():
    train, _, test = parts(holes=0.1)
    filled = UsualValue.fit(train).complete(test[:6], PRESENT)
    assert filled.shape == (6, test.lookback, 7, 1)
    assert np.isfinite(filled).all()
    readings = test.readings[:6][:, :, PRESENT]
    known = ~np.isnan(readings)
    np.testing.assert_array_equal(filled[:, :, PRESENT, 0][known], readings[known])
    by_hour = mean_by_hour(train, 1)  # an absent one
    hour = test.series.times[test.starts[0]].astype("datetime64[h]").astype(int) % 24
    np.testing.assert_allclose(filled[0, 0, 1, 0], by_hour[int(hour)], rtol=1e-5)


def test_it_works_before_a_model():
    train, _, test = parts()
    method = imputed(lambda x: np.repeat(x[:, -1:, :, 0], test.horizon, axis=1), UsualValue.fit(train))
    np.testing.assert_array_equal(method(test[:3], PRESENT)[:, 0], test.readings[:3, -1, PRESENT])
