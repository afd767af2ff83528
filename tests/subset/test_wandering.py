"""Variables that wander: which they are, how windows are moved, and that nothing else is touched."""

from dataclasses import replace

import numpy as np
import pytest

import subcast as sc
from subcast.errors import DataError
from subcast.series import Series
from subcast.storage.state import State
from subcast.subset.fitted import Fitted
from subcast.subset.wandering import KnownLevels, window_levels
from subset.examples import HORIZON, LOOKBACK, last_reading, waves


def mixed(steps=1500, seed=0):
    """A trend, a random walk, a wave of the day and noise; an hour a step."""
    rng = np.random.default_rng(seed)
    time = np.arange(steps)
    values = np.stack(
        [
            0.05 * time + rng.normal(size=steps),
            np.cumsum(rng.normal(size=steps)),
            np.sin(2 * np.pi * time / 24) + 0.1 * rng.normal(size=steps),
            rng.normal(size=steps),
        ],
        axis=1,
    )
    times = np.datetime64("2024-03-01T00:00") + time * np.timedelta64(1, "h")
    return Series(values, ("trend", "walk", "wave", "noise"), times)


def fitted_on(series):
    train = series.windows(LOOKBACK, HORIZON)
    return Fitted.fit(last_reading, train, sc.Settings())


def levels_by_loops(values, usual):
    """The mean of each window less the usual value, reading by reading."""
    result = np.full((values.shape[0], values.shape[2]), np.nan)
    for window in range(values.shape[0]):
        for variable in range(values.shape[2]):
            rest = [
                float(values[window, step, variable]) - float(usual[window, step, variable])
                for step in range(values.shape[1])
                if not np.isnan(values[window, step, variable])
            ]
            if rest:
                result[window, variable] = sum(rest) / len(rest)
    return result


def test_trends_and_walks_wander_waves_and_noise_do_not():
    for seed in range(4):
        assert fitted_on(mixed(seed=seed)).known_levels.wandering.tolist()[:1] == [0]
        assert not {2, 3} & set(fitted_on(mixed(seed=seed)).known_levels.wandering.tolist())


def test_levels_are_means_less_the_usual_value():
    series = mixed(200)
    fitted = fitted_on(series)
    arrived = fitted.arrive(series.windows(LOOKBACK, HORIZON)[:20])
    values = arrived.values.copy()
    values[3, :, 1] = np.nan
    values[5, 2, 0] = np.nan
    slots, everything = fitted.slots(arrived, LOOKBACK), np.arange(4)
    usual = fitted.normalizer.restore(np.zeros_like(values), slots)
    levels = window_levels(values, slots, everything, fitted.normalizer)
    np.testing.assert_allclose(levels, levels_by_loops(values, usual), rtol=1e-4, atol=1e-5)


def test_only_windows_beyond_the_known_levels_are_moved_and_exactly_to_the_edge():
    series = mixed()
    fitted = fitted_on(series)
    arrived = fitted.arrive(series.windows(LOOKBACK, HORIZON)[:1])
    assert fitted.follow(arrived) is arrived
    far = fitted.follow(_raised(arrived, 0, 500.0))
    high = float(fitted.known_levels.high[0])
    slots = fitted.slots(arrived, LOOKBACK)
    level = window_levels(far.values[:, :, [0]], slots, np.array([0]), fitted.normalizer)
    assert level[0, 0] == pytest.approx(high, abs=1e-2)
    np.testing.assert_allclose(far.values + far.offsets[:, None], _raised(arrived, 0, 500.0).values, rtol=1e-5)
    assert (far.offsets[:, 1:] == 0).all()
    assert fitted.follow(far) is far  # moved once
    noise = _raised(arrived, 3, 500.0)
    assert fitted.follow(noise) is noise


def _raised(arrived, variable, amount):
    values = arrived.values.copy()
    values[:, :, variable] += amount
    return type(arrived)(values, arrived.features, arrived.slots, arrived.consecutive, arrived.step_slots)


def test_a_window_without_readings_is_not_moved():
    series = mixed()
    fitted = fitted_on(series)
    arrived = fitted.arrive(series.windows(LOOKBACK, HORIZON)[:1])
    values = np.full_like(arrived.values, np.nan)
    empty = type(arrived)(values, arrived.features, arrived.slots)
    assert fitted.follow(empty) is empty


def test_short_histories_and_constant_variables_are_not_followed():
    assert not fitted_on(waves(n=2, steps=60)).known_levels.wandering.size
    values = np.ones((800, 2))
    values[:, 1] = np.nan
    values[::50, 1] = 3.0
    train = Series(values).windows(LOOKBACK, HORIZON)
    assert not Fitted.fit(last_reading, train, sc.Settings()).known_levels.wandering.size


def test_a_variable_that_is_known_to_wander_is_followed_too():
    series = mixed()
    fitted = fitted_on(series)
    fitted.follow_also(series.windows(LOOKBACK, HORIZON), np.array([3]))
    assert 3 in fitted.known_levels.wandering
    without = Fitted.fit(last_reading, series.windows(LOOKBACK, HORIZON), sc.Settings(follow_levels=False))
    without.follow_also(series.windows(LOOKBACK, HORIZON), np.array([3]))
    assert without.known_levels is None


def test_pace_is_the_usual_change_over_a_window_and_its_future():
    series = mixed()
    fitted, train = fitted_on(series), series.windows(LOOKBACK, HORIZON)
    slots = fitted.bank_slots
    usual = fitted.normalizer.restore(np.zeros((1, len(slots), 4), dtype=np.float32), slots[None])[0]
    rest = series.values - usual
    levels = [float(np.mean(rest[start : start + LOOKBACK, 0])) for start in range(len(train))]
    squares = [(later - level) ** 2 for level, later in zip(levels, levels[LOOKBACK + HORIZON :], strict=False)]
    assert fitted.known_levels.pace[0] == pytest.approx((sum(squares) / len(squares)) ** 0.5, rel=1e-3)


def test_strangeness_grows_from_0_to_1_with_the_distance():
    levels = fitted_on(mixed()).known_levels
    offsets = np.zeros((4, 4), dtype=np.float32)
    offsets[1:, 0] = levels.pace[0] * np.array([-0.1, 1.0, 50.0], dtype=np.float32)
    strange = levels.strangeness(offsets)
    assert strange[0, 0] == 0
    assert strange[1, 0] < 0.02
    assert strange[2, 0] == pytest.approx(0.5)
    assert 0.99 < strange[3, 0] <= 1
    assert (strange[:, 1:] == 0).all()


def test_far_beyond_the_known_levels_neither_trees_nor_model_have_a_part():
    series = mixed(1500)
    train, val, test = series.split(LOOKBACK, HORIZON)
    robust = sc.SubsetForecaster(last_reading, effort=0.1, progress=False).fit(train, val)
    assert robust.settings_.blend_beyond
    assert not {"model", "boosted"} & set(robust.settings_.blend_beyond)
    window = np.array(test.readings[-1:])
    window[:, :, 0] += 1e5
    window[:, :, 2:] = np.nan
    changed = robust.with_settings(replace(robust.settings_, blend={"specialist": ((0.0,) * HORIZON,) * 3}))
    usual, model_alone = (each.predict_many(window).mean[0, :, 0] for each in (robust, changed))
    np.testing.assert_allclose(usual, model_alone, atol=1.0)
    without = robust.with_settings(replace(changed.settings_, blend_beyond={}))
    assert np.abs(without.predict_many(window).mean[0, :, 0] - usual).max() > 0.01


def test_state_round_trip_and_damage():
    levels = fitted_on(mixed()).known_levels
    np.testing.assert_array_equal(KnownLevels.from_state(levels.state(), 4).pace, levels.pace)
    earlier = State({}, {name: array for name, array in levels.state().arrays.items() if name != "pace"})
    assert (KnownLevels.from_state(earlier, 4).strangeness(np.ones((1, 4), dtype=np.float32)) < 1e-6).all()
    again = KnownLevels.from_state(levels.state(), 4)
    np.testing.assert_array_equal(again.low, levels.low)
    np.testing.assert_array_equal(again.high, levels.high)
    assert not KnownLevels.from_state(None, 4).wandering.size
    state = levels.state()
    state.arrays["low"], state.arrays["high"] = state.arrays["high"], state.arrays["low"]
    with pytest.raises(DataError, match="levels"):
        KnownLevels.from_state(State(state.facts, state.arrays), 4)


def test_forecasts_follow_a_trend_beyond_its_training():
    """With what needs no model but the trees, the forecast of a grown level must not fall back to the training."""
    series = mixed(2400)
    train, val, test = series.split(LOOKBACK, HORIZON)
    robust = sc.SubsetForecaster(last_reading, effort=0.1, progress=False).fit(train, val)
    window = np.array(test.readings[-1:])
    window[:, :, 0] += 200.0
    window[:, :, 2:] = np.nan
    forecast = robust.predict_many(window, times=test.times[-1:, 0] if test.times is not None else None)
    assert abs(float(forecast.mean[0, -1, 0]) - float(window[0, -1, 0])) < 20


def test_with_all_variables_the_forecast_is_the_models_own_at_any_level():
    series = mixed(1500)
    train, val, test = series.split(LOOKBACK, HORIZON)
    robust = sc.SubsetForecaster(last_reading, effort=0.1, progress=False).fit(train, val)
    window = np.array(test.readings[-1:])
    window[:, :, 0] += 20.0
    np.testing.assert_array_equal(robust.predict_many(window).mean, last_reading(window[..., None]))
