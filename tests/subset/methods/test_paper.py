"""Tests of the published method against plain loops written from the paper, and of the number of model passes."""

import numpy as np
import pytest

import subcast as sc
from subcast.subset.validation import split_validation
from subset.examples import HORIZON, LOOKBACK, Counting, mixing, waves
from twins import subset_twins as twins

WINDOWS = [0, 3, 11, 40]


@pytest.fixture(scope="module", params=[(), ("time_of_day",)], ids=["D=1", "D=2"])
def parts(request):
    return waves(n=5, steps=300, features=request.param).split(LOOKBACK, HORIZON, protocol="paper")


def hours(series):
    """The time of day in [0, 1) of each step, from the text of its moment; None without the feature."""
    if not series.time_features:
        return None
    return [(int(str(t)[11:13]) * 60 + int(str(t)[14:16])) / 1440 for t in series.times]


def twin_of(parts, window, present, **settings):
    train, _, test = parts
    features, test_features = hours(train.series), hours(test.series)
    start = test.starts[window]
    return twins.paper_forecast(
        mixing,
        train.series.values,
        features,
        list(train.starts),
        LOOKBACK,
        test.series.values[start : start + LOOKBACK],
        None if features is None else test_features[start : start + LOOKBACK],
        present,
        **settings,
    )


@pytest.mark.parametrize("present", [[0], [1, 3], [0, 2, 4], [0, 1, 2, 3]], ids=str)
def test_fdw_against_loops(parts, present):
    train, _, test = parts
    robust = sc.SubsetForecaster.paper(mixing, progress=False).fit(train)
    found = robust.predict_many(np.array(test.batch(WINDOWS).inputs), present)
    scale = float(train.series.values.std())
    for place, window in enumerate(WINDOWS):
        forecast, weights, starts = twin_of(parts, window, present)
        assert found.neighbor_index[place].tolist() == starts
        np.testing.assert_allclose(found.mean[place] / scale, np.array(forecast) / scale, atol=1e-4)
        np.testing.assert_allclose(found.weights[place], weights, atol=1e-3)


@pytest.mark.parametrize(
    "settings",
    [
        {"weighting": "uniform"},
        {"weighting": "distance"},
        {"weighting": "distance", "temperature": 0.01, "exponent": 2.0},
        {"weighting": "rank", "neighbors": 7},
        {"weighting": "forecast", "temperature": 1.0, "neighbors": 3, "exponent": 0.33},
        {"weighting": "forecast", "neighbors": 1, "exponent": 1.0},
    ],
    ids=str,
)
def test_other_settings_against_loops(parts, settings):
    train, _, test = parts
    robust = sc.SubsetForecaster.paper(mixing, progress=False, **settings).fit(train)
    found = robust.predict_many(np.array(test.batch(WINDOWS).inputs), [1, 3])
    scale = float(train.series.values.std())
    for place, window in enumerate(WINDOWS):
        forecast, weights, starts = twin_of(parts, window, [1, 3], **settings)
        assert found.neighbor_index[place].tolist() == starts
        np.testing.assert_allclose(found.mean[place] / scale, np.array(forecast) / scale, atol=1e-4)
        np.testing.assert_allclose(found.weights[place], weights, atol=1e-3)


def test_the_windows_of_a_series_as_their_arrays(parts):
    train, _, test = parts
    robust = sc.SubsetForecaster.paper(mixing, progress=False).fit(train)
    whole = robust.predict_many(test, [1, 3])
    arrays = robust.predict_many(np.array(test.batch().inputs), [1, 3])
    np.testing.assert_allclose(whole.mean, arrays.mean, atol=1e-5)
    np.testing.assert_array_equal(whole.neighbor_index, arrays.neighbor_index)


def test_weights_sum_to_one(parts):
    train, _, test = parts
    found = sc.SubsetForecaster.paper(mixing, progress=False).fit(train).predict_many(test, [0, 4])
    np.testing.assert_allclose(found.weights.sum(axis=1), 1, atol=1e-5)


def test_the_published_method_is_neither_tuned_nor_calibrated(parts):
    train, val, test = parts
    model = Counting()
    robust = sc.SubsetForecaster.paper(model, progress=False).fit(train, val)
    alone = Counting()
    sc.SubsetForecaster.paper(alone, progress=False).fit(train)
    compared = len(split_validation(val)[1])  # with all variables present, against forecasts that need no model
    assert model.windows == alone.windows + compared
    assert robust.settings_ == sc.Settings.paper()
    assert robust.predict_many(test[:2], [0]).bounds is None


# How often the model runs


def distinct(forecast):
    return set(forecast.neighbor_index.ravel().tolist())


def test_each_training_window_is_forecast_at_most_once(parts):
    train, _, test = parts
    model = Counting()
    robust = sc.SubsetForecaster.paper(model, progress=False).fit(train)
    seen = set()
    for windows, present in ((test[:20], [1, 3]), (test[:20], [1, 3]), (test[10:30], [0, 2, 4]), (test[:20], [4])):
        before = model.windows
        found = robust.predict_many(windows, present)
        assert model.windows - before == 5 * len(windows) + len(distinct(found) - seen)
        seen |= distinct(found)


def test_known_neighbor_forecasts_do_not_change_the_result(parts):
    train, _, test = parts
    fresh = sc.SubsetForecaster.paper(mixing, progress=False).fit(train)
    used = sc.SubsetForecaster.paper(mixing, progress=False).fit(train)
    used.predict_many(test, [0, 1])
    np.testing.assert_array_equal(used.predict_many(test, [2, 3]).mean, fresh.predict_many(test, [2, 3]).mean)


@pytest.mark.parametrize("weighting", ["uniform", "distance", "rank"])
def test_only_fdw_computes_forecasts_of_the_neighbors(parts, weighting):
    train, _, test = parts
    model = Counting()
    robust = sc.SubsetForecaster.paper(model, progress=False, weighting=weighting).fit(train)
    before = model.windows
    robust.predict_many(test[:20], [1, 3])
    assert model.windows - before == 5 * 20


def test_fitting_does_not_forecast_the_training_windows(parts):
    train = parts[0]
    model = Counting()
    sc.SubsetForecaster.paper(model, progress=False).fit(train)
    assert model.windows < 20


def test_with_all_variables_present_it_is_the_plain_forecast(parts):
    train, _, test = parts
    model = Counting()
    robust = sc.SubsetForecaster.paper(model, progress=False).fit(train)
    before = model.windows
    found = robust.predict_many(test)
    assert model.windows - before == len(test)
    np.testing.assert_array_equal(found.mean, mixing(test.batch().inputs).astype(np.float32))


def test_a_share_of_the_bank():
    """A window that is in the bank is its own nearest, so that asking for all of them shows who is in."""
    train = waves(n=4, steps=300).windows(LOOKBACK, HORIZON)
    for share, kept in ((1.0, len(train)), (0.25, len(train) // 4)):
        robust = sc.SubsetForecaster.paper(mixing, progress=False, bank_share=share, neighbors=1).fit(train)
        found = sorted(distinct(robust.predict_many(train, [0, 1, 3])))
        assert len(found) == kept
        assert set(found) <= set(train.starts)
        assert max(np.diff(found)) <= 2 / share  # one from each stretch


def test_more_neighbors_than_windows():
    train = waves(n=3, steps=12, hours=False).windows(LOOKBACK, HORIZON)  # four windows
    robust = sc.SubsetForecaster.paper(mixing, progress=False, neighbors=50).fit(train)
    found = robust.predict_many(np.array(train.readings), [0, 1])
    assert sorted(found.neighbor_index[0].tolist()) == [0, 1, 2, 3]
    np.testing.assert_allclose(found.weights.sum(axis=1), 1, atol=1e-6)


def test_a_window_without_any_reading_of_s_is_not_forecast_as_zero():
    train = waves(n=3, steps=200, hours=False).windows(LOOKBACK, HORIZON)
    robust = sc.SubsetForecaster.paper(mixing, progress=False).fit(train)
    windows = np.array(train.readings[:2])
    windows[1] = np.nan  # one of a batch: nothing came
    try:
        found = robust.predict_many(windows, [1])
    except sc.InputError:
        return
    assert abs(found.mean[1] - 10).max() < 8  # about wave-1's usual 10, not 0
