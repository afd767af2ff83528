"""One forecast of all sensors."""

import numpy as np
import pytest

from service_tools import HORIZON, LOOKBACK, NAMES
from subcast.service.forecasting import LADDER, make
from subcast.service.grid import Grid


@pytest.fixture(scope="module")
def grid(wrapper):
    return Grid.of(wrapper.metadata_)


@pytest.fixture
def window(series):
    times = series.times[1400 : 1400 + LOOKBACK].astype("datetime64[ns]").view(np.int64)
    return times, series.values[1400 : 1400 + LOOKBACK].astype(np.float64)


def test_it_is_the_forecast_of_the_library_in_the_order_of_the_sensors(wrapper, grid, window):
    times, values = window
    values[:, [0, 3]] = np.nan
    made = make(wrapper, grid, times, values)
    forecast = wrapper.predict(values.astype(np.float32), times=grid.index(times), absent=True)
    for place, name in enumerate(forecast.variables):
        column = NAMES.index(name)
        assert (made.mean[:, column] == forecast.mean[:, place]).all()
        assert (made.bounds[0, :, :, column] == forecast.bounds[0, :, :, place]).all()
    assert made.quality == forecast.quality
    assert made.observed.tolist() == [0, 1, 1, 0, 1, 1]


def test_the_expected_error_is_the_mean_over_quantiles(wrapper, grid, window):
    times, values = window
    made = make(wrapper, grid, times, values, levels=LADDER)
    distances = [abs(bound - made.mean) for bounds in made.bounds for bound in bounds]
    np.testing.assert_allclose(made.expected_error, np.mean(distances, axis=0), rtol=1e-5)


def test_nothing_at_all_gives_the_usual_forecast(wrapper, grid, window, series):
    times, values = window
    made = make(wrapper, grid, times, np.full_like(values, np.nan))
    assert made.quality == "poor"
    assert made.observed_share == 0
    assert "usual value" in made.notes[0]
    truth = series.values[1400 + LOOKBACK : 1400 + LOOKBACK + HORIZON]
    assert np.abs(made.mean - truth).mean() < 5  # the daily wave has an amplitude of 10
    assert (made.bounds[0, 0] < made.mean).all()


def test_numbers_that_cannot_be_are_holes(wrapper, grid, window):
    times, values = window
    holes = values.copy()
    values[2, 1], holes[2, 1] = 1e300, np.nan
    assert make(wrapper, grid, times, values).same_numbers(make(wrapper, grid, times, holes))


def test_wider_intervals_stay_within_the_limits(wrapper, grid, window):
    times, values = window
    made = make(wrapper, grid, times, values)
    wide = made.scaled(2.0, wrapper)
    np.testing.assert_allclose(wide.bounds - made.mean, 2 * (made.bounds - made.mean), rtol=1e-3, atol=1e-3)
    assert made.scaled(1.0, wrapper).same_numbers(made)
    huge = made.scaled(1e6, wrapper)
    assert (huge.bounds >= wrapper.limits_.low).all()
    assert (huge.bounds <= wrapper.limits_.high).all()


def test_a_window_that_the_wrapper_refuses_gives_the_usual_forecast(wrapper, grid, window):
    times, values = window
    made = make(wrapper, grid, times, np.full_like(values, 1e9))
    assert made.quality == "poor"
    assert "refused the window" in made.notes[1]
