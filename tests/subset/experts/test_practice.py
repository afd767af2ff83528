"""Training rows: halves that share no step, holes of all kinds, and a ridge chosen on the other half."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import subcast as sc
from subcast.series import Series
from subcast.subset.experts.boosted import features_of
from subcast.subset.experts.practice import Practice, carried, choose_ridge, make_holes, practice_rows
from subcast.subset.fitted import Fitted
from subset.examples import HORIZON, LOOKBACK, last_reading, walk, waves
from twins import experts_twins as twins
from twins import subset_twins

LAGS = LOOKBACK + HORIZON


def fitted_on(series, first=0, last=None):
    train = series.windows(LOOKBACK, HORIZON)[first:last]
    return train, Fitted.fit(last_reading, train, sc.Settings())


@pytest.fixture(scope="module")
def waving():
    train, fitted = fitted_on(waves(n=3, steps=300))
    return train, fitted, Practice.of(train, fitted)


@pytest.mark.parametrize(("first", "last"), [(0, None), (30, 250)])
def test_the_halves_share_no_step_with_each_other_or_with_other_windows(first, last):
    train, fitted = fitted_on(waves(n=3, steps=300), first, last)
    practice = Practice.of(train, fitted)
    steps = [{step + lag for step in half.starts.tolist() for lag in range(LAGS)} for half in practice.halves]
    assert not steps[0] & steps[1]
    assert min(steps[0]) == min(train.starts)
    assert max(steps[1]) == max(train.starts) + LAGS - 1
    assert set(practice.halves[0].starts) | set(practice.halves[1].starts) <= set(train.starts)


def test_a_half_has_the_moments_of_the_other_half(waving):
    train, fitted, practice = waving
    normal = fitted.normalizer.normalize(train.series.values, fitted.bank_slots)
    middle = len(normal) // 2
    for half, other in zip(practice.halves, (normal[middle:], normal[:middle]), strict=True):
        for lag in (0, 3, LAGS - 1):
            expected = [[subset_twins.lag_covariance(other, lag, i, j) for j in range(3)] for i in range(3)]
            np.testing.assert_allclose(half.moments.block(lag, range(3), range(3)), expected, atol=1e-5)


@pytest.mark.parametrize("number", [0, 1])
def test_changing_a_half_does_not_change_its_own_regression(waving, number):
    train, fitted, practice = waving
    changed = train.series.values.copy()
    half = slice(0, 150) if number == 0 else slice(150, 300)
    changed[half] += np.random.default_rng(0).normal(size=changed[half].shape)
    other = Practice.of(Series(changed, times=train.series.times).windows(LOOKBACK, HORIZON), fitted)
    present = np.arange(2)
    before, after = (each.regression(each.halves[number], present, 0.1).factor for each in (practice, other))
    np.testing.assert_array_equal(before, after)
    assert not np.array_equal(
        practice.regression(practice.halves[1 - number], present, 0.1).factor,
        other.regression(other.halves[1 - number], present, 0.1).factor,
    )


def test_too_few_windows_give_no_practice():
    train, fitted = fitted_on(waves(n=3, steps=2 * (LAGS + 19) - 1))
    assert Practice.of(train, fitted) is None
    train, fitted = fitted_on(waves(n=3, steps=2 * (LAGS + 19)))
    assert Practice.of(train, fitted) is not None


def test_windows_and_futures_against_loops(waving):
    train, fitted, practice = waving
    starts, variables, steps = np.array([0, 40, 291]), np.array([2, 0]), np.array([0, 2])
    normal = fitted.normalizer.normalize(train.series.values, fitted.bank_slots)
    found, ahead = practice.windows(starts, variables), practice.futures(starts, steps, variables)
    for window, start in enumerate(starts):
        for column, variable in enumerate(variables):
            assert found[window, :, column].tolist() == normal[start : start + LOOKBACK, variable].tolist()
            expected = [normal[start + LOOKBACK + step, variable] for step in steps]
            assert ahead[window, :, column].tolist() == expected


# Rows


def test_the_level_is_a_reading_of_the_series_and_the_rest_adds_up(waving):
    train, fitted, practice = waving
    features = features_of(fitted)
    rows = practice_rows(practice, features, 0.1, 4000, 0)
    assert rows.cells.shape == (len(rows.left), features.count)
    lags, clocks = len(features.lags), 1 + fitted.normalizer.cycle.weekly
    linear, variable = rows.cells[:, 2 * lags], rows.cells[:, -1 - clocks].astype(int)
    usual, weight = rows.cells[:, 2 * lags + 2], rows.cells[:, 2 * lags + 3]
    np.testing.assert_allclose(rows.weight, weight)
    np.testing.assert_allclose(usual + (linear + rows.left) * weight, rows.level, atol=1e-4)
    mean, scale = [], []
    for each in range(3):
        level = twins.level_of(fitted.normalizer.center[:, each].tolist(), fitted.normalizer.spread[:, each].tolist())
        mean.append(level[0])
        scale.append(level[1])
    for each in range(3):
        raw = rows.level[variable == each] * scale[each] + mean[each]
        own = np.sort(train.series.values[:, each])
        place = np.clip(np.searchsorted(own, raw), 1, len(own) - 1)
        assert np.minimum(np.abs(own[place] - raw), np.abs(own[place - 1] - raw)).max() < 1e-3


def test_rows_depend_on_the_seed_alone_and_keep_to_their_number(waving):
    _, fitted, practice = waving
    first, again, other = (practice_rows(practice, features_of(fitted), 0.1, 2000, seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first.cells, again.cells)
    assert len(first.left) <= 2000
    assert first.cells.shape != other.cells.shape or not np.array_equal(first.cells, other.cells, equal_nan=True)


def test_rows_without_a_target_are_left_out():
    values = waves(n=3, steps=300).values.copy()
    values[:, 1] = np.nan
    values[np.random.default_rng(0).random(values.shape) < 0.3] = np.nan
    train, fitted = fitted_on(Series(values, times=waves(n=3, steps=300).times))
    features = features_of(fitted)
    rows = practice_rows(Practice.of(train, fitted), features, 0.1, 3000, 0)
    assert np.isfinite(rows.left).all()
    assert np.isfinite(rows.level).all()
    clocks = 1 + fitted.normalizer.cycle.weekly
    assert set(rows.cells[:, -1 - clocks].astype(int).tolist()) == {0, 2}


# Holes


@settings(max_examples=30)
@given(st.integers(1, 12), st.integers(0, 2**32 - 1))
def test_holes_are_one_run_in_about_half_of_the_variables(t, seed):
    readings = np.ones((40, t, 20), dtype=np.float32)
    make_holes(readings, np.random.default_rng(seed))
    holes = np.isnan(readings)
    for window in holes[::7]:
        for column in window.T:
            assert (np.diff(np.concatenate([[0], column.astype(int), [0]])) == 1).sum() <= 1  # a run, no more
    assert 0.1 < holes.any(axis=1).mean() < 0.6
    assert (readings[~holes] == 1).all()


def test_holes_reach_both_ends_and_may_cover_the_window():
    readings = np.ones((200, 6, 10), dtype=np.float32)
    make_holes(readings, np.random.default_rng(0))
    holes = np.isnan(readings).transpose(0, 2, 1).reshape(-1, 6)
    kinds = {(bool(run[0]), bool(run[-1])) for run in holes if run.any()}
    assert kinds == {(False, False), (True, False), (False, True), (True, True)}


@settings(max_examples=40)
@given(st.integers(1, 7), st.floats(0, 1), st.integers(0, 2**32 - 1))
def test_carried_against_loops(t, share, seed):
    rng = np.random.default_rng(seed)
    readings = rng.normal(size=(3, t, 2)).astype(np.float32)
    readings[rng.random(readings.shape) < share] = np.nan
    before = readings.copy()
    filled = carried(readings)
    for window in range(3):
        for column in range(2):
            assert filled[window, :, column].tolist() == twins.carried(readings[window, :, column].tolist())
    np.testing.assert_array_equal(readings, before)


# The ridge


def ridge_errors(practice, ridges, metric):
    """The error of each ridge for one variable, by the regression of plain loops learned from the other half."""
    totals, normal = [0.0] * len(ridges), practice.readings
    middle = len(normal) // 2
    for half, other in zip(practice.halves, (normal[middle:], normal[:middle]), strict=True):
        errors = []
        for ridge in ridges:
            weights = subset_twins.regression(other, [0], range(LOOKBACK), ridge, [(LOOKBACK + q, 0) for q in range(3)])
            error = [
                normal[start : start + LOOKBACK, 0] @ weights - normal[start + LOOKBACK : start + LAGS, 0]
                for start in half.starts.tolist()
            ]
            errors.append(float(np.mean(np.abs(error) ** (1 if metric == "mae" else 2))))
        totals = [total + error / min(errors) for total, error in zip(totals, errors, strict=True)]
    return totals


@pytest.mark.parametrize("metric", ["mae", "rmse"])
@pytest.mark.parametrize("seed", [1, 2, 5])
def test_the_ridge_is_the_best_by_loops(metric, seed):
    train, fitted = fitted_on(walk(n=1, steps=120, seed=seed))
    practice, ridges = Practice.of(train, fitted), (1e-3, 0.3, 1.0, 3.0, 300.0)
    errors = ridge_errors(practice, ridges, metric)
    assert choose_ridge(practice, ridges, metric, 0) == ridges[errors.index(min(errors))]


def test_a_variable_without_readings_does_not_decide_the_ridge():
    series = walk(n=1, steps=200)
    dead = np.concatenate([series.values, np.full((200, 1), np.nan)], axis=1)
    ridges = (300.0, 1e-3)  # the first would win if a mean of nothing counted
    for seed in range(4):
        train, fitted = fitted_on(Series(dead))
        assert choose_ridge(Practice.of(train, fitted), ridges, "mae", seed) == 1e-3
