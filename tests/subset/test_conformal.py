"""Tests of prediction intervals: quantiles against loops, coverage, and nested levels."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import subcast as sc
from subcast.errors import DataError, FitWarning, InputError
from subcast.series import Series
from subcast.subset import conformal
from subcast.subset.conformal import PROBABILITIES, Calibration, _trials, conformal_quantiles
from subset.examples import HORIZON, LOOKBACK, assert_one_sentence, hours_of, mixing, waves
from twins import subset_twins as twins

LEAST_SPREAD = 0.1  # of the usual spread: neighbors that agree even more are not that sure


def loop_quantiles(residuals):
    """The ceil((n + 1) p)-th smallest above the middle, the floor((n + 1) p)-th below, within what there is."""
    ordered = sorted(float(x) for x in residuals)
    count = len(ordered)
    found = []
    for p in PROBABILITIES.tolist():
        exact = round((count + 1) * p, 9)
        place = math.ceil(exact) if p >= 0.5 else math.floor(exact)
        found.append(ordered[min(max(place, 1), count) - 1])
    return found


@given(st.lists(st.floats(-100, 100, allow_nan=False, width=32), min_size=1, max_size=250))
def test_quantiles_against_loops(residuals):
    found = conformal_quantiles(np.array(residuals))
    assert found.tolist() == loop_quantiles(residuals)
    assert (np.diff(found) >= 0).all()


def test_quantiles_have_the_nominal_coverage():
    """Of n + 1 exchangeable numbers the last is below the p-quantile of the others at least p of the time."""
    for count in (19, 40, 99):
        numbers = np.arange(count + 1)
        for place, p in enumerate(PROBABILITIES):
            below = [bool(last <= conformal_quantiles(np.delete(numbers, last))[place]) for last in numbers]
            if p >= 0.5 and math.ceil(round((count + 1) * p, 9)) <= count:
                assert np.mean(below) >= p - 1e-9


def table(seed=0, counts=(1, 4, 16), h=3, n=16):
    rng = np.random.default_rng(seed)
    shape = (len(counts), len(PROBABILITIES), h, n)
    present, absent = np.sort(rng.normal(size=(2, *shape)).astype(np.float32), axis=2)
    return Calibration(np.array(counts), present, absent, np.array([20.0, 5.0, 0.0]), np.array([0.1, 0.2, 0.4]))


@pytest.mark.parametrize("count", [0.4, 1, 2, 4, 7.5, 16])
@pytest.mark.parametrize("level", [0.5, 0.8, 0.9, 0.93, 0.99])
def test_bounds_against_loops(count, level):
    calibration = table()
    knots = [math.log(known) for known in calibration.counts.tolist()]

    def between(knots, heights, x):
        if x <= knots[0]:
            return heights[0]
        for left in range(len(knots) - 1):
            if x <= knots[left + 1]:
                part = (x - knots[left]) / (knots[left + 1] - knots[left])
                return heights[left] + part * (heights[left + 1] - heights[left])
        return heights[-1]

    for is_absent, source in ((False, calibration.present), (True, calibration.absent)):
        found = calibration.bounds(level, count, np.array([2, 0]), absent=is_absent)
        for end, p in enumerate(((1 - level) / 2, (1 + level) / 2)):
            for q in range(3):
                for column, variable in enumerate((2, 0)):
                    at_share = [
                        between(knots, source[:, place, q, variable].tolist(), math.log(count))
                        for place in range(len(PROBABILITIES))
                    ]
                    wanted = between(PROBABILITIES.tolist(), at_share, p)
                    assert found[end, q, column] == pytest.approx(wanted, abs=1e-5)


def test_gaps_and_strangeness_are_interpolated_in_the_logarithm_of_the_number_present():
    calibration = table()
    np.testing.assert_allclose(calibration.gaps_at(np.array([0.3, 1, 2, 4, 8, 16])), [20, 20, 12.5, 5, 2.5, 0])
    np.testing.assert_allclose(calibration.usual_strangeness(np.array([0.3, 1, 2, 16])), [0.1, 0.1, 0.15, 0.4])
    assert [calibration.extrapolates(count) for count in (0.5, 0.999, 1.0, 3.0)] == [True, True, False, False]
    assert calibration.shares.tolist() == [1 / 16, 0.25, 1]


@pytest.mark.parametrize(
    ("n", "counts"),
    [
        (1, [1]),
        (2, [1, 2]),
        (3, [1, 2, 3]),
        (6, [1, 3, 6]),
        (7, [1, 2, 4, 6, 7]),
        (60, [1, 3, 9, 30, 51, 60]),
        (207, [1, 11, 32, 104, 176, 207]),
    ],
)
def test_numbers_of_variables_that_are_calibrated(n, counts):
    trials = _trials(n, seed=3)
    assert [trial.draws.shape[1] for trial in trials] == counts
    assert len({trial.number for trial in trials}) == len(trials)  # so that no two use the same random windows
    for trial in trials:
        assert all(len(set(draw)) == len(draw) for draw in trial.draws.tolist())
        assert trial.draws.max() < n


def test_single_variables_are_all_different():
    alone = _trials(60, seed=0)[0].draws
    assert alone.shape == (48, 1)
    assert len(np.unique(alone)) == 48


def test_a_saved_calibration_must_fit_the_variables():
    calibration = table()
    again = Calibration.from_state(calibration.state(), 3, 16)
    np.testing.assert_array_equal(again.strangeness, calibration.strangeness)
    for name, wrong in (
        ("counts", np.array([1, 4, 15])),
        ("counts", np.array([4, 1, 16])),
        ("counts", np.array([0, 4, 16])),
        ("strangeness", np.array([0.1, -1, 0.4])),
        ("gaps", np.array([np.nan, 1, 0.4])),
    ):
        state = calibration.state()
        state.arrays[name] = wrong
        with pytest.raises(DataError):
            Calibration.from_state(state, 3, 16)


def nothing(x):
    """A forecast of 0: the best there is for noise."""
    return np.zeros((len(x), HORIZON, x.shape[2]))


@pytest.fixture(scope="module")
def noise():
    """Independent readings, each variable with a deviation of its own, and a wrapper calibrated on them."""
    values = np.random.default_rng(0).normal(size=(3000, 6)) * [1, 2, 5, 0.1, 30, 1]
    parts = Series(values).split(LOOKBACK, HORIZON, shares=(0.4, 0.4, 0.2))
    robust = sc.SubsetForecaster(nothing, settings=sc.Settings(neighbors=10), progress=False, levels=(0.9, 0.5, 0.8))
    return robust.fit(parts.train, parts.val), parts.test


def coverage(found, windows, order, level):
    lower, upper = found.interval(level)
    truth = windows.targets[:, :, order]
    return ((lower <= truth) & (truth <= upper)).mean(axis=0)


@pytest.mark.parametrize("present", [[0], [1, 2, 4], [0, 1, 2, 3, 4, 5]], ids=str)
@pytest.mark.parametrize("level", [0.5, 0.8, 0.9])
def test_coverage_on_noise(noise, present, level):
    robust, test = noise
    found = robust.predict_many(test, present, absent=True)
    order = present + [i for i in range(6) if i not in present]
    inside = coverage(found, test, order, level)  # [h, n]
    assert inside.mean() == pytest.approx(level, abs=0.035)
    assert np.abs(inside - level).max() < 0.12  # of each variable and step


def test_intervals_of_lower_levels_lie_inside_those_of_higher_levels(noise, tuned, wave_parts):
    for robust, windows in ((noise[0], noise[1]), (tuned, wave_parts.test)):
        found = robust.predict_many(windows, [0, 3], absent=True, levels=(0.99, 0.9, 0.5, 0.1))
        for wide, narrow in ((0.99, 0.9), (0.9, 0.5), (0.5, 0.1)):
            outer, inner = found.interval(wide), found.interval(narrow)
            assert (outer[0] <= inner[0]).all()
            assert (inner[1] <= outer[1]).all()
        lower, upper = found.interval(0.9)
        assert (lower < upper).all()


def test_a_good_forecast_lies_inside_its_interval(noise):
    robust, test = noise
    found = robust.predict_many(test, [0, 3])
    lower, upper = found.interval(0.5)
    assert ((lower < found.mean) & (found.mean < upper)).all()


def test_the_mean_lies_inside_all_of_its_intervals(noise, tuned, wave_parts):
    """Also of a forecast that is far off on average, whose residuals all have one sign."""
    too_high = sc.SubsetForecaster(lambda x: nothing(x) + 100, settings=sc.Settings(neighbors=10), progress=False)
    values = np.random.default_rng(0).normal(size=(900, 4))
    train, val, test = Series(values).split(LOOKBACK, HORIZON, shares=(0.4, 0.4, 0.2))
    with pytest.warns(FitWarning):
        too_high.fit(train, val)
    for robust, windows in ((noise[0], noise[1]), (tuned, wave_parts.test), (too_high, test)):
        for present in ([0], [0, 3]):
            found = robust.predict_many(windows, present, absent=True, levels=(0.5, 0.01, 0.9))
            assert (found.bounds[:, 0] <= found.mean).all()
            assert (found.bounds[:, 1] >= found.mean).all()


def test_missing_readings_count_as_absent_in_the_expected_gap(tuned, wave_parts):
    windows = wave_parts.test[:8].readings.copy()
    times = wave_parts.test.series.times[:8]
    holes = windows.copy()
    holes[:, ::2] = np.nan
    found = tuned.predict_many(holes, present=[0, 1, 2, 3, 4, 5], times=times)
    np.testing.assert_allclose(found.expected_gap, tuned.calibration_.gaps_at(np.array([3.0]))[0])
    assert found.expected_gap == tuned.predict_many(windows, present=[0, 2, 4], times=times).expected_gap


def test_fewer_variables_give_a_larger_expected_gap(tuned, wave_parts):
    few, many = (tuned.predict_many(wave_parts.test, s, absent=True) for s in ([0], [0, 1, 2, 4, 5]))
    assert few.expected_gap > many.expected_gap > 0


def test_intervals_widen_with_the_deviation_of_the_neighbors(tuned, wave_parts):
    """In units of the hour's usual spread and of how far the neighbors' futures are apart, all bounds are alike."""
    train, test = wave_parts.train, wave_parts.test
    past = hours_of(train.series)
    center, spread = twins.space(train.series.values, past, 24, list(train.starts), LOOKBACK)
    found = tuned.predict_many(test[::7], [1, 4], absent=True)
    order = [int(name[-1]) for name in found.variables]
    hours = hours_of(test.series)
    lower, upper = (np.empty(found.mean.shape) for _ in range(2))
    units = []
    for window, start in enumerate(test[::7].starts):
        for q in range(HORIZON):
            for column, variable in enumerate(order):
                futures = []
                for neighbor in found.neighbor_index[window].tolist():
                    step = neighbor + LOOKBACK + q
                    slot = past[step]
                    futures.append(
                        (float(train.series.values[step][variable]) - center[slot][variable]) / spread[slot][variable]
                    )
                mean = sum(futures) / len(futures)
                apart = sum((x - mean) ** 2 for x in futures) / len(futures)
                unit = spread[hours[start + LOOKBACK + q]][variable] * math.sqrt(apart + LEAST_SPREAD**2)
                units.append(unit)
                point = found.mean[window, q, column]
                lower[window, q, column] = (found.lower[window, q, column] - point) / unit
                upper[window, q, column] = (found.upper[window, q, column] - point) / unit
    np.testing.assert_allclose(lower, np.broadcast_to(lower[0], lower.shape), atol=2e-3)
    np.testing.assert_allclose(upper, np.broadcast_to(upper[0], upper.shape), atol=2e-3)
    assert max(units) > 2 * min(units)  # they are not all of one width


def test_intervals_scale_with_the_variable(noise):
    robust, test = noise
    found = robust.predict_many(test, [3, 4])  # deviations of 0.1 and 30
    width = (found.upper - found.lower).mean(axis=(0, 1))
    assert width[1] / width[0] == pytest.approx(300, rel=0.3)


def test_levels_of_the_wrapper_and_of_a_request(tuned, wave_parts):
    assert tuned.predict_many(wave_parts.test[:2], [0]).levels == (0.9, 0.5)
    found = tuned.predict_many(wave_parts.test[:2], [0], levels=(0.8,))
    assert found.levels == (0.8,)
    assert found.bounds.shape == (1, 2, 2, HORIZON, 1)
    assert tuned.predict_many(wave_parts.test[:2], [0], levels=()).bounds is None
    assert tuned.predict(wave_parts.test.series[:LOOKBACK].select([0]), levels=[0.6]).levels == (0.6,)


@pytest.mark.parametrize("level", [0, 1, 1.5, -0.1, float("nan"), "0.9", True])
def test_bad_levels_are_refused_with_a_clear_error(tuned, wave_parts, level):
    with pytest.raises(InputError) as error:
        tuned.predict_many(wave_parts.test[:2], [0], levels=[level])
    assert_one_sentence(error, "levels", repr(level))


def test_the_interval_of_a_single_absent_variable_does_not_collapse():
    series = waves(n=8, steps=700)
    train, val, test = series.split(LOOKBACK, HORIZON)
    robust = sc.SubsetForecaster(mixing, progress=False, settings=sc.Settings()).fit(train, val)
    widths = []
    for present in (range(6), range(7)):  # 75 % and all but one
        found = robust.predict_many(test, list(present), absent=True)
        widths.append((found.upper - found.lower)[:, :, -1].mean())
    assert widths[1] > 0.5 * widths[0]


# Long horizons


@pytest.mark.parametrize(("horizon", "expected"), [(1, 1152), (24, 1152), (25, 1105), (48, 576), (96, 288), (720, 288)])
def test_longer_horizons_use_fewer_windows(horizon, expected):
    assert conformal.windows_needed(horizon) == expected


def test_few_windows_stay_few():
    assert conformal.windows_needed(96, 100) == 100


@pytest.mark.parametrize("count", [12, 13, 300])
def test_windows_of_a_draw_are_a_run_for_long_horizons(count):
    drawn = {}
    for horizon in (24, 96):
        rng = np.random.default_rng(3)
        drawn[horizon] = [conformal._drawn_windows(rng, count, 12, horizon) for _ in range(40)]
        for windows in drawn[horizon]:
            assert windows.min() >= 0
            assert windows.max() < count
            assert (np.diff(windows) > 0).all()
    assert all((np.diff(windows) == 1).all() for windows in drawn[96])
    if count == 300:
        assert not all((np.diff(windows) == 1).all() for windows in drawn[24])
        assert max(windows.max() for windows in drawn[96]) > 250
        assert min(windows.min() for windows in drawn[96]) < 50


def test_quantiles_of_each_variable_against_loops():
    rng = np.random.default_rng(0)
    residuals = rng.normal(size=(60, 2, 3)).astype(np.float32)
    residuals[rng.random(residuals.shape) < 0.2] = np.nan
    residuals[:, 0, 1] = np.nan
    residuals[30:, 1, 2] = np.nan  # too few for quantiles of its own
    collected = conformal._Residuals.__new__(conformal._Residuals)
    collected.residuals = {False: [residuals[:25], residuals[25:]]}
    table = collected.quantiles(absent=False)
    for step in range(2):
        known = residuals[:, step][~np.isnan(residuals[:, step])]
        common = conformal.conformal_quantiles(known)
        for variable in range(3):
            own = residuals[:, step, variable]
            own = own[~np.isnan(own)]
            expected = (conformal.conformal_quantiles(own) + common) / 2 if len(own) >= 40 else common
            np.testing.assert_allclose(table[:, step, variable], expected, rtol=1e-6)
