"""Tests of the comparison of a model with forecasts that need no model."""

import json
import warnings

import numpy as np
import pytest

import subcast as sc
from subcast.errors import DataError, FitWarning
from subcast.subset.usefulness import LAST_VALUE, USUAL_VALUE, Usefulness, simple_forecasts
from subset.examples import HORIZON, LOOKBACK, hours_of, last_reading, learn, waves

SETTINGS = sc.Settings()


@pytest.fixture(scope="module")
def parts():
    return waves(n=5, steps=700).split(LOOKBACK, HORIZON, shares=(0.6, 0.25, 0.15))


@pytest.fixture(scope="module")
def good(parts):
    return learn(parts.train)


def fit(model, parts, **options):
    """A wrapper of a model, and what it was warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        options = {"settings": SETTINGS, **options}
        robust = sc.SubsetForecaster(model, progress=False, **options).fit(parts.train, parts.val)
    return robust, [str(each.message) for each in caught if issubclass(each.category, FitWarning)]


def untrained(x):
    """A network with random weights."""
    rng = np.random.default_rng(0)
    flat = np.asarray(x[..., 0]).reshape(len(x), -1)
    hidden = np.tanh(flat @ rng.normal(size=(flat.shape[1], 16)) / 30)
    return (hidden @ rng.normal(size=(16, HORIZON * x.shape[2]))).reshape(len(x), HORIZON, x.shape[2])


def constant(x):
    return np.full((len(x), HORIZON, x.shape[2]), 3.0)


def test_simple_forecasts_against_loops(parts, good):
    robust, _ = fit(good, parts)
    arrived = robust.fitted_.arrive(parts.test[:9])
    values = np.array(arrived.values)
    values[0, -2:, 1], values[1, :, 2] = np.nan, np.nan
    found = simple_forecasts(robust.fitted_, type(arrived)(values, None, arrived.slots))
    hours = hours_of(parts.test.series)
    center = robust.fitted_.normalizer.center
    for b in range(9):
        for v in range(5):
            known = [x for x in values[b, :, v].tolist() if x == x]
            for h in range(HORIZON):
                usual = center[hours[b + LOOKBACK + h], v]
                assert found[USUAL_VALUE][b, h, v] == pytest.approx(usual, abs=1e-4)
                assert found[LAST_VALUE][b, h, v] == pytest.approx(known[-1] if known else usual, abs=1e-4)


def test_a_good_model_is_not_warned_of(parts, good):
    robust, warned = fit(good, parts)
    assert warned == []
    usefulness = robust.usefulness_
    assert (usefulness.problem, usefulness.bad, usefulness.reference) == ("", (), "")
    assert usefulness.model < min(usefulness.others[name] for name in (LAST_VALUE, USUAL_VALUE))
    assert usefulness.line in repr(robust)
    assert "warning" not in repr(robust)
    assert robust.predict_many(parts.test).quality == "full"


@pytest.mark.parametrize("metric", ["mae", "rmse"])
def test_the_errors_are_those_of_the_forecasts(parts, good, metric):
    robust, _ = fit(good, parts, metric=metric)
    from subcast.subset.validation import split_validation

    windows = split_validation(parts.val)[1]
    spread = robust.fitted_.normalizer.spread_of(np.arange(5))
    batch = parts.val.batch(windows)
    error = (good(batch.inputs) - batch.targets) / spread
    expected = np.abs(error).mean() if metric == "mae" else np.sqrt((error**2).mean())
    assert robust.usefulness_.model == pytest.approx(expected, rel=1e-4)
    assert robust.usefulness_.windows == len(windows)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (untrained, "is worse than what needs no model"),
        (constant, "its forecasts do not change from window to window"),
        (last_reading, "what needs no model"),
        (lambda x: 1000 * last_reading(x) - 40, "so check what units it expects"),
        (lambda x: np.zeros((len(x), HORIZON, x.shape[2])), "its forecasts do not change from window to window"),
    ],
    ids=["untrained", "constant", "last value", "other units", "zeros"],
)
@pytest.mark.parametrize("method", ["default", "paper"])
def test_a_useless_model_gets_a_warning_with_numbers(parts, model, words, method):
    options = {} if method == "default" else {"settings": sc.Settings.paper()}
    robust, warned = fit(model, parts, **options)
    assert len(warned) == 1
    assert words in warned[0]
    usefulness = robust.usefulness_
    assert usefulness.bad == tuple(range(5))
    for number in (usefulness.model, usefulness.others[usefulness.reference]):
        assert f"{number:.3g}" in warned[0]
    assert "\n" not in warned[0]
    assert robust.report_["model"]["problem"] == warned[0]
    assert f"warning: {warned[0]}" in repr(robust)


def test_a_broken_model_does_not_make_forecasts_good(parts):
    robust, _ = fit(untrained, parts, settings=sc.Settings(blend=((1.0,) * HORIZON,) * 3))
    for present in ([0], [1, 2, 3]):
        forecast = robust.predict_many(parts.test, present)
        assert forecast.quality in ("fair", "poor")
        assert forecast.expected_gap > -40
        assert "which beats the model" in forecast.quality_words
    complete = robust.predict_many(parts.test)
    assert complete.quality == "poor"
    assert complete.expected_gap > 100


def test_one_variable_in_other_units_is_named(parts, good):
    def model(x):
        forecast = good(x)
        forecast[:, :, 2] = forecast[:, :, 2] * 1000
        return forecast

    robust, warned = fit(model, parts)
    assert "'wave-2'" in warned[0]
    assert "'wave-1'" not in warned[0]
    assert robust.usefulness_.bad == (2,)
    assert robust.predict_many(parts.test, [0, 1]).reference == ""
    assert robust.predict_many(parts.test, [1, 2]).quality in ("fair", "poor")
    assert robust.predict_many(parts.test, [0, 1, 3, 4]).expected_gap > -90  # the reference of wave-2 is not the model


def test_forecasts_that_are_not_numbers_are_named(parts, good):
    """The model is checked on training windows; here it fails on later ones only."""
    highest = parts.train.series.values[:, 3].max()

    def model(x):
        forecast = good(x)
        forecast[x[:, -1, 3, 0] > highest - 2, :, 3] = np.nan
        return forecast

    try:
        _, warned = fit(model, parts)
    except sc.InputError:
        pytest.skip("the model fails on the training windows that are checked")
    if (parts.val.readings[:, -1, 3] > highest - 2).any():
        assert warned


def test_the_comparison_survives_json(parts, good):
    usefulness = fit(good, parts)[0].usefulness_
    assert Usefulness.from_dict(json.loads(json.dumps(usefulness.to_dict()))) == usefulness


def test_a_damaged_comparison_is_refused_when_loading(parts, good, tmp_path):
    robust, _ = fit(good, parts)
    robust.report_["model"] = {"error": "none"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        state = robust.state()
    with pytest.raises(DataError):
        sc.SubsetForecaster.from_state(state, model=good)


def test_without_validation_windows_nothing_is_compared(parts, good):
    robust = sc.SubsetForecaster(untrained, progress=False).fit(parts.train)
    assert robust.usefulness_ is None
    assert "model" not in robust.report_
