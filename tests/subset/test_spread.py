"""The units of the residuals: learned on each side, or the neighbors' deviation, and which bounds are chosen."""

import numpy as np
import pytest

import subcast as sc
from subcast.series import Series
from subcast.subset.completion import complete, weigh_by_distance
from subcast.subset.experts import Boosted
from subcast.subset.experts.practice import Practice
from subcast.subset.fitted import Fitted
from subcast.subset.spread import LEVEL_SHARES, choose_bounds, in_units, out_of_units, residual_units
from subset.examples import HORIZON, LOOKBACK, few_trees, last_reading, waves

PRESENT = np.array([0, 2])


def uneven(steps=1600, seed=0):
    """Readings whose noise is small in the first half of the day, large and downward in the second."""
    rng = np.random.default_rng(seed)
    hour = np.arange(steps) % 24
    noise = np.where(hour[:, None] < 12, 0.1 * rng.normal(size=(steps, 3)), -3 * rng.exponential(size=(steps, 3)))
    times = np.datetime64("2024-01-01T00:00") + np.arange(steps) * np.timedelta64(1, "h")
    return Series(20 + np.sin(2 * np.pi * hour / 24)[:, None] + noise, times=times)


def with_bounds(series, trees=20):
    train = series.windows(LOOKBACK, HORIZON)
    fitted = Fitted.fit(last_reading, train, sc.Settings())
    boosted = Boosted("mae", 0, 20_000)
    with few_trees(trees):
        boosted.train(boosted.rows(Practice.of(train, fitted), fitted, 0.1))
    fitted.experts = {"boosted": boosted}
    return fitted, boosted


@pytest.fixture(scope="module")
def learned():
    return with_bounds(uneven())


def arrived_of(fitted, count=200):
    windows = uneven(seed=1).windows(LOOKBACK, HORIZON)[:count]
    arrived = fitted.arrive(windows)
    neighbors = fitted.retrieve(arrived, PRESENT, 10, 0.5)
    return windows, arrived, neighbors


def test_without_learned_bounds_both_sides_are_the_neighbors_deviation():
    series = waves(n=3, steps=500)
    fitted = Fitted.fit(last_reading, series.windows(LOOKBACK, HORIZON), sc.Settings())
    arrived = fitted.arrive(series.windows(LOOKBACK, HORIZON)[:5])
    neighbors = fitted.retrieve(arrived, PRESENT, 10, 0.5)
    mean = np.zeros((5, HORIZON, 3), dtype=np.float32)
    units = residual_units(fitted, sc.Settings(), arrived, PRESENT, neighbors, mean)
    expected = fitted.uncertainty_scale(arrived, neighbors, np.array([0, 2, 1]))
    np.testing.assert_array_equal(units[0], expected)
    np.testing.assert_array_equal(units[1], expected)


def test_units_are_the_distances_to_the_bounds_and_absent_variables_keep_the_neighbors(learned):
    fitted, boosted = learned
    _, arrived, neighbors = arrived_of(fitted, 30)
    settings = sc.Settings()
    done = complete(fitted, settings, arrived, PRESENT, neighbors, weigh_by_distance(neighbors, settings))
    lower, upper = boosted.bounds_of(done)
    mean = np.full((30, HORIZON, 3), 1000.0, dtype=np.float32)
    mean[:, :, :2] = (lower + upper) / 2
    units = residual_units(fitted, settings, arrived, PRESENT, neighbors, mean)
    np.testing.assert_allclose(units[0][..., :2], mean[..., :2] - lower, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(units[1][..., :2], upper - mean[..., :2], rtol=1e-3, atol=1e-3)
    np.testing.assert_array_equal(units[0][..., 2], fitted.uncertainty_scale(arrived, neighbors, np.array([1]))[..., 0])
    kept = residual_units(fitted, settings, arrived, PRESENT, neighbors, mean, done)
    np.testing.assert_array_equal(kept, units)


def test_a_forecast_outside_of_the_bounds_has_units_above_zero(learned):
    fitted, _ = learned
    _, arrived, neighbors = arrived_of(fitted, 10)
    for value in (-1000.0, 1000.0):
        mean = np.full((10, HORIZON, 2), value, dtype=np.float32)
        assert (residual_units(fitted, sc.Settings(), arrived, PRESENT, neighbors, mean) > 0).all()


def test_bounds_follow_the_noise_of_the_hour_and_its_side(learned):
    fitted, boosted = learned
    windows, arrived, neighbors = arrived_of(fitted)
    settings = sc.Settings()
    done = complete(fitted, settings, arrived, PRESENT, neighbors, weigh_by_distance(neighbors, settings))
    lower, upper = boosted.bounds_of(done)
    hour = (fitted.slots(arrived, HORIZON, LOOKBACK) % 24)[..., None]
    wide = np.broadcast_to(hour >= 12, lower.shape)
    assert np.median((upper - lower)[wide]) > 4 * np.median((upper - lower)[~wide])
    truth = windows.targets[:, :, PRESENT]
    inside = ((truth >= lower) & (truth <= upper)).mean()
    assert 0.8 < inside < 0.97


def test_units_of_a_side_and_back():
    rng = np.random.default_rng(0)
    residual = rng.normal(size=(4, 3, 2)).astype(np.float32)
    units = rng.uniform(0.5, 2, size=(2, 4, 3, 2)).astype(np.float32)
    scaled = in_units(residual, units)
    for place in np.ndindex(residual.shape):
        side = 0 if residual[place] < 0 else 1
        assert scaled[place] == pytest.approx(residual[place] / units[(side, *place)], rel=1e-6)
    np.testing.assert_allclose(out_of_units(scaled, units), residual, rtol=1e-6)


def test_the_bounds_with_the_smallest_loss_are_chosen(learned):
    fitted, boosted = learned
    windows, arrived, _ = arrived_of(fitted, 150)
    losses = {}
    rng_draws = sc.draw_subsets(3, share=0.15, draws=3, seed=5)
    for share in LEVEL_SHARES:
        total = 0.0
        for draw in rng_draws:
            present = np.sort(draw)
            neighbors = fitted.retrieve(arrived, present, 20, 0.5)
            settings = sc.Settings()
            done = complete(fitted, settings, arrived, present, neighbors, weigh_by_distance(neighbors, settings))
            bounds, truth = boosted.bounds_of(done, share), windows.targets[:, :, present]
            scale = fitted.normalizer.spread_of(present)
            for window, step, place in np.ndindex(truth.shape):
                for quantile, bound in zip((0.05, 0.95), bounds, strict=True):
                    error = float(truth[window, step, place] - bound[window, step, place]) / float(scale[place])
                    total += quantile * error if error > 0 else (quantile - 1) * error
        losses[share] = total
    choose_bounds(fitted, sc.Settings(), windows, np.arange(150), 5)
    assert boosted.level_share == min(losses, key=losses.get)


def test_intervals_are_narrow_where_the_noise_is_small():
    train, val, test = uneven(2400).split(LOOKBACK, HORIZON)
    robust = sc.SubsetForecaster(last_reading, effort=0.1, progress=False).fit(train, val)
    forecast = robust.predict_many(test, present=[0])
    hour = np.array([str(moment)[11:13] for moment in test.times.ravel()], dtype=int).reshape(test.times.shape)
    width = (forecast.upper - forecast.lower)[:, :, 0]
    assert np.median(width[hour >= 12]) > 3 * np.median(width[hour < 12])
    inside = (forecast.lower <= test.targets[:, :, [0]]) & (test.targets[:, :, [0]] <= forecast.upper)
    assert 0.8 < inside.mean() < 0.97
    assert (forecast.lower <= forecast.mean).all()
    assert (forecast.mean <= forecast.upper).all()
