"""Tests of the default method against plain loops, and of its guarantees to users."""

from dataclasses import replace

import numpy as np
import pytest

import subcast as sc
from subcast.subset import Settings
from subset.examples import HORIZON, LOOKBACK, Counting, hidden, hours_of, last_reading, mixing, waves
from twins import subset_twins as twins

BLEND = ((0.5, 0.7, 0.9), (0.3, 0.4, 0.6), (0.2, 0.2, 0.4))
BASE = Settings(neighbors=6, blend=BLEND, blend_absent=BLEND[::-1], ridge=0.1, follow_levels=False)
PLAIN = replace(BASE, blend=(), blend_absent=())


@pytest.fixture(scope="module", params=[True, False], ids=["hours", "no times"])
def small(request):
    """Training windows and test windows of a few waves."""
    train, _, test = waves(n=5, steps=340, hours=request.param).split(LOOKBACK, HORIZON, shares=(0.7, 0.1, 0.2))
    return train, test


def twin_of(small, settings, window, start, present):
    train, test = small
    timed = train.series.times is not None
    return twins.pooled_forecast(
        mixing,
        train.series.values,
        hours_of(train.series) if timed else [0] * len(train.series),
        24 if timed else 1,
        list(train.starts),
        LOOKBACK,
        HORIZON,
        window,
        hours_of(test.series)[start] if timed else 0,
        present,
        settings,
    )


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param(BASE, id="as it is"),
        pytest.param(replace(BASE, center="mean", exponent=1.0, weighting="distance", temperature=0.3), id="DDW, mean"),
        pytest.param(
            replace(BASE, neighbors=9, weighting="rank", regression_share=0.5, correction=1.0),
            id="rank, half regression_share",
        ),
        pytest.param(replace(BASE, correction=0.0, regression_share=0.0, blend=()), id="borrow and pool only"),
        pytest.param(
            replace(BASE, time_of_day_weight=0.8, neighbors=3, blend_absent=()), id="a heavy time_of_day_weight"
        ),
    ],
)
@pytest.mark.parametrize("present", [[2], [0, 3], [0, 1, 2, 4]], ids=str)
def test_against_loops(small, settings, present):
    train, test = small
    robust = sc.SubsetForecaster(mixing, settings=settings, progress=False).fit(train)
    starts = [test.starts[2], test.starts[17]]
    scale = train.series.values.std(axis=0)
    for start in starts:
        window = np.array(test.series.values[start : start + LOOKBACK])
        times = None if test.series.times is None else test.series.times[start : start + 1]
        found = robust.predict_many(window[None], present, times=times, absent=True)
        forecast, near = twin_of(small, settings, window, start, present)
        assert found.neighbor_index[0].tolist() == near
        order = present + [i for i in range(5) if i not in present]
        wanted = np.array(forecast)[:, order]
        np.testing.assert_allclose(found.mean[0] / scale[order], wanted / scale[order], atol=2e-3)


@pytest.mark.parametrize("holes", [[(2, 0)], [(0, 0), (5, 3)], [(1, 3), (2, 3), (3, 3)], [(4, 0), (5, 0)]], ids=str)
def test_a_window_with_holes_against_loops(small, holes):
    train, test = small
    robust = sc.SubsetForecaster(mixing, settings=BASE, progress=False).fit(train)
    start = test.starts[5]
    window = np.array(test.series.values[start : start + LOOKBACK])
    for step, variable in holes:
        window[step, variable] = np.nan
    times = None if test.series.times is None else test.series.times[start : start + 1]
    found = robust.predict_many(window[None], [0, 3], times=times)
    forecast, near = twin_of(small, BASE, window, start, [0, 3])
    assert found.neighbor_index[0].tolist() == near
    scale = train.series.values.std(axis=0)[[0, 3]]
    np.testing.assert_allclose(found.mean[0] / scale, np.array(forecast)[:, [0, 3]] / scale, atol=2e-3)
    assert found.observed[0].min() < 1


def test_holes_where_every_variable_came_against_loops(small):
    """The neighbors fill them; the usual value would be further off."""
    train, test = small
    robust = sc.SubsetForecaster(mixing, settings=BASE, progress=False).fit(train)
    start = test.starts[9]
    window = np.array(test.series.values[start : start + LOOKBACK])
    window[4:, 2] = np.nan
    times = None if test.series.times is None else test.series.times[start : start + 1]
    found = robust.predict_many(window[None], times=times)
    forecast, near = twin_of(small, BASE, window, start, [0, 1, 2, 3, 4])
    assert found.neighbor_index[0].tolist() == near
    scale = train.series.values.std(axis=0)
    np.testing.assert_allclose(found.mean[0] / scale, np.array(forecast) / scale, atol=2e-3)
    assert found.quality != "full"


def test_readings_that_arrived_reach_the_model_to_the_bit(small):
    train, test = small
    robust = sc.SubsetForecaster(last_reading, settings=PLAIN, progress=False).fit(train)
    windows = np.array(test.readings)
    found = robust.predict_many(windows, [1, 3])
    np.testing.assert_array_equal(found.mean, np.repeat(windows[:, -1:, [1, 3]], HORIZON, axis=1))


# How often the model runs


@pytest.mark.parametrize("absent", [False, True])
def test_the_model_runs_once_for_each_window(wave_parts, tuned, learned, absent):
    model = Counting(learned)
    robust = sc.SubsetForecaster(model, settings=tuned.settings_, progress=False).fit(wave_parts.train, wave_parts.val)
    for present in ([1], [0, 2, 5], [0, 1, 2, 3, 4]):
        before = model.windows
        robust.predict_many(wave_parts.test, present, absent=absent)
        assert model.windows - before == len(wave_parts.test)
    before = model.windows
    robust.predict(wave_parts.test.series.to_frame().iloc[:LOOKBACK, :2], absent=absent)
    assert model.windows - before == 1


# Everything present


def test_with_all_variables_present_it_is_the_plain_forecast(wave_parts, tuned, learned):
    test = wave_parts.test
    plain = learned(test.batch().inputs).astype(np.float32)
    for present in (None, range(6), np.ones(6, dtype=bool), list(test.series.variables)):
        found = tuned.predict_many(test, present)
        np.testing.assert_array_equal(found.mean, plain)
        assert found.quality == "full"
        assert found.expected_gap == 0
    one = tuned.predict(test.series.to_frame().iloc[:LOOKBACK])
    np.testing.assert_array_equal(one.mean, plain[0])
    assert one.observed_share == 1


def test_a_missing_reading_in_another_window_does_not_change_a_complete_window(wave_parts, tuned, learned):
    windows = np.array(wave_parts.test.readings[:4])
    times = wave_parts.test.series.times[:4]
    windows[2, 1, 3] = np.nan
    found = tuned.predict_many(windows, times=times)
    whole = [0, 1, 3]
    np.testing.assert_allclose(found.mean[whole], learned(windows[whole][..., None]), atol=1e-5)
    assert np.isfinite(found.mean).all()


def test_the_blend_fades_as_s_approaches_all_variables():
    n = 30
    train, _, test = waves(n=n, steps=500).split(LOOKBACK, HORIZON)
    heavy = replace(PLAIN, blend=((0.9,) * HORIZON,) * 3)
    robust = sc.SubsetForecaster(mixing, settings=heavy, progress=False).fit(train)
    plain = robust.predict_many(test).mean

    def moved(size):
        """How far the forecasts of variables that are there are from the plain ones, over several S."""
        off = []
        for seed in range(4):
            present = np.sort(np.random.default_rng(seed).permutation(n)[:size])
            off.append(np.abs(robust.predict_many(test, present).mean - plain[:, :, present]).mean())
        return np.mean(off)

    few, most, all_but_one = moved(5), moved(27), moved(29)
    assert all_but_one < most < few
    assert all_but_one < 0.3 * few


# What arrives, in any dress


@pytest.fixture(scope="module")
def frame(wave_parts):
    return wave_parts.test.series.to_frame().iloc[30 : 30 + LOOKBACK]


def assert_same_forecast(a, b, atol=0.0):
    assert a.variables == b.variables
    np.testing.assert_allclose(a.mean, b.mean, atol=atol, rtol=0)
    np.testing.assert_allclose(a.bounds, b.bounds, atol=atol, rtol=0)
    np.testing.assert_array_equal(a.neighbor_index, b.neighbor_index)
    assert a.quality == b.quality


def test_columns_in_any_order(tuned, frame):
    some = ["wave-1", "wave-3", "wave-4"]
    base = tuned.predict(frame[some], absent=True)
    assert base.variables == ("wave-1", "wave-3", "wave-4", "wave-0", "wave-2", "wave-5")
    for order in (some[::-1], ["wave-3", "wave-1", "wave-4"]):
        assert_same_forecast(tuned.predict(frame[order], absent=True), base)


def test_an_absent_column_is_a_column_of_nan(tuned, frame):
    base = tuned.predict(frame[["wave-1", "wave-3"]])
    blank = frame.copy()
    blank[[name for name in frame if name not in ("wave-1", "wave-3")]] = np.nan
    assert_same_forecast(tuned.predict(blank), base)


def test_long_frames_series_and_arrays(tuned, frame, wave_parts):
    base = tuned.predict(frame[["wave-1", "wave-3"]])
    long = frame[["wave-1", "wave-3"]].melt(ignore_index=False, var_name="unique_id", value_name="y").reset_index()
    assert_same_forecast(tuned.predict(long.rename(columns={"time": "ds"}).sample(frac=1, random_state=0)), base)
    series = wave_parts.test.series[30 : 30 + LOOKBACK].select([1, 3])
    assert_same_forecast(tuned.predict(series), base)
    values = frame[["wave-3", "wave-1"]].to_numpy()
    assert_same_forecast(tuned.predict(values, names=["wave-3", "wave-1"], times=frame.index), base)


def test_more_steps_than_the_lookback(tuned, frame, wave_parts):
    longer = wave_parts.test.series.to_frame().iloc[10 : 30 + LOOKBACK]
    assert_same_forecast(tuned.predict(longer[["wave-2"]]), tuned.predict(frame[["wave-2"]]))


def test_present_by_names_numbers_and_mask(tuned, wave_parts):
    base = tuned.predict_many(wave_parts.test, [1, 4])
    for present in (["wave-4", "wave-1"], (4, 1), np.isin(np.arange(6), [1, 4])):
        assert_same_forecast(tuned.predict_many(wave_parts.test, present), base)
    blank = hidden(wave_parts.test.readings, [1, 4])
    times = wave_parts.test.series.times[: len(blank)]
    assert_same_forecast(tuned.predict_many(blank, times=times), base, atol=1e-5)


def test_readings_of_absent_variables_are_not_used(tuned, wave_parts):
    windows = np.array(wave_parts.test.readings[:10])
    times = wave_parts.test.series.times[:10]
    garbage = windows.copy()
    garbage[:, :, [0, 2, 3, 5]] = 1e6
    assert_same_forecast(
        tuned.predict_many(garbage, [1, 4], times=times), tuned.predict_many(windows, [1, 4], times=times)
    )


def test_windows_of_a_series_arrays_and_single_windows_agree(tuned, wave_parts):
    test = wave_parts.test
    sliding = tuned.predict_many(test, [0, 3], absent=True)
    alone = tuned.predict_many(np.array(test.readings), [0, 3], times=test.series.times[: len(test)], absent=True)
    assert_same_forecast(sliding, alone, atol=1e-5)
    some = test[3:40:9]
    np.testing.assert_allclose(tuned.predict_many(some, [0, 3]).mean, sliding.mean[3:40:9, :, :2], atol=1e-5)
    for window in (0, 7, 50):
        frame = test.series.to_frame().iloc[window : window + LOOKBACK, [0, 3]]
        one = tuned.predict(frame, absent=True)
        np.testing.assert_allclose(one.mean, sliding.mean[window], atol=1e-5)
        np.testing.assert_allclose(one.bounds, sliding.bounds[:, :, window], atol=1e-5)
        np.testing.assert_array_equal(one.times, sliding.times[window])
        np.testing.assert_array_equal(one.times, test.times[window])


def test_inputs_are_not_changed(tuned, wave_parts):
    windows = hidden(wave_parts.test.readings[:5], [1, 4])
    windows[2, 3, 1] = np.nan
    kept = windows.copy()
    tuned.predict_many(windows)
    tuned.predict(windows[0])
    np.testing.assert_array_equal(windows, kept)


def test_without_times_the_same_slot_is_guessed(tuned, wave_parts):
    windows = hidden(wave_parts.test.readings[:30], [0, 3])
    many = tuned.predict_many(windows)
    for window in (0, 13, 29):
        np.testing.assert_allclose(tuned.predict(windows[window]).mean, many.mean[window], atol=1e-5)


def test_without_times_windows_of_a_series_as_their_arrays(tuned, wave_parts):
    test = wave_parts.test
    bare = sc.Series(test.series.values, test.series.variables).windows(LOOKBACK, HORIZON)
    arrays = tuned.predict_many(np.array(bare.readings), [0, 3])
    np.testing.assert_allclose(tuned.predict_many(bare, [0, 3]).mean, arrays.mean, atol=1e-5)


def test_windows_without_the_time_features_are_refused():
    with_hours = waves(n=4, steps=300, features=("time_of_day",))
    robust = sc.SubsetForecaster(mixing, settings=PLAIN, progress=False).fit(with_hours.windows(LOOKBACK, HORIZON))
    bare = waves(n=4, steps=300).windows(LOOKBACK, HORIZON)
    with pytest.raises(sc.InputError, match="time_of_day"):
        robust.predict_many(bare, [0, 1])


@pytest.mark.parametrize("present", [[1], None])
def test_zero_windows_give_zero_forecasts(tuned, wave_parts, present):
    assert tuned.predict_many(wave_parts.test[:0], present).mean.shape[:2] == (0, HORIZON)


# Virtual sensors


def by_height(x):
    """A forecast that tells its variable: 1000 times its number, and a little of its last reading."""
    return np.repeat(x[:, -1:, :, 0], HORIZON, axis=1) * 0.01 + 1000 * np.arange(x.shape[2])


@pytest.mark.parametrize(
    "settings", [PLAIN, Settings.paper(), Settings.paper(weighting="uniform")], ids=["pooled", "FDW", "UW"]
)
def test_virtual_sensors_are_in_the_right_columns(wave_parts, settings):
    robust = sc.SubsetForecaster(by_height, settings=settings, progress=False).fit(wave_parts.train)
    found = robust.predict_many(wave_parts.test, [1, 4], absent=True)
    assert found.variables == ("wave-1", "wave-4", "wave-0", "wave-2", "wave-3", "wave-5")
    for column, name in enumerate(found.variables):
        np.testing.assert_allclose(found.mean[:, :, column], 1000 * int(name[-1]), atol=5)
    assert (found.observed[:, :2] == 1).all()
    assert (found.observed[:, 2:] == 0).all()
    one = robust.predict(wave_parts.test.series.to_frame().iloc[:LOOKBACK, [4, 1]], absent=True)
    for column, name in enumerate(one.variables):
        np.testing.assert_allclose(one.mean[:, column], 1000 * int(name[-1]), atol=5)


def test_virtual_sensors_follow_the_truth(tuned, wave_parts):
    test = wave_parts.test
    found = tuned.predict_many(test, [0, 3], absent=True)
    order = [0, 3, 1, 2, 4, 5]
    assert found.variables == tuple(f"wave-{i}" for i in order)
    truth = test.targets[:, :, order]
    usual = wave_parts.train.series.values.mean(axis=0)[order]
    ours, theirs = np.abs(found.mean - truth).mean(axis=(0, 1)), np.abs(usual - truth).mean(axis=(0, 1))
    assert (ours[2:] < 0.75 * theirs[2:]).all()


def test_virtual_sensors_do_not_change_the_forecast_of_the_present_variables(tuned, wave_parts):
    alone, both = tuned.predict_many(wave_parts.test, [0, 3]), tuned.predict_many(wave_parts.test, [0, 3], absent=True)
    np.testing.assert_allclose(both.mean[:, :, :2], alone.mean, atol=1e-5)
    np.testing.assert_allclose(both.bounds[..., :2], alone.bounds, atol=1e-5)


# Why


def test_neighbors_are_training_windows_with_their_dates(tuned, wave_parts):
    train = wave_parts.train
    one = tuned.predict(wave_parts.test.series.to_frame().iloc[20 : 20 + LOOKBACK, [0, 3]])
    starts = one.neighbor_index
    assert len(starts) == tuned.settings_.neighbors
    assert set(starts.tolist()) <= set(train.starts)
    np.testing.assert_array_equal(one.neighbor_times, train.series.times[starts + LOOKBACK - 1])
    assert (np.diff(one.neighbor_distance) >= 0).all()
    assert one.weights.sum() == pytest.approx(1, abs=1e-5)
    paths = one.paths()
    for place, start in enumerate(starts):
        truth = train.series.values[start : start + LOOKBACK + HORIZON, [0, 3]]
        np.testing.assert_allclose(paths[place], truth, atol=1e-3)


def test_history_and_observed_share(tuned, frame):
    window = frame[["wave-1", "wave-3"]].copy()
    window.iloc[2, 1] = np.nan
    one = tuned.predict(window)
    np.testing.assert_array_equal(one.history, window.to_numpy(dtype=np.float32))
    np.testing.assert_allclose(one.observed, [1, 5 / 6])
    assert one.observed_share == pytest.approx(11 / 36)


def test_a_filled_hole_is_close_to_the_reading_that_was_there(tuned, wave_parts):
    test = wave_parts.test
    windows, times = hidden(test.readings, [0, 3, 4]), test.series.times[: len(test)]
    holed = windows.copy()
    holed[:, 3, 0] = np.nan
    whole, patched = tuned.predict_many(windows, times=times), tuned.predict_many(holed, times=times)
    blank = hidden(windows, [3, 4])
    without = tuned.predict_many(blank, times=times, absent=True)
    off = np.abs(patched.mean[:, :, 0] - whole.mean[:, :, 0]).mean()
    lost = np.abs(without.mean[:, :, 2] - whole.mean[:, :, 0]).mean()
    assert off < 0.5 * lost


# The same wrapper with other settings


def test_other_settings_without_fitting_again(wave_parts, tuned, learned):
    chosen = replace(tuned.settings_, neighbors=4, correction=1.0, blend=BLEND)
    fresh = sc.SubsetForecaster(learned, settings=chosen, progress=False).fit(wave_parts.train)
    before = tuned.settings_
    other = tuned.with_settings(chosen)
    np.testing.assert_array_equal(
        other.predict_many(wave_parts.test, [0, 3], absent=True).mean,
        fresh.predict_many(wave_parts.test, [0, 3], absent=True).mean,
    )
    assert tuned.settings_ == before
    assert other.settings_ == chosen


@pytest.mark.parametrize(
    "change",
    [{"daily_profile": False}, {"time_of_day_weight": 0.5}, {"per_variable": False}, {"bank_share": 0.5}],
    ids=str,
)
def test_settings_of_the_bank_cannot_be_changed_after_fit(tuned, change):
    with pytest.raises(sc.InputError, match=next(iter(change))):
        tuned.with_settings(replace(tuned.settings_, **change))


def test_repr_shows_the_model_and_the_settings(tuned):
    assert "not fitted" in repr(sc.SubsetForecaster(mixing))
    assert "training windows of 6 variables" in repr(tuned)
    assert (tuned.lookback, tuned.horizon, tuned.variables[0]) == (LOOKBACK, HORIZON, "wave-0")
