"""Last value and seasonal naive against their slow twins."""

import numpy as np
import pytest

from baselines.examples import HORIZON, LOOKBACK, PRESENT, factors, hourly, parts, sentence, with_holes
from subcast.baselines import LastValue, SeasonalNaive
from subcast.baselines.simple import steps_a_day
from subcast.errors import InputError
from subcast.series import Series
from twins import baselines_twins as twins


@pytest.mark.parametrize("holes", [0.0, 0.1, 0.7])
def test_last_value_as_the_slow_twin(holes):
    train, _, test = parts(holes=holes)
    wanted = twins.last_value(train, test, PRESENT.tolist())
    np.testing.assert_allclose(LastValue.fit(train)(test, PRESENT), wanted, rtol=1e-5)


@pytest.mark.parametrize("holes", [0.0, 0.1, 0.8])
@pytest.mark.parametrize("period", [1, 2, 7, 24])
def test_seasonal_naive_as_the_slow_twin(holes, period):
    train, _, test = parts(holes=holes)
    wanted = twins.seasonal_naive(train, test, PRESENT.tolist(), period, test.series)
    said = SeasonalNaive.fit(train, period=period)(test, PRESENT)
    np.testing.assert_allclose(said, wanted, rtol=1e-5)


@pytest.mark.parametrize("protocol", ["default", "paper"])
def test_with_history_the_first_windows_know_the_day_before(protocol):
    series = hourly(with_holes(factors(), 0.1))
    train, _, test = series.split(LOOKBACK, HORIZON, protocol=protocol)
    said = SeasonalNaive.fit(train, history=series)(test, PRESENT)
    np.testing.assert_allclose(said, twins.seasonal_naive(train, test, PRESENT.tolist(), 24, series), rtol=1e-5)
    alone = SeasonalNaive.fit(train)(test, PRESENT)
    assert (alone[0] != said[0]).any()
    np.testing.assert_allclose(alone[40:], twins.seasonal_naive(train, test, PRESENT.tolist(), 24, test.series)[40:])


def test_history_of_a_later_time_tells_nothing_of_the_future():
    series = hourly(factors())
    train, _, test = series.split(LOOKBACK, HORIZON)
    changed = np.array(series.values)
    changed[test.series.offset + LOOKBACK + 10 :] = 1e6
    later = hourly(changed)
    said = SeasonalNaive.fit(train, period=2, history=series)(test[:10], PRESENT)
    np.testing.assert_array_equal(SeasonalNaive.fit(train, period=2, history=later)(test[:10], PRESENT), said)


def test_a_history_that_does_not_reach_the_windows_is_refused():
    series = hourly(factors())
    train, _, test = series.split(LOOKBACK, HORIZON)
    with pytest.raises(InputError, match="history must reach the windows' series without a gap"):
        SeasonalNaive.fit(train, history=series[:50])(test, PRESENT)
    with pytest.raises(InputError, match="history must have the 7 variables"):
        SeasonalNaive.fit(train, history=series.select([0, 1]))


def test_a_day_needs_times_and_whole_steps():
    train = Series(factors(100)).windows(LOOKBACK, HORIZON)
    with pytest.raises(InputError, match=sentence("has no times, so the length of a day is unknown: give period")):
        SeasonalNaive.fit(train)
    with pytest.raises(InputError, match="period must be a whole number of at least 1, got 0"):
        SeasonalNaive.fit(train, period=0)
    start = np.datetime64("2021-03-01", "ns")
    for step in (np.timedelta64(7, "h"), np.timedelta64(1, "D")):
        series = Series(np.zeros((30, 1)), times=start + np.arange(30) * step)
        with pytest.raises(InputError, match="a day is not a whole number of steps"):
            steps_a_day(series)


def test_a_day_survives_a_gap_in_the_times():
    times = np.datetime64("2021-03-01", "ns") + np.arange(60) * np.timedelta64(5, "m")
    times[30:] += np.timedelta64(1, "h")
    assert steps_a_day(Series(np.zeros((60, 1)), times=times)) == 288
